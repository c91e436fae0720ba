//go:build !cgo

package errs

// Every package imports this one, so without cgo this is the only error. All of them have a file without cgo, for the go
// command says nothing better than "build constraints exclude all Go files" of a package that has none.
var _ = gofast_is_Go_and_C__install_gcc_and_set_CGO_ENABLED_to_1
