// Package border is what a binding to another language needs of errors: the names by which they cross. Package pybind
// drives load, gather, image and engine, and crosses with these.
package border

import (
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/pool"
)

// ErrorNames lists the names of the catalogue: "NotFound", "Read", ...
func ErrorNames() []string { return errs.Names() }

// ErrorName is the catalogue name of err's kind, or "Internal" for an error from elsewhere.
func ErrorName(err error) string { return errs.Name(err) }

// PanicError is the ErrInternal of a recovered panic, with the stack in Debug.
func PanicError(panicked any, op string) error { return pool.PanicError(panicked, op, "") }
