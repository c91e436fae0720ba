// Package cache keeps a decoded table in a folder of arrays, so that the second open maps it in milliseconds and processes
// share its pages. docs/formats-on-disk.md has the form byte by byte; python/gofast/_tables/array_folder.py reads it, and
// writes preprocessed sets in it.
//
// The arrays are .npy files that numpy maps:
//   - features.npy: [rows, width] of the storage type
//   - labels.npy: [rows, labels and columns of texts] of 8-byte values, absent without either
//   - texts_I_ends.npy and texts_I_J.npy: what is kept of each text of a column of texts, and where that ends (see texts.go)
//   - arrays.jsonl: the description, with the columns' names and classes, and checksums
//
// A cache is built in three steps. Begin waits for the lock: if ten processes start at once, one builds and nine wait.
// Folder.Create hands out mapped memory to decode into. Writer.Finish writes headers and checksums, syncs, and names the
// description, which is built as arrays.jsonl.part (see package atomicfile) and is what makes the folder a cache. What a
// killed builder left is overwritten by the next one.
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
