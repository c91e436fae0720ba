// Package fault lists what can be wrong with single samples, in C (fault.h) and
// for Go callers.
package fault

import "github.com/gofast-org/gofast/gofast/internal/errs"

// Code is a kind of fault; the order is that of fault.h.
type Code int32

// The codes.
const (
	None        Code = iota
	Read             // the file cannot be opened or read
	Format           // a broken picture: Pillow raises too
	Unsupported      // Pillow must decode this one
	Limit            // more pixels than are allowed
	Memory           // memory is short
	Changed          // the file has changed since its size was read
	Crop             // the picture is too small for a step: torchvision or Pillow raises ValueError
)

// kinds are the errors of the catalogue for the codes.
var kinds = map[Code]error{
	Read: errs.ErrRead, Format: errs.ErrDamaged, Unsupported: errs.ErrUnsupported, Limit: errs.ErrLimit,
	Memory: errs.ErrLimit, Changed: errs.ErrChanged, Crop: errs.ErrValue,
}

// Error is the error of a fault: the text of a decoder or a step, and the offset in
// the file, or -1.
func Error(code Code, op string, offset int64, text string) *errs.Error {
	kind, known := kinds[code]
	if !known {
		kind = errs.ErrInternal
	}
	err := errs.New(kind, op, text)
	if offset >= 0 {
		err = err.AtOffset(offset)
	}
	return err
}
