package parquet

import (
	"fmt"
	"math"
	"strconv"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/parquet/page"
)

// numbers turns the encoded values of a column's chunks into cells of type T.
type numbers[T table.Cell] struct {
	w       *worker
	c       *column
	missing missing[T]
	rounds  bool // T, a float, is to hold the nearest to each value
	beyond  bool // an integer beyond int64 is ErrNarrow: rounding it is an answer
	dict    dictionary[T]
	words   *words // of places and reals, from their first page on
}

// missing says what becomes of a null, NaN or NaT.
type missing[T table.Cell] struct {
	label bool
	given bool // there is a fill value
	fits  bool // and T holds it exactly
	value T
	used  bool // some cell was missing
}

// newNumbers prepares a column; ErrNarrow when T cannot hold its values at all.
func newNumbers[T table.Cell](w *worker, c *column, fill *float64, label bool) (*numbers[T], error) {
	d := &numbers[T]{w: w, c: c, missing: missing[T]{label: label}}
	if c.kind.isFloat() && !table.IsReal[T]() {
		return nil, table.ErrNarrow
	}
	if fill != nil && !label {
		d.missing.given = true
		d.missing.value, d.missing.fits = table.FitReal[T](*fill)
	}
	return d, nil
}

// of makes it the numbers of a matrix, which may round.
func (d *numbers[T]) of(sel table.Selection, m table.Matrix) *numbers[T] {
	d.beyond, d.rounds = sel.Rounds, m.Rounds
	d.missing.fits = d.missing.fits || m.Rounds
	return d
}

// dense decodes the present values of a page into dst, which has that length.
// NaN is left for the caller.
func (d *numbers[T]) dense(v *values, dst []T) error {
	if len(dst) == 0 {
		return nil
	}
	if err := d.decode(v, dst); err != nil {
		return err
	}
	return d.declared(dst)
}

// declared refuses integers that the column's own type does not have: the file is damaged, and cells that
// are wide enough would hide it.
func (d *numbers[T]) declared(cells []T) error {
	bits, zero := d.c.bits, T(0)
	fits := bits // of a cell at most, for all its values to be of the column's type
	if d.c.kind == signedInts && zero-1 > 0 {
		fits--
	}
	if bits == 0 || bits >= 8*d.c.physical.size() || !table.IsReal[T]() && 8*int(unsafe.Sizeof(zero)) <= fits {
		return nil
	}
	least, most, sign := int64(0), int64(1)<<bits-1, "u"
	if d.c.kind == signedInts {
		least, most, sign = -1<<(bits-1), most>>1, ""
	}
	for i, x := range cells {
		if n := int64(x); n < least || n > most {
			return fault{kind: errs.ErrValue, here: true, value: i, cell: strconv.FormatInt(n, 10),
				text: fmt.Sprintf("an integer that the column's type, %sint%d, does not have: the file is damaged", sign, bits)}
		}
	}
	return nil
}

func (d *numbers[T]) decode(v *values, dst []T) error {
	switch {
	case d.c.coding.Categories != nil:
		return d.categories(v, dst)
	case d.c.physical == byteArray && !v.encoding.dictionary():
		return d.textDecimals(v, dst)
	case v.encoding == encPlain:
		return d.plain(v.data, dst)
	case v.encoding.dictionary():
		return d.lookup(v, dst)
	case v.encoding == encDelta && (d.c.physical == int32s || d.c.physical == int64s):
		ints, err := grow(d.w, &d.w.ints, len(dst))
		if err != nil {
			return err
		}
		if _, err := unpackDelta(v.data, ints); err != nil {
			return err
		}
		return d.integers(ints, dst)
	case v.encoding == encByteStreamSplit && d.plainSize() > 0:
		plain, err := d.w.unsplit(v.data, len(dst), d.plainSize())
		if err != nil {
			return err
		}
		return d.plain(plain, dst)
	case v.encoding == encDeltaStrings && d.c.physical == fixedByteArray:
		plain, err := v.binaries()
		if err != nil {
			return err
		}
		return d.plain(plain, dst)
	case v.encoding == encRuns && d.c.kind == booleans:
		section, _, err := cutLevels(v.data, encRuns)
		if err != nil {
			return err
		}
		bits, err := grow(d.w, &d.w.bits, len(dst))
		if err != nil {
			return err
		}
		if s := page.Best.Runs8(section, 1, bits, &identity, 2); s != page.OK {
			return damaged("bad booleans: %v", s)
		}
		for i, b := range bits {
			dst[i] = T(b)
		}
		return nil
	default:
		return unsupported("encoding %d of this column type", v.encoding)
	}
}

