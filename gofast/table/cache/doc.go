// Package cache keeps a decoded table in one file, so that the second open maps
// it in milliseconds and processes share its pages.
//
// The file is an uncompressed .npz that numpy.load opens. Its members are, in order:
//   - features.npy: [rows, width] of the storage type, values at offset 4096
//   - labels.npy: [rows, labels and columns of texts] of 8-byte values, absent without either
//   - classes.npy: the sorted words of a text label (classes_I.npy for label I
//     if there are several labels), absent without text
//   - texts_I_ends.npy and texts_I_J.npy: what is kept of each text of a column of texts,
//     and where that ends (see texts.go)
//   - gofast.npy: a uint8 array that holds the JSON header (see header.go)
//
// A cache is built in three steps. Build waits for the lock: if ten processes start
// at once, one builds and nine wait (package store). Lock.Create hands out mapped memory to decode
// into. Writer.Finish writes headers and checksums, syncs, and renames. The file is
// built as PATH.part (see package atomicfile).
package cache

import (
	"fmt"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
)

const op = "cache"

func fail(kind error, path, format string, args ...any) *errs.Error {
	return errs.New(kind, op, fmt.Sprintf(format, args...)).At(path)
}

// Bound is what is known about a table before it is decoded.
type Bound struct {
	Rows   int64 // at most
	Width  int
	Type   table.Type
	Labels int // columns of texts too
}

// Label is one label column.
type Label struct {
	Name    string
	Kind    table.LabelKind
	Classes []string // of a TextLabel: word i is stored as i
}

// Meta describes a decoded table.
type Meta struct {
	Fingerprint string // of the sources and options; this package does not interpret it
	Rows        int64
	Shape       []int // of one row; its product is the width
	Bool        bool  // the features are booleans
	Names       []string
	Dropped     []string // columns of the sources that hold a pandas frame's index
	Labels      []Label
	Texts       []Text // their numbers stand behind the labels in each row
}
