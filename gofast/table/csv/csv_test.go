package csv

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/tabletest"
)

// setup is how a test opens and decodes a table.
type setup struct {
	threads int
	chunk   int
	general bool
	limits  limits.Limits
	fill    *float64
	labels  []string // column names; every other column is a feature
	columns []string // the features, if not all others
	header  *bool
	kind    *table.LabelKind // of the labels, as a user says
	codings map[int]table.Coding
}

// decoded is what came out, as float64 and strings.
type decoded struct {
	columns []table.Column
	typ     table.Type
	rows    int
	cells   []float64
	labels  []any // int64, float64 or string, row by row
}

func write(t testing.TB, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "table.csv")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (s setup) open(t testing.TB, path string) (*reader, error) {
	t.Helper()
	f, err := source.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	memory := s.limits.WithDefaults().Memory
	opened, err := Open(f, table.Options{Threads: max(s.threads, 1), Limits: s.limits, Header: s.header, Coded: s.codings != nil, Budget: limits.NewBudget(memory)})
	if err != nil {
		return nil, err
	}
	r := opened.(*reader)
	r.chunk, r.general = s.chunk, s.general
	if rows, _ := r.Rows(); rows > 1<<20 { // what the end of a packed file says may be wrong
		err = r.Count(t.Context())
	}
	return r, err
}

func (s setup) selection(r *reader) table.Selection {
	sel := table.Selection{Fill: s.fill, Codings: s.codings}
	names := map[string]int{}
	for i, c := range r.Columns() {
		names[c.Name] = i
		if !slices.Contains(s.labels, c.Name) && s.columns == nil && !c.Index {
			sel.Features = append(sel.Features, i)
		}
	}
	for _, name := range s.columns {
		sel.Features = append(sel.Features, names[name])
	}
	for _, name := range s.labels {
		sel.Labels = append(sel.Labels, names[name])
	}
	return sel
}

// read does what gofast's flow does: narrow first, and by range when that fails.
func (s setup) read(t testing.TB, path string) (*decoded, error) {
	t.Helper()
	r, err := s.open(t, path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	sel := s.selection(r)
	kinds := make([]table.LabelKind, len(sel.Labels))
	for i, column := range sel.Labels {
		if kinds[i] = r.Columns()[column].Label; s.kind != nil {
			kinds[i], sel.Verbatim = *s.kind, true
		}
	}
	d, err := tabletest.Decode(context.Background(), r, sel, kinds, 1<<30)
	if err != nil {
		return nil, err
	}
	out := &decoded{columns: r.Columns()[:table.Counted(r.Columns())], typ: d.Type, rows: d.Rows, cells: d.Float64s()}
	for i, bits := range table.View[int64](d.Labels) {
		switch row, label := i/len(kinds), i%len(kinds); kinds[label] {
		case table.IntLabel:
			out.labels = append(out.labels, bits)
		case table.FloatLabel:
			out.labels = append(out.labels, math.Float64frombits(uint64(bits)))
		case table.TextLabel:
			out.labels = append(out.labels, d.Word(row, label))
		}
	}
	return out, nil
}

func names(columns []table.Column) string {
	var all []string
	for _, c := range columns {
		all = append(all, c.Name)
	}
	return strings.Join(all, " ")
}

func same(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) || x != x && y != y })
}

func fill(v float64) *float64 { return &v }

var inf = math.Inf(1)

var (
	yes, no    = true, false
	word, real = table.TextLabel, table.FloatLabel
)