// plainSize is the bytes of one plain value, 0 for booleans. Decimals of any
// length have been given the same.
func (d *numbers[T]) plainSize() int {
	switch d.c.physical {
	case fixedByteArray:
		return d.c.length
	case byteArray:
		return decimalBytes
	}
	return d.c.physical.size()
}

// cells decodes a page of a column with one value a row into dst, nulls and
// NaN replaced; len(dst) is the page's count.
func (d *numbers[T]) cells(v *values, dst []T) error {
	dense := dst[:v.present]
	if err := d.present(v, dense); err != nil || v.defs == nil {
		return d.orNull(v, err)
	}
	if err := d.missing.note(firstNull(v), "null"); err != nil {
		return err
	}
	spread(v, dst, d.missing.value)
	return nil
}

// present decodes the present values of a page, NaN replaced.
func (d *numbers[T]) present(v *values, dense []T) error {
	if err := d.dense(v, dense); err != nil {
		return v.atValue(err)
	}
	return d.replaceNaN(v, dense)
}

// orNull is the fault of a null that stands before the value of another fault, or that one.
func (d *numbers[T]) orNull(v *values, err error) error {
	f, ok := err.(fault)
	if !ok || !f.here || v.present == v.count {
		return err
	}
	if null, ok := d.missing.note(firstNull(v), "null").(fault); ok && null.value < f.value {
		return null
	}
	return err
}

// spread moves the page's present values, which lie in front, to their places, and puts absent between them.
func spread[T any](v *values, dst []T, absent T) {
	// Backwards, because a value never moves to the left.
	from := v.present
	for to := len(dst) - 1; to >= 0; to-- {
		if v.defs[to] == v.p.c.maxDef {
			from--
			dst[to] = dst[from]
		} else {
			dst[to] = absent
		}
	}
}

// replaceNaN puts the fill value where a float is NaN.
func (d *numbers[T]) replaceNaN(v *values, dense []T) error {
	if !d.c.kind.isFloat() || !page.Best.HasNaN(table.Bytes(dense), int(unsafe.Sizeof(T(0)))) {
		return nil
	}
	for i, x := range dense {
		if x != x {
			if err := d.missing.note(v.valueOf(i), "NaN"); err != nil {
				return err
			}
			dense[i] = d.missing.value
		}
	}
	return nil
}

// note records that the value at a position of the page is missing, and says
// whether it can be replaced.
func (m *missing[T]) note(at int, what string) error {
	m.used = true
	switch {
	case m.label:
		return fault{kind: errs.ErrMissing, here: true, value: at,
			text: what + " in a label column: drop the row, or write a value for unknown labels"}
	case !m.given:
		return fault{kind: errs.ErrMissing, here: true, value: at, text: what + " in a feature column: pass fill_value="}
	case !m.fits:
		return table.ErrNarrow
	}
	return nil
}

func firstNull(v *values) int {
	for i, d := range v.defs {
		if d != v.p.c.maxDef {
			return i
		}
	}
	return 0
}

// tooBig is an unsigned integer beyond int64.
func tooBig(at int, v uint64) error {
	return fault{kind: errs.ErrValue, here: true, value: at, cell: strconv.FormatUint(v, 10),
		text: fmt.Sprintf("an integer beyond %d: no storage type holds it", int64(math.MaxInt64))}
}

// atValue moves a fault from the dense position of a value to its position in
// the page.
func (v *values) atValue(err error) error {
	if f, ok := err.(fault); ok && f.here {
		f.value = v.valueOf(f.value)
		return f
	}
	return err
}
