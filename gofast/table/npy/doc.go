// Package npy reads numpy's .npy and .npz files and writes their headers.
//
// A file is never mapped: it is read with pread in blocks of whole rows, and
// every size in it is compared with the file's length before anything is
// allocated. Pickled objects are refused, always.
//
// What a file presents:
//   - .npy, 1-D (n): one column named "0"
//   - .npy, 2-D (n, f): f columns named "0" to "f-1"
//   - .npy, N-D (n, h, w, ...): one column named "0" with the shape (h, w, ...)
//   - .npz: one column for each array, with the array's name and the shape of
//     one row; all arrays have the same number of rows
package npy

import (
	"fmt"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// place is what every error of one file carries.
type place struct{ op, path string }

func (p place) fail(kind error, format string, args ...any) *errs.Error {
	return errs.New(kind, p.op, fmt.Sprintf(format, args...)).At(p.path)
}
