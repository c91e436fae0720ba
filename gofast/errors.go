package gofast

import (
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/pool"
)

// Error is the type of every error that gofast returns.
type Error = errs.Error

// The error catalogue. Match with errors.Is. Package errs says when each error occurs.
var (
	ErrNotFound    = errs.ErrNotFound
	ErrRead        = errs.ErrRead
	ErrChanged     = errs.ErrChanged
	ErrFormat      = errs.ErrFormat
	ErrDamaged     = errs.ErrDamaged
	ErrUnsupported = errs.ErrUnsupported
	ErrSchema      = errs.ErrSchema
	ErrValue       = errs.ErrValue
	ErrMissing     = errs.ErrMissing
	ErrLabel       = errs.ErrLabel
	ErrCategory    = errs.ErrCategory
	ErrLimit       = errs.ErrLimit
	ErrIndex       = errs.ErrIndex
	ErrConfig      = errs.ErrConfig
	ErrDevice      = errs.ErrDevice
	ErrCanceled    = errs.ErrCanceled
	ErrClosed      = errs.ErrClosed
	ErrInternal    = errs.ErrInternal
)

// NewError starts an error of one of the kinds above; text says what is wrong.
func NewError(kind error, op, text string) *Error { return errs.New(kind, op, text) }

// ErrorNames lists the names of the catalogue: "NotFound", "Read", ...
func ErrorNames() []string { return errs.Names() }

// ErrorName is the catalogue name of err's kind, or "Internal" for an error from elsewhere.
func ErrorName(err error) string { return errs.Name(err) }

// PanicError is the ErrInternal of a recovered panic, with the stack in Debug.
func PanicError(panicked any, op string) error { return pool.PanicError(panicked, op, "") }
