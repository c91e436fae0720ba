//go:build !twins

package steps

// native says that Go callers, too, use the C functions.
const native = true
