package parquet

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/tabletest"
)

var everyUnit = []table.Unit{table.Day, table.Hour, table.Minute, table.Second, table.Millisecond, table.Microsecond, table.Nanosecond}

// timeFile has a column of every kind of time, in several encodings, and one of text.
func timeFile(tb testing.TB, rows int) (content []byte, ticks []table.Unit, stored [][]any) {
	rng := rand.New(rand.NewPCG(4, 2))
	tab := fileOf{perRows: 60, options: []pq.WriterOption{pq.PageBufferSize(64), pq.DataPageStatistics(false)}}
	for i, c := range []struct {
		node     pq.Node
		encoding string
		tick     table.Unit
		within   int64 // ticks since 1970, at most
	}{
		{pq.Date(), "plain", table.Day, 100_000},
		{pq.Timestamp(pq.Millisecond), "dict", table.Millisecond, 4e12},
		{pq.TimestampAdjusted(pq.Microsecond, false), "delta", table.Microsecond, 4e15},
		{pq.Timestamp(pq.Nanosecond), "plain", table.Nanosecond, 4e18},
		{pq.Time(pq.Millisecond), "delta", table.Millisecond, 86_400_000},
		{pq.Time(pq.Nanosecond), "split", table.Nanosecond, 86_400_000_000_000},
		{pq.Leaf(pq.Int96Type), "plain", table.Nanosecond, 4e18},
	} {
		node := encoded(c.node, c.encoding)
		if i%2 == 1 {
			node = pq.Optional(node)
		}
		var values []any
		for r := range rows {
			v := rng.Int64N(2*c.within) - c.within
			switch {
			case i%2 == 1 && r%5 == 3:
				values = append(values, nil)
			case c.node.Type().Kind() == pq.Int32:
				values = append(values, int32(v))
			case c.node.Type().Kind() == pq.Int96:
				values = append(values, int96(v))
			default:
				values = append(values, v)
			}
		}
		tab.add(fmt.Sprint("c", i), node, values)
		ticks, stored = append(ticks, c.tick), append(stored, values)
	}
	var words []any
	for r := range rows {
		words = append(words, []string{"red", "green", "blue"}[r%3])
	}
	tab.add("word", pq.Optional(encoded(pq.String(), "dict")), words)
	return tab.bytes(tb), ticks, stored
}

func int96(nanoseconds int64) deprecated.Int96 {
	day, rest := nanoseconds/int64(table.Day), nanoseconds%int64(table.Day)
	if rest < 0 {
		day, rest = day-1, rest+int64(table.Day)
	}
	return deprecated.Int96{uint32(rest), uint32(rest >> 32), uint32(day + julian1970)}
}

