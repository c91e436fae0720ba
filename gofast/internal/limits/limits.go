// Package limits holds the limits on what an untrusted file may ask for: a memory
// budget and hard bounds on declared sizes. They are checked before anything is
// allocated.
package limits

import (
	"fmt"
	"sync/atomic"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// Limits bounds one open. The zero value of a field means its default.
type Limits struct {
	// Memory is the maximum of bytes that decoding and the decoded table may hold at
	// once. Default: half of the memory that is available when the table is opened.
	Memory int64 `json:"memory"`
	// Columns is the maximum number of columns. Default 65,536: twice the widest real
	// table that we know of, and the names still take only a few MB.
	Columns int64 `json:"columns"`
	// Metadata is the maximum size of a header or footer in bytes. Default 64 MiB.
	Metadata int64 `json:"metadata"`
	// Page is the maximum size of a decompressed Parquet page in bytes. Default 256 MiB.
	Page int64 `json:"page"`
	// Cell is the maximum size of a text cell or line of CSV in bytes. Default 16 MiB.
	Cell int64 `json:"cell"`
}

// WithDefaults fills the zero fields.
func (l Limits) WithDefaults() Limits {
	def := func(v *int64, d int64) {
		if *v == 0 {
			*v = d
		}
	}
	if l.Memory == 0 {
		l.Memory = Available() / 2
	}
	def(&l.Columns, 65_536)
	def(&l.Metadata, 64<<20)
	def(&l.Page, 256<<20)
	def(&l.Cell, 16<<20)
	return l
}

// Validate refuses negative limits.
func (l Limits) Validate() error {
	for _, f := range []struct {
		name string
		v    int64
	}{{"memory", l.Memory}, {"columns", l.Columns}, {"metadata", l.Metadata}, {"page", l.Page}, {"cell", l.Cell}} {
		if f.v < 0 {
			return errs.New(errs.ErrConfig, "limits", fmt.Sprintf("limit %q is negative (%d)", f.name, f.v))
		}
	}
	return nil
}

// Budget counts bytes against Limits.Memory. Safe for concurrent use.
type Budget struct {
	Hint  func(needed int64) string // what else may help, for the error: set before the budget is used by others; nil: nothing
	limit int64
	used  atomic.Int64
}

// NewBudget makes a budget of limit bytes.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Reserve takes n bytes for what, or returns ErrLimit and takes nothing.
func (b *Budget) Reserve(n int64, what string) error {
	if n < 0 || n > b.limit {
		return b.refuse(n, what)
	}
	if b.used.Add(n) > b.limit {
		b.used.Add(-n)
		return b.refuse(n, what)
	}
	return nil
}

// Left is how many bytes can be reserved.
func (b *Budget) Left() int64 { return b.limit - b.used.Load() }

// Release gives n bytes back.
func (b *Budget) Release(n int64) { b.used.Add(-n) }

func (b *Budget) refuse(n int64, what string) error {
	used, hint := b.used.Load(), ""
	if b.Hint != nil {
		hint = b.Hint(used + n)
	}
	return errs.New(errs.ErrLimit, "memory", fmt.Sprintf(
		"%s needs %s, the limit is %s with %s in use: %sraise limits={\"memory\": ...}",
		what, errs.Bytes(n), errs.Bytes(b.limit), errs.Bytes(used), hint))
}

// Mul returns the product of non-negative factors, or false on overflow.
func Mul(factors ...int64) (int64, bool) {
	product := int64(1)
	for _, f := range factors {
		if f < 0 {
			return 0, false
		}
		if f != 0 && product > (1<<63-1)/f {
			return 0, false
		}
		product *= f
	}
	return product, true
}
