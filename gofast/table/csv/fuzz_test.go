package csv

import (
	stdcsv "encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/table/csv/csvrow"
)

// Random tables written by encoding/csv read as strconv reads their cells.
func TestAgainstEncodingCSV(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for range 300 {
		columns, rows := 1+rng.IntN(12), rng.IntN(60)
		header := make([]string, columns)
		for i := range header {
			header[i] = fmt.Sprintf("name %d", i)
		}
		kinds := rng.IntN(4)
		var want []float64
		var words []any
		var text strings.Builder
		w := stdcsv.NewWriter(&text)
		w.UseCRLF = rng.IntN(2) == 0
		w.Comma = rune(",\t;|"[rng.IntN(4)])
		w.Write(append(header, "word"))
		for range rows {
			var row []string
			for range columns {
				cell := strconv.Itoa(rng.IntN(256))
				switch {
				case kinds > 0 && rng.IntN(4) == 0:
					cell = strconv.FormatInt(int64(rng.Uint64()>>12)-1<<51, 10)
				case kinds == 2 && rng.IntN(3) == 0:
					cell = strconv.FormatFloat(rng.NormFloat64()*math.Pow(10, float64(rng.IntN(600)-300)), "ge"[rng.IntN(2)], -1, 64)
				case kinds == 3 && rng.IntN(3) == 0:
					cell = strconv.FormatFloat(rng.Float64(), 'g', 1+rng.IntN(25), 64)
				}
				v, err := strconv.ParseFloat(cell, 64)
				if err != nil {
					t.Fatal(err)
				}
				row, want = append(row, cell), append(want, v)
			}
			word := []string{"plain", "with,comma;and\ttab|", "with \"quotes\"", "two\nlines", "\"", " x", "é"}[rng.IntN(7)]
			if w.UseCRLF { // the writer turns the newlines inside cells too
				words = append(words, strings.ReplaceAll(word, "\n", "\r\n"))
			} else {
				words = append(words, word)
			}
			w.Write(append(row, word))
		}
		w.Flush()
		path := write(t, []byte(text.String()))
		for _, s := range []setup{{}, {chunk: 64, threads: 2}, {chunk: 1000, threads: 3, general: true}} {
			s.labels = []string{"word"}
			got, err := s.read(t, path)
			if err != nil {
				t.Fatalf("%v in %.500q", err, text.String())
			}
			if rows > 0 && !slices.Equal(got.labels, words) {
				t.Fatalf("labels %q, want %q", got.labels, words)
			}
			if !same(got.cells, want) {
				t.Fatalf("%.9v\nwant\n%.9v\nfrom %.500q", got.cells, want, text.String())
			}
		}
	}
}

// Every float that strconv prints, in every form, comes back bit by bit.
func TestNumbersAgainstStrconv(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for range 300_000 {
		v := math.Float64frombits(rng.Uint64())
		if v != v || math.IsInf(v, 0) {
			continue
		}
		if rng.IntN(2) == 0 {
			v = math.Trunc(rng.Float64()*1e6) / math.Pow(10, float64(rng.IntN(7)))
		}
		format, digits := "gef"[rng.IntN(3)], rng.IntN(30)-1
		text := strconv.FormatFloat(v, format, digits, 64)
		want, err := strconv.ParseFloat(text, 64)
		if err != nil && !math.IsInf(want, 0) {
			t.Fatal(err)
		}
		k, bits := notation{}.classify([]byte(text))
		got := math.Float64frombits(bits)
		if k == intCell {
			got = float64(int64(bits))
			if want == 0 {
				want = 0 // "-0" is an integer
			}
		} else if k == hugeCell {
			continue
		}
		if got != want || k == realCell && math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("%q is %v (%d), want %v", text, got, k, want)
		}
	}
}

// The kernels and the general parser, one chunk and tiny ones, one thread and
// three: for any bytes the same table or the same error.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"a,b\n1,2\n3,4\n", "1,2,3\r\n4,5,6\r\n", "a,b\n1,256\n", "\"a\",b\n\"1\n\",2\n3,\"4\"\"\"\n", "a\tb\n 1\t\n\t2\n", ",a\n0,1\n1,x\n",
		"a,b\r1,2\r\r\n3,4", "x;y\n1;True\n2;False\n", "a\n\n1\n  \n2", "a,b\n.5,NA\n-1e3,inf\n", "l,p\n7,\"\n", "id,p,q\nab,1,2\ncd,3,4\n",
		"\ufeff1|2\n3|4|5\n", "9,9\n1,1\n\"2\",2\n3,3\n 4,4\n5,5\n",
	} {
		f.Add([]byte(seed), uint8(3), true, uint8(0))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte, chunk uint8, label bool, variant uint8) {
		path := filepath.Join(dir, fmt.Sprintf("%d.csv", os.Getpid()))
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		zero := 0.0
		one := setup{header: []*bool{nil, &yes, &no}[int(variant>>6)%3], general: true, fill: &zero, limits: limits.Limits{Memory: 256 << 20}}
		r, err := one.open(t, path)
		if err == nil {
			if columns := r.Columns(); label && len(columns) > 1 {
				one.labels = []string{columns[0].Name}
			}
			r.Close()
		}
		want, wantErr := one.read(t, path)
		if errs.Name(wantErr) == "Internal" && wantErr != nil {
			t.Fatalf("%v for %q", wantErr, data)
		}
		all := csvrow.Variants()
		defer csvrow.Force(all[int(variant)%len(all)])()
		for _, size := range []int{0, 1 + int(chunk)} {
			other := one
			other.general, other.chunk, other.threads = false, size, 3
			got, err := other.read(t, path)
			if fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Fatalf("chunk %d: %v, want %v, for %q", size, err, wantErr, data)
			}
			if err == nil && (got.typ != want.typ || got.rows != want.rows || !same(got.cells, want.cells) || !slices.Equal(got.labels, want.labels)) {
				t.Fatalf("chunk %d: %+v, want %+v, for %q", size, got, want, data)
			}
		}
	})
}
