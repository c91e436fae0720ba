// Package fault says what can be wrong with single samples, in C (fault.h) and
// for Go callers.
package fault

// Code is a kind of fault; the order is that of fault.h.
type Code int32

// The codes.
const (
	None        Code = iota
	Read             // the file cannot be opened or read
	Format           // a broken picture: Pillow raises too
	Unsupported      // Pillow must decode this one
	Limit            // more pixels than are allowed
	Index            // there is no such sample
	Memory           // memory is short
	Changed          // not the file that it was when its size was read
	Crop             // the picture is too small for a step: torchvision or Pillow raise ValueError
)