func TestTables(t *testing.T) {
	for _, c := range []struct {
		name, text, columns string
		typ                 table.Type
		cells               []float64
		setup               setup
		labels              []any
	}{
		{name: "header", text: "a,b\n1,2\n3,4\n", columns: "a b", typ: table.Uint8, cells: []float64{1, 2, 3, 4}},
		{name: "no header", text: "1,1\n3,4\n", columns: "0 1", typ: table.Uint8, cells: []float64{1, 1, 3, 4}},
		{name: "no header, as was said", text: "1,2\n3,4\n", columns: "0 1", typ: table.Uint8, cells: []float64{1, 2, 3, 4}, setup: setup{header: &no}},
		{name: "header of numbers, as was said", text: "1,2\n3,4\n", columns: "1 2", typ: table.Uint8, cells: []float64{3, 4}, setup: setup{header: &yes}},
		{name: "header only", text: "a,b\n", columns: "a b", typ: table.Uint8},
		{name: "header only, no newline", text: "a,b", columns: "a b", typ: table.Uint8},
		{name: "one cell", text: "7", columns: "0", typ: table.Uint8, cells: []float64{7}, setup: setup{header: &no}},
		{name: "tab", text: "a\tb\n1\t2\n", columns: "a b", typ: table.Uint8, cells: []float64{1, 2}},
		{name: "semicolon", text: "a;b\n1;2\n", columns: "a b", typ: table.Uint8, cells: []float64{1, 2}},
		{name: "bar", text: "a|b\n1|2\n", columns: "a b", typ: table.Uint8, cells: []float64{1, 2}},
		{name: "delimiter inside quotes", text: "\"a,x\";b\n1;2\n", columns: "a,x b", typ: table.Uint8, cells: []float64{1, 2}},
		{name: "single column", text: "a\n1\n\n2\n", columns: "a", typ: table.Uint8, cells: []float64{1, 2}},
		{name: "crlf", text: "a,b\r\n1,2\r\n3,4\r\n", columns: "a b", typ: table.Uint8, cells: []float64{1, 2, 3, 4}},
		{name: "lone return", text: "a,b\r1,2\r3,4", columns: "a b", typ: table.Uint8, cells: []float64{1, 2, 3, 4}},
		{name: "mixed ends", text: "a,b\n1,2\r3,4\r\n5,6\n", columns: "a b", typ: table.Uint8, cells: []float64{1, 2, 3, 4, 5, 6}},
		{name: "mark", text: "\ufeffa,b\n1,2", columns: "a b", typ: table.Uint8, cells: []float64{1, 2}},
		{name: "blank lines", text: "\n\na,b\n\n1,2\n  \n \t\r\n3,4\n\n\n", columns: "a b", typ: table.Uint8, cells: []float64{1, 2, 3, 4}},
		{name: "blanks around", text: "a,b\n 1,2 \n\t3, 4\n", columns: "a b", typ: table.Uint8, cells: []float64{1, 2, 3, 4}},
		{name: "leading zeros and plus", text: "a,b\n007,+2\n00000000000000000000001,4\n", columns: "a b", typ: table.Uint8, cells: []float64{7, 2, 1, 4}},
		{name: "quoted numbers", text: "\"a\",\"b\"\n\"1\",\" 2\"\n\"3\"1,4\n", columns: "a b", typ: table.Uint8, cells: []float64{1, 2, 31, 4}},
		{name: "negative", text: "a,b\n1,-2\n", columns: "a b", typ: table.Int16, cells: []float64{1, -2}},
		{name: "256", text: "a,b\n1,256\n", columns: "a b", typ: table.Int16, cells: []float64{1, 256}},
		{name: "32 bits", text: "a,b\n1,-32769\n", columns: "a b", typ: table.Int32, cells: []float64{1, -32769}},
		{name: "64 bits", text: "a\n-9223372036854775808\n", columns: "a", typ: table.Int64, cells: []float64{-9223372036854775808}},
		{name: "float32", text: "a,b\n1,.5\n1.,1e2\n", columns: "a b", typ: table.Float32, cells: []float64{1, .5, 1, 100}},
		{name: "float64", text: "a,b\n1,0.1\n2,-1E-3\n", columns: "a b", typ: table.Float64, cells: []float64{1, .1, 2, -.001}},
		{name: "infinite", text: "a,b\n1,inf\n-Infinity,1e999\n", columns: "a b", typ: table.Float32, cells: []float64{1, inf, -inf, inf}},
		{name: "truth", text: "a,b\nTrue,1\nfalse,2\n", columns: "a b", typ: table.Uint8, cells: []float64{1, 1, 0, 2}},
		{name: "fill", text: "a,b\n1,\nNA,2\n", columns: "a b", typ: table.Uint8, cells: []float64{1, 9, 9, 2}, setup: setup{fill: fill(9)}},
		{name: "fill with a float", text: "a,b\n1,\n#N/A,2\n", columns: "a b", typ: table.Float32, cells: []float64{1, .5, .5, 2}, setup: setup{fill: fill(.5)}},
		{name: "fill with NaN", text: "a,b\n1,\nnull,2\n", columns: "a b", typ: table.Float32, cells: []float64{1, math.NaN(), math.NaN(), 2}, setup: setup{fill: fill(math.NaN())}},
		{name: "pandas index", text: ",a,b\n0,1,2\n1000,3,4\n", columns: "a b", typ: table.Uint8, cells: []float64{1, 2, 3, 4}},
		{name: "pandas index, named", text: "Unnamed: 0,a\n0,1\n", columns: "a", typ: table.Uint8, cells: []float64{1}},
		{name: "pandas index over numbers", text: ",0,1\n0,5,6\n1,7,8\n", columns: "0 1", typ: table.Uint8, cells: []float64{5, 6, 7, 8}},
		{name: "index without a name", text: "a,b\nr1,1,2\nr2,3,4\n", columns: "a b", typ: table.Uint8, cells: []float64{1, 2, 3, 4}},
		{name: "unnamed column", text: "a,,c\n1,2,3\n", columns: "a Unnamed: 1 c", typ: table.Uint8, cells: []float64{1, 2, 3}},
		{name: "numbers as names", text: "label,0,1\n5,6,7\n", columns: "label 0 1", typ: table.Uint8, cells: []float64{5, 6, 7}, setup: setup{header: &yes}},
		{name: "order and subset", text: "a,b,c,d\n1,2,3,4\n5,6,7,8\n", columns: "a b c d", typ: table.Uint8, cells: []float64{4, 1, 8, 5},
			setup: setup{columns: []string{"d", "a"}, labels: []string{"c"}}, labels: []any{int64(3), int64(7)}},
		{name: "unselected text", text: "a,b\n1,x\n3,\"y\n,z\"\n", columns: "a b", typ: table.Uint8, cells: []float64{1, 3}, setup: setup{columns: []string{"a"}}},
		{name: "unselected empty", text: "a,b\n1,\n,\n", columns: "a b", typ: table.Uint8, cells: []float64{1, 0}, setup: setup{columns: []string{"a"}, fill: fill(0)}},
		{name: "int labels", text: "a,y\n1,-5\n2,1000\n", columns: "a y", typ: table.Uint8, cells: []float64{1, 2},
			setup: setup{labels: []string{"y"}}, labels: []any{int64(-5), int64(1000)}},
		{name: "float labels", text: "a,y\n1,5.\n2,.5\n", columns: "a y", typ: table.Uint8, cells: []float64{1, 2},
			setup: setup{labels: []string{"y"}}, labels: []any{5.0, 0.5}},
		{name: "float labels, as was said", text: "a,y\n1,5\n2,.5\n", columns: "a y", typ: table.Uint8, cells: []float64{1, 2},
			setup: setup{labels: []string{"y"}, kind: &real}, labels: []any{5.0, 0.5}},
		{name: "whole floats are integers", text: "a,y\n1,5\n2,7.0\n3,1e3\n", columns: "a y", typ: table.Uint8, cells: []float64{1, 2, 3},
			setup: setup{labels: []string{"y"}}, labels: []any{int64(5), int64(7), int64(1000)}},
		{name: "text labels", text: "a,y\n1,cat\n2,\"d\"\"o,\ng\"\n3, 7 \n", columns: "a y", typ: table.Uint8, cells: []float64{1, 2, 3},
			setup: setup{labels: []string{"y"}, kind: &word}, labels: []any{"cat", "d\"o,\ng", " 7 "}},
		{name: "text labels without a header", text: "cat,1\ndog,2\n", columns: "0 1", typ: table.Uint8, cells: []float64{1, 2},
			setup: setup{labels: []string{"0"}, header: &no}, labels: []any{"cat", "dog"}},
		{name: "truth labels", text: "a,y\n1,True\n2,False\n", columns: "a y", typ: table.Uint8, cells: []float64{1, 2},
			setup: setup{labels: []string{"y"}}, labels: []any{int64(1), int64(0)}},
		{name: "truth beside numbers is text, as was said", text: "a,y\n1,True\n2,1\n", columns: "a y", typ: table.Uint8, cells: []float64{1, 2},
			setup: setup{labels: []string{"y"}, kind: &word}, labels: []any{"True", "1"}},
		{name: "truth among texts", text: "a,y\n1,maybe\n2,true\n", columns: "a y", typ: table.Uint8, cells: []float64{1, 2},
			setup: setup{labels: []string{"y"}}, labels: []any{"maybe", "true"}},
		{name: "a column twice", text: "a,y\n1,2\n", columns: "a y", typ: table.Uint8, cells: []float64{2, 1, 2},
			setup: setup{columns: []string{"y", "a", "y"}, labels: []string{"y", "y"}}, labels: []any{int64(2), int64(2)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := write(t, []byte(c.text))
			for _, chunk := range []int{0, 1, 2, 3, 5, 64} {
				for _, general := range []bool{false, true} {
					s := c.setup
					s.chunk, s.general, s.threads = chunk, general, 2
					got, err := s.read(t, path)
					if err != nil {
						t.Fatalf("chunk %d, general %v: %v", chunk, general, err)
					}
					if names(got.columns) != c.columns || got.typ != c.typ || !same(got.cells, c.cells) || !slices.Equal(got.labels, c.labels) {
						t.Fatalf("chunk %d, general %v: columns %q, %v %v, labels %v", chunk, general,
							names(got.columns), got.typ, got.cells, got.labels)
					}
				}
			}
		})
	}
}

