package gofast

import (
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
)

// Limits bounds what the files of one OpenTable or OpenFolder may ask for. The zero value of a field means its default.
type Limits = limits.Limits

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