// TestTimes compares with big integers, for every kind of time and every unit.
func TestTimes(t *testing.T) {
	content, ticks, stored := timeFile(t, 100)
	r := mustOpen(t, content)
	fill := -7.0
	for i, tick := range ticks {
		for _, unit := range everyUnit {
			sel := table.Selection{Features: []int{i}, Fill: &fill, Codings: map[int]table.Coding{i: {Unit: unit}}}
			if err := r.(table.Coder).CheckCoding(i, sel.Codings[i]); err != nil {
				t.Fatal(err)
			}
			d, err := tabletest.Decode(t.Context(), r, sel, nil, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			for row, v := range stored[i] {
				want := big.NewInt(-7)
				if v != nil {
					want = new(big.Int)
					switch v := v.(type) {
					case int32:
						want.SetInt64(int64(v))
					case int64:
						want.SetInt64(v)
					case deprecated.Int96:
						want.SetInt64((int64(v[2])-julian1970)*int64(table.Day) + int64(v[1])<<32 + int64(v[0]))
					}
					want.Mul(want, big.NewInt(int64(tick)))
					want.Div(want, big.NewInt(int64(unit))) // Euclid's, which rounds down
				}
				if got := d.At(row, 0); got != want.Int64() {
					t.Fatalf("column %d, row %d: %v is %v in %v, want %v", i, row, v, got, unit, want)
				}
			}
		}
	}
}

func TestTimesThatDoNotFit(t *testing.T) {
	ms := func(v int64) []byte {
		tab := fileOf{}
		tab.add("x", pq.Timestamp(pq.Millisecond), []any{int64(0), v})
		return tab.bytes(t)
	}
	legacy := func(v deprecated.Int96) []byte {
		tab := fileOf{}
		tab.add("x", pq.Leaf(pq.Int96Type), []any{int96(0), v})
		return tab.bytes(t)
	}
	year9999 := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	far := deprecated.Int96{0xffffffff, 0x7fffffff, 0x7fffffff}
	for _, c := range []struct {
		content []byte
		unit    table.Unit
		cell    string // "": it fits
	}{
		{ms(year9999.UnixMilli()), table.Nanosecond, "9999-12-31 23:59:59"},
		{ms(year9999.UnixMilli()), table.Microsecond, ""},
		{ms(math.MaxInt64), table.Microsecond, "9223372036854775807 ms"},
		{ms(math.MaxInt64), table.Millisecond, ""},
		{ms(math.MinInt64), table.Day, "-9223372036854775808 ms"},
		{ms(math.MinInt64 / 1000), table.Microsecond, ""},
		{ms(math.MinInt64/1000 - 1), table.Microsecond, "-290308-12-21 19:59:05"},
		{legacy(deprecated.Int96{0, 0, uint32(julian1970 + year9999.Unix()/86400)}), table.Nanosecond, "9999-12-31 00:00:00"},
		{legacy(far), table.Nanosecond, "5874898-06-03 00:00:00"},
		{legacy(far), table.Millisecond, ""},
		{legacy(deprecated.Int96{0, 0x80000000, 0x80000000}), table.Nanosecond, "-5884323-05-15 00:00:00"},
		{legacy(deprecated.Int96{0, 0x80000000, 0x80000000}), table.Day, ""},
	} {
		r := mustOpen(t, c.content)
		_, err := tabletest.Decode(t.Context(), r, table.Selection{Features: []int{0}, Codings: map[int]table.Coding{0: {Unit: c.unit}}}, nil, 1<<20)
		var e *errs.Error
		switch {
		case c.cell == "" && err != nil:
			t.Errorf("in %v: %v", c.unit, err)
		case c.cell != "" && (!errors.Is(err, errs.ErrValue) || !errors.As(err, &e) || e.Row != 1 || e.Column != "x" || !strings.Contains(e.Text, "dates=")):
			t.Errorf("in %v: %v", c.unit, err)
		case c.cell != "" && !strings.Contains(e.Cell, c.cell):
			t.Errorf("in %v: the cell is %q, want %q", c.unit, e.Cell, c.cell)
		}
	}
}

// Every encoding of text, with nulls, into every type that may be chosen.
func TestCategories(t *testing.T) {
	words := []any{"red", nil, "blue", "green", nil, "", "red"}
	names := []string{"red", "green", "blue", ""}
	fill := 9.0
	for _, c := range []struct {
		ints  []int64
		reals []float64
		kind  table.Type
	}{
		{nil, nil, table.Uint8},
		{[]int64{0, -1, 7, 300}, nil, table.Int16},
		{[]int64{0, math.MaxInt64, math.MinInt64, 300}, nil, table.Int64},
		{nil, []float64{0.5, 1, 2, 3}, table.Float32},
		{nil, []float64{0.1, 1, 2, 3}, table.Float64},
	} {
		categories := table.NewCategories(names, c.ints, c.reals)
		for _, encoding := range []string{"plain", "dict", "delta", "deltalen"} {
			tab := fileOf{perRows: 4}
			tab.add("x", pq.Optional(text(encoding)), words)
			r := mustOpen(t, tab.bytes(t))
			d, err := tabletest.Decode(t.Context(), r, table.Selection{Features: []int{0}, Fill: &fill, Codings: map[int]table.Coding{0: {Categories: categories}}}, nil, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			if d.Type != c.kind {
				t.Errorf("%v %v: stored as %v, want %v", c.ints, c.reals, d.Type, c.kind)
			}
			for row, word := range words {
				want := any(int64(9))
				for i, name := range names {
					switch {
					case word != any(name):
					case c.reals != nil:
						want = c.reals[i]
					case c.ints != nil:
						want = c.ints[i]
					default:
						want = int64(i)
					}
				}
				if got := d.At(row, 0); got != number(want, d.Type) {
					t.Errorf("%s, row %d: %v, want %v", encoding, row, got, want)
				}
			}
		}
	}
}

func text(encoding string) pq.Node {
	if encoding == "deltalen" {
		return pq.Encoded(pq.String(), &pq.DeltaLengthByteArray)
	}
	if encoding == "delta" {
		return pq.Encoded(pq.String(), &pq.DeltaByteArray)
	}
	return encoded(pq.String(), encoding)
}

func TestCodingsRefused(t *testing.T) {
	content, _, _ := timeFile(t, 10)
	r := mustOpen(t, content)
	at := index(t, r, "word")
	colours := table.Coding{Categories: table.NewCategories([]string{"red", "green"}, nil, nil)}
	seconds := table.Coding{Unit: table.Second}
	for _, c := range []struct {
		column  int
		coding  table.Coding
		kind    error
		checked bool // when the options are, not at a cell
		row     int64
		text    string
	}{
		{at, colours, errs.ErrCategory, false, 2, `"red", "green": correct it, or add it to categories=: "blue"`},
		{at, seconds, errs.ErrSchema, true, errs.None, "holds text"},
		{0, colours, errs.ErrSchema, true, errs.None, "holds dates or times"},
		{1, seconds, errs.ErrMissing, false, 3, "fill_value="},
	} {
		err := r.(table.Coder).CheckCoding(c.column, c.coding)
		if (err != nil) != c.checked {
			t.Errorf("column %d: %v", c.column, err)
		}
		if err == nil {
			_, err = tabletest.Decode(t.Context(), r, table.Selection{Features: []int{c.column}, Codings: map[int]table.Coding{c.column: c.coding}}, nil, 1<<20)
		}
		var e *errs.Error
		if !errors.Is(err, c.kind) || !errors.As(err, &e) || e.Row != c.row || e.Path == "" || !strings.Contains(err.Error(), c.text) {
			t.Errorf("column %d: %v", c.column, err)
		}
	}
	for _, label := range []bool{false, true} {
		if _, err := r.(*Reader).use([]int{0}, label, nil); !errors.Is(err, errs.ErrUnsupported) || label == strings.Contains(err.Error(), `dates={"c0": "s"}`) {
			t.Errorf("a date without dates=, as a label %v: %v", label, err)
		}
	}
}