func TestErrors(t *testing.T) {
	labelled := setup{labels: []string{"y"}}
	behind := "a,b\n" + strings.Repeat("1,2\n", 20_000) // opening looks at the first 64 KiB
	for _, c := range []struct {
		name, text string
		kind       error
		row        int64
		column     string
		cell, says string
		setup      setup
	}{
		{name: "empty file", kind: errs.ErrFormat, row: -1, says: "empty file"},
		{name: "only a mark", text: "\ufeff", kind: errs.ErrFormat, row: -1, says: "empty file"},
		{name: "only blank lines", text: "\n \n\r\n", kind: errs.ErrFormat, row: -1, says: "blank lines"},
		{name: "binary", text: "a,b\n1,\x002\n", kind: errs.ErrFormat, row: -1, says: "NUL"},
		{name: "control characters", text: "\x01\x02\x03,\x04\n", kind: errs.ErrFormat, row: -1, says: "control"},
		{name: "two names", text: "a,b,a\n1,2,3\n", kind: errs.ErrSchema, row: -1, column: "a", says: "positions 0 and 2"},
		{name: "name not UTF-8", text: "a,\xff\n1,2\n", kind: errs.ErrFormat, row: -1, says: "UTF-8"},
		{name: "short row", text: "a,b\n1,2\n3\n", kind: errs.ErrDamaged, row: 1, says: "1 cell, the table has 2"},
		{name: "cut row", text: "a,b\n1,2\n3", kind: errs.ErrDamaged, row: 1, says: "no newline: was the file cut?"},
		{name: "short row behind the sample", text: behind + "3\n4,5\n", kind: errs.ErrDamaged, row: 20_000, says: "1 cell, the table has 2"},
		{name: "long row behind the sample", text: behind + "3,4,5\n6,7\n", kind: errs.ErrDamaged, row: 20_000, says: "3 cells, the table has 2"},
		{name: "long row", text: "a,b\n1,2\n3,4,5\n", kind: errs.ErrDamaged, row: 1, says: "3 cells, the table has 2"},
		{name: "missing", text: "a,b\n1,2\n3,\n", kind: errs.ErrMissing, row: 1, column: "b", says: "fill_value"},
		{name: "missing word", text: "a,b\n1,2\nNaN,1\n", kind: errs.ErrMissing, row: 1, column: "a", cell: "NaN"},
		{name: "missing label", text: "a,y\n1,2\n3,\n", kind: errs.ErrMissing, row: 1, column: "y", setup: labelled},
		{name: "text", text: "a,b\n1,2\nx,1\n", kind: errs.ErrValue, row: 1, column: "a", cell: "x", says: "not a number"},
		{name: "blank cell", text: "a,b\n1,2\n ,1\n", kind: errs.ErrValue, row: 1, column: "a", cell: " "},
		{name: "bare exponent", text: "a,b\n1,2\n1e,1\n", kind: errs.ErrValue, row: 1, column: "a", cell: "1e"},
		{name: "hexadecimal", text: "a,b\n1,2\n0x1p3,1\n", kind: errs.ErrValue, row: 1, column: "a", cell: "0x1p3"},
		{name: "two numbers", text: "a,b\n1,2\n1 2,1\n", kind: errs.ErrValue, row: 1, column: "a", cell: "1 2"},
		{name: "truth in numbers", text: "a,b\n1,2\nTrue,1\n", kind: errs.ErrValue, row: 1, column: "a", cell: "True"},
		{name: "number in truth", text: "a,b\n1,True\n2,False\n3,1\n", kind: errs.ErrValue, row: 0, column: "b", cell: "True"},
		{name: "too large", text: "a\n1\n9223372036854775808\n", kind: errs.ErrValue, row: 1, column: "a", cell: "9223372036854775808", says: "beyond int64"},
		{name: "too large a label", text: "a,y\n1,9223372036854775808\n", kind: errs.ErrValue, row: 0, column: "y", setup: labelled},
		{name: "text among integer labels", text: "a,y\n1,2\n2,oops\n", kind: errs.ErrValue, row: 1, column: "y", cell: "oops", setup: labelled, says: "line 3"},
		{name: "text among float labels", text: "a,y\n1,2.5\n2,oops\n", kind: errs.ErrValue, row: 1, column: "y", cell: "oops", setup: labelled, says: "label_type"},
		{name: "a float among integer labels", text: "a,y\n1,2\n2,3.5\n", kind: errs.ErrValue, row: 1, column: "y", cell: "3.5", setup: labelled, says: "label_type=\"float\""},
		{name: "a number among text labels", text: "a,y\n1,cat\n2,3\n", kind: errs.ErrValue, row: 1, column: "y", cell: "3", setup: labelled, says: "label_type=\"text\""},
		{name: "a number among truth labels", text: "a,y\n1,True\n2,1\n", kind: errs.ErrValue, row: 1, column: "y", cell: "1", setup: labelled, says: "neither"},
		{name: "text among truth labels", text: "a,y\n1,True\n2,maybe\n", kind: errs.ErrValue, row: 1, column: "y", cell: "maybe", setup: labelled, says: "neither"},
		{name: "label not UTF-8", text: "a,y\n1,x\n2,\xff\n", kind: errs.ErrValue, row: 1, column: "y", setup: labelled, says: "UTF-8"},
		{name: "open quote", text: "a,b\n1,2\n3,\"4\n", kind: errs.ErrDamaged, row: 1, says: "never closed"},
		{name: "open quote at once", text: "\"a,b\n1,2\n", kind: errs.ErrDamaged, row: -1, says: "never closed"},
		{name: "too many columns", text: "a,b,c,d\n", kind: errs.ErrLimit, row: -1, says: "columns", setup: setup{limits: limits.Limits{Columns: 3}}},
		{name: "long line", text: "a,b\n1,2\n1," + strings.Repeat(" ", 99) + "2\n", kind: errs.ErrLimit, row: 1, says: "cell", setup: setup{limits: limits.Limits{Cell: 90}}},
		{name: "no memory", text: "a,b\n1,2\n", kind: errs.ErrLimit, row: -1, says: "limit", setup: setup{limits: limits.Limits{Memory: 1000}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := write(t, []byte(c.text))
			for _, chunk := range []int{0, 1, 2, 3, 5, 64} {
				for _, general := range []bool{false, true} {
					s := c.setup
					s.chunk, s.general, s.threads = chunk, general, 2
					_, err := s.read(t, path)
					var e *errs.Error
					if !errors.As(err, &e) || !errors.Is(err, c.kind) {
						t.Fatalf("chunk %d, general %v: %v, want %v", chunk, general, err, c.kind)
					}
					if e.Path != path || e.Row != c.row || e.Column != c.column || c.cell != "" && e.Cell != c.cell || !strings.Contains(e.Error(), c.says) {
						t.Fatalf("chunk %d, general %v: %v (row %d, column %q, cell %q)", chunk, general, err, e.Row, e.Column, e.Cell)
					}
				}
			}
		})
	}
}

