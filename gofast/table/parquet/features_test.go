package parquet

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/tabletest"
)

// structs writes rows with parquet-go's writer.
func structs[T any](tb testing.TB, rows []T, options ...pq.WriterOption) []byte {
	tb.Helper()
	var out bytes.Buffer
	w := pq.NewGenericWriter[T](&out, options...)
	if _, err := w.Write(rows); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func mustOpen(tb testing.TB, content []byte) table.Reader {
	tb.Helper()
	r, err := open(tb, content, table.Options{Threads: 2})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// index is the position of a column.
func index(tb testing.TB, r table.Reader, name string) int {
	tb.Helper()
	i := slices.IndexFunc(r.Columns(), func(c table.Column) bool { return c.Name == name })
	if i < 0 {
		tb.Fatalf("no column %q", name)
	}
	return i
}

// TestRefused: what cannot be used is a typed error that names the place.
func TestRefused(t *testing.T) {
	type date struct {
		When int32 `parquet:",date"`
		X    int32
	}
	type text struct{ S string }
	type nested struct {
		In struct{ A, B int32 }
	}
	type lists struct {
		L []int32 `parquet:",list"`
	}
	type null struct {
		X *int64
		Y *float64
	}
	one, nan := int64(1), math.NaN()
	half := 0.5
	type big struct{ U uint64 }
	type decimals struct {
		D int32 `parquet:",decimal(2:9)"`
	}
	cases := []struct {
		name    string
		content []byte
		column  int
		fill    *float64
		kind    error
		row     int64
		text    string
	}{
		{"date", structs(t, []date{{1, 1}}), 0, nil, errs.ErrUnsupported, errs.None, "date"},
		{"text as a feature", structs(t, []text{{"a"}}), 0, nil, errs.ErrUnsupported, errs.None, "columns="},
		{"struct", structs(t, []nested{{}}), 0, nil, errs.ErrUnsupported, errs.None, "struct"},
		{"short list", structs(t, []lists{{[]int32{1, 2}}, {[]int32{1, 2}}, {[]int32{1}}, {[]int32{1, 2}}}), 0, nil, errs.ErrSchema, 2, "less than 2"},
		{"long list", structs(t, []lists{{[]int32{1, 2}}, {[]int32{1, 2, 3}}, {[]int32{1, 2}}}), 0, nil, errs.ErrSchema, 1, "more than 2"},
		{"short last list", structs(t, []lists{{[]int32{1, 2}}, {[]int32{1}}}), 0, nil, errs.ErrSchema, 1, "a list of 1"},
		{"empty list", structs(t, []lists{{[]int32{1, 2}}, {}, {[]int32{1, 2}}}), 0, nil, errs.ErrSchema, 1, "less than 2"},
		{"null", structs(t, []null{{&one, &half}, {&one, &half}, {nil, &half}}), 0, nil, errs.ErrMissing, 2, "fill_value"},
		{"NaN", structs(t, []null{{&one, &half}, {&one, &half}, {&one, &nan}}), 1, nil, errs.ErrMissing, 2, "NaN"},
		{"NaN before a null", structs(t, []null{{&one, &half}, {&one, &nan}, {&one, nil}}), 1, nil, errs.ErrMissing, 1, "NaN"},
		{"NaN behind nulls", structs(t, []null{{&one, &half}, {&one, nil}, {&one, nil}, {&one, &nan}}), 1, nil, errs.ErrMissing, 1, "null"},
		{"uint64", structs(t, []big{{1}, {1 << 63}}), 0, nil, errs.ErrValue, 1, "9223372036854775808"},
		{"decimal", structs(t, []decimals{{1}}), 0, nil, nil, errs.None, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r, err := open(t, c.content, table.Options{})
			if err == nil {
				_, err = tabletest.Decode(t.Context(), r, table.Selection{Features: []int{c.column}, Fill: c.fill}, nil, 1<<20)
			}
			if c.kind == nil {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var e *errs.Error
			if !errors.As(err, &e) || !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("got %v, want %v with %q", err, c.kind, c.text)
			}
			if e.Row != c.row || e.Path == "" || e.Column == "" {
				t.Fatalf("row %d, path %q, column %q in %v", e.Row, e.Path, e.Column, err)
			}
		})
	}
}

// TestCancel: a cancelled context is a typed error and leaves nothing running.
func TestCancel(t *testing.T) {
	r := mustOpen(t, imageFile(t, 20))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tabletest.Decode(ctx, r, table.Selection{Features: []int{0}}, nil, 1<<20); !errors.Is(err, errs.ErrCanceled) {
		t.Fatal(err)
	}
}

// TestProgress adds up to the chunks' bytes.
func TestProgress(t *testing.T) {
	var total atomic.Int64
	r, err := open(t, imageFile(t, 100), table.Options{Threads: 2, Progress: func(n int64) { total.Add(n) }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tabletest.Decode(t.Context(), r, table.Selection{Features: []int{index(t, r, "binary"), index(t, r, "list")}}, nil, 1<<20); err != nil {
		t.Fatal(err)
	}
	want := int64(0)
	for _, g := range r.(*Reader).meta.groups {
		for _, name := range []string{"binary", "list"} {
			want += g.chunks[r.(*Reader).columns[index(t, r, name)].leaf].compressed
		}
	}
	if total.Load() != want || want == 0 {
		t.Fatalf("progress of %d bytes, want %d", total.Load(), want)
	}
}

// TestByteArrayDecimals: Avro's and Hive's writers give every decimal as many
// bytes as it needs.
func TestByteArrayDecimals(t *testing.T) {
	texts := []string{"", "\x00", "\x01", "\xff", "\x7f\xff\xff\xff\xff\xff\xff\xff", "\x80\x00\x00\x00\x00\x00\x00\x00",
		"\x00\x80\x00\x00\x00\x00\x00\x00\x00", "\xff\x7f\xff\xff\xff\xff\xff\xff\xff", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x05",
		"\x4b\x3b\x4c\xa8\x5a\x86\xc4\x7a\x09\x8a\x22\x3f\xff\xff\xff\xff"}
	want := []float64{0, 0, 0.01, -0.01, 92233720368547758.07, -92233720368547758.08, 92233720368547758.08, -92233720368547758.09, 0.05,
		999999999999999999999999999999999999.99}
	for name, node := range map[string]pq.Node{
		"plain":      pq.Encoded(pq.Decimal(2, 38, pq.ByteArrayType), &pq.Plain),
		"dictionary": pq.Encoded(pq.Decimal(2, 38, pq.ByteArrayType), &pq.RLEDictionary),
		"lengths":    pq.Encoded(pq.Decimal(2, 38, pq.ByteArrayType), &pq.DeltaLengthByteArray),
		"delta":      pq.Encoded(pq.Decimal(2, 38, pq.ByteArrayType), &pq.DeltaByteArray),
	} {
		t.Run(name, func(t *testing.T) {
			values := make([]any, len(texts))
			for i, s := range texts {
				values[i] = s
			}
			file := fileOf{}
			file.add("d", node, values)
			r := mustOpen(t, file.bytes(t))
			d, err := tabletest.Decode(t.Context(), r, all(r), nil, 1<<20)
			if err != nil || d.Type != table.Float64 {
				t.Fatal(d, err)
			}
			for i, w := range want {
				if got := d.At(i, 0); got != w {
					t.Errorf("%x: %v, want %v", texts[i], got, w)
				}
			}
		})
	}
}
