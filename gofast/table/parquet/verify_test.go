package parquet

import (
	"errors"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
)

type verified struct {
	Tiny   int8     `parquet:"tiny"`
	Odd    bool     `parquet:"odd"`
	ID     int64    `parquet:"id"`
	Size   *uint32  `parquet:"size,optional"`
	Price  float64  `parquet:"price"`
	Name   string   `parquet:"name,dict"`
	Plain  string   `parquet:"plain"`
	Inside struct { // which gofast cannot use
		A, B string
	} `parquet:"inside"`
}

func verifiedFile(t *testing.T) []byte {
	rows := make([]verified, 300)
	for i := range rows {
		size := uint32(1<<31 + i)
		rows[i] = verified{ID: int64(i) - 150, Price: float64(i) / 4, Odd: i%2 == 1, Name: string(rune('a' + i%5)), Plain: "word"}
		rows[i].Inside.A = "words"
		if i%3 > 0 {
			rows[i].Size = &size
		}
	}
	return structs(t, rows, pq.Compression(&pq.Snappy), pq.MaxRowsPerRowGroup(100))
}

func TestDescribe(t *testing.T) {
	r := mustOpen(t, verifiedFile(t))
	facts, err := r.(table.Describer).Describe()
	if err != nil || facts.RowGroups != 3 {
		t.Fatalf("%v %+v", err, facts)
	}
	want := map[string][3]string{"tiny": {"int8", "0", "0"}, "odd": {"bool", "false", "true"},
		"id": {"int64", "-150", "149"}, "size": {"uint32", "2147483649", "2147483947"},
		"price": {"float64", "0", "74.75"}, "name": {"text", "", ""}, "inside": {"other", "", ""}}
	for _, c := range facts.Columns {
		if w, ok := want[c.Name]; ok && [3]string{c.Type, c.Min, c.Max} != w {
			t.Errorf("%s: %+v, want %v", c.Name, c, w)
		}
		delete(want, c.Name)
		if c.Name == "size" && (c.Nulls == nil || *c.Nulls != 100) {
			t.Errorf("%+v", c)
		}
		if (c.Unusable != "") != (c.Name == "inside") {
			t.Errorf("%+v", c)
		}
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

// An integer that gofast cannot hold is no damage, and hides none.
func TestVerifyOfValuesBeyondInt64(t *testing.T) {
	type row struct {
		Hash uint64 `parquet:"hash"`
		X    int64  `parquet:"x"`
	}
	content := structs(t, []row{{1, 1}, {1 << 63, 2}})
	r := mustOpen(t, content).(*Reader)
	if err := r.Verify(t.Context()); !errors.Is(err, errs.ErrUnsupported) || !strings.Contains(err.Error(), `"hash"`) {
		t.Errorf("%v", err)
	}
	k := r.meta.groups[0].chunks[1]
	clear(content[k.offset:][:min(k.compressed, 40)])
	if err := mustOpen(t, content).(*Reader).Verify(t.Context()); !errors.Is(err, errs.ErrDamaged) {
		t.Errorf("%v", err)
	}
}

// Verify accepts the whole file, and finds damage in the pages of every column, also of those that gofast cannot use.
func TestVerifyReadsEveryColumn(t *testing.T) {
	content := verifiedFile(t)
	r := mustOpen(t, content).(*Reader)
	if err := r.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	for g := range r.meta.groups {
		for leaf, k := range r.meta.groups[g].chunks {
			bad := append([]byte(nil), content...)
			clear(bad[k.offset:][:min(k.compressed, 40)]) // the header of its first page
			damaged := mustOpen(t, bad).(*Reader)
			if err := damaged.Verify(t.Context()); !errors.Is(err, errs.ErrDamaged) {
				t.Errorf("row group %d, leaf %d: %v", g, leaf, err)
			}
		}
	}
}
