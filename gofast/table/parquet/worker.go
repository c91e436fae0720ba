package parquet

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
)

// worker is the memory of one goroutine: every buffer is grown when a page
// needs it, counted against the budget, and used again for the next page.
type worker struct {
	r    *Reader
	held int64

	window   []byte     // bytes of the file
	dict     []byte     // the current chunk's dictionary, decompressed
	plain    []byte     // the current page, decompressed
	split    []byte     // a byte-stream-split page put together; strings of a delta page
	reps     []byte     // repetition levels
	defs     []byte     // definition levels
	bits     []byte     // booleans
	bad      []bool     // dictionary entries that the target type cannot hold
	even     []byte     // decimals of any length, given the same
	evenDict []byte     // those of the dictionary
	indexes  []uint32   // dictionary indexes
	ints     []int64    // values of a delta page, or its prefix lengths
	ids      []int64    // numbers of the dictionary's strings
	codes    []int64    // numbers of a page's strings
	lengths  []int64    // lengths of a delta page's strings
	table    []uint64   // the dictionary as the target type
	cells    []uint64   // decoded values: a tile, or a page of a vector column
	words    [][]byte   // the dictionary's strings
	slots    [][]byte   // of pages that a Layout makes
	codecs   codecStore // decompressors

	headers *metaReader // over the current page's header
	header  storedHeader
}

// close gives the memory back to the budget.
func (w *worker) close() {
	w.codecs.close()
	w.r.opts.Budget.Release(w.held)
	w.held = 0
}

// grow returns n elements of a worker's buffer, of undefined content.
func grow[T any](w *worker, buffer *[]T, n int) ([]T, error) {
	if n <= cap(*buffer) {
		return (*buffer)[:n], nil
	}
	// A little more than asked for: pages of one chunk differ slightly.
	size := int64(unsafe.Sizeof(*new(T)))
	capacity := n + n/16
	bytes, old := int64(capacity)*size, int64(cap(*buffer))*size
	if int64(capacity) > (1<<62)/size {
		return nil, fault{kind: errs.ErrLimit, text: "a buffer of " + fmt.Sprint(n) + " values"}
	}
	if err := w.r.opts.Budget.Reserve(bytes, "decoding columns"); err != nil {
		return nil, err
	}
	w.r.opts.Budget.Release(old)
	w.held += bytes - old
	*buffer = nil // the old one may be collected before the new one is made
	*buffer = make([]T, n, capacity)
	return *buffer, nil
}

// cellsOf views n values of T in a buffer of words.
func cellsOf[T table.Cell](w *worker, buffer *[]uint64, n int) ([]T, error) {
	size := int(unsafe.Sizeof(*new(T)))
	words, err := grow(w, buffer, (n*size+7)/8)
	if err != nil {
		return nil, err
	}
	return table.View[T](table.Bytes(words))[:n], nil
}

// fault is a failure inside of a column chunk, before its place is known.
type fault struct {
	kind  error
	text  string
	cell  string
	value int  // the value within the page, when placed
	here  bool // value is set
}

func (f fault) Error() string { return f.text }

func damaged(format string, args ...any) error {
	return fault{kind: errs.ErrDamaged, text: fmt.Sprintf(format, args...)}
}

func unsupported(format string, args ...any) error {
	return fault{kind: errs.ErrUnsupported, text: fmt.Sprintf(format, args...)}
}

// place adds path, row group, column and offset to a failure of a chunk. row is
// the row of a fault that names a value.
func (r *Reader) place(err error, c *column, g int, offset int64, row func(value int) int64) error {
	if errors.Is(err, table.ErrNarrow) {
		return err
	}
	var f fault
	if errors.As(err, &f) {
		e := r.fault(f.kind, fmt.Sprintf("%s %d: %s", r.group, r.before+g, f.text)).InColumn(c.Name).WithCell(f.cell)
		if f.here {
			return e.AtRow(row(f.value), c.Name)
		}
		return e.AtOffset(offset)
	}
	var known *errs.Error
	if errors.As(err, &known) {
		if known.Path == "" {
			known.Path = r.path
		}
		if known.Column == "" {
			known.Column = c.Name
		}
	}
	return err
}
