// Package picture holds what the image decoders and kernels hand each other, in
// C (picture.h) and for Go callers.
package picture

// Fault says what is wrong with a sample; the order is that of picture.h.
type Fault int32

// The faults.
const (
	None        Fault = iota
	Read              // the file cannot be opened or read
	Format            // a broken picture: Pillow raises too
	Unsupported       // Pillow must decode this one
	Limit             // more pixels than are allowed
	Index             // there is no such sample
	Memory            // memory is short
	Changed           // not the file that it was when its size was read
)