// The kernel does the work where it can: a silent fall to the general parser
// would be an order of magnitude slower and otherwise unseen.
func TestKernelTakesTheRows(t *testing.T) {
	for _, c := range []struct {
		name, text string
		labels     []string
		rows       int // that the kernel takes
		stored     table.Type
	}{
		{"pixels", "label,a,b\n1,2,3\n4,255,6\n", []string{"label"}, 2, table.Uint8},
		{"crlf, no newline at the end", "a,b\r\n1,2\r\n3,4", nil, 2, table.Uint8},
		{"one row in general", "a,b\n1,2\n3,4\n 5,6\n7,8\n", nil, 3, table.Uint8},
		{"index before", ",label,a\n0,1,2\n1000,3,4\n", []string{"label"}, 2, table.Uint8},
		{"floats", "a,b,label\n1,.5,2\n-3.25e2,4,3\n\"5\",6,7\n7,8,9\n", []string{"label"}, 3, table.Float32},
		{"integers", "a,b\n1,70000\n-3,4\n", nil, 2, table.Int32},
		{"a label of text", "a,label\n1,x\n", []string{"label"}, -1, table.Float32},
		{"booleans", "a,b\n1,True\n", nil, -1, table.Float32},
	} {
		s := setup{labels: c.labels}
		r, err := s.open(t, write(t, []byte(c.text)))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		p, err := r.plan(s.selection(r))
		if err != nil {
			t.Fatal(err)
		}
		dst := table.Target{Features: table.Matrix{Data: make([]byte, 99), Type: c.stored, Width: len(p.features)},
			Labels: make([]byte, 99), Kinds: make([]table.LabelKind, len(c.labels))}
		if c.name == "a label of text" {
			dst.Kinds[0], dst.Dict = table.TextLabel, []*table.Dictionary{table.NewDictionary()}
		}
		var d *decoder
		if _, err := r.run(context.Background(), func() visitor {
			d = newDecoder(r, p, dst, r.layout(p, dst))
			return d
		}); err != nil && c.rows >= 0 {
			t.Fatalf("%s: %v", c.name, err)
		}
		taken := -1
		if d.fast != nil {
			taken = d.fast.taken
		}
		if taken != c.rows {
			t.Errorf("%s: the kernel took %d rows, want %d", c.name, taken, c.rows)
		}
	}
}

// More threads than memory feeds would fail where fewer do not.
func TestThreadsThatMemoryFeeds(t *testing.T) {
	content := bytes.Repeat([]byte("1,2,2\n"), 1<<20)
	opts := table.Options{Threads: 64, Limits: limits.Limits{Memory: 2 << 20}}
	r, err := Open(tabletest.File(t, content), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.(table.Counter).Count(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rows, exact := r.Rows(); rows != 1<<20 || !exact {
		t.Errorf("%d rows", rows)
	}
}
