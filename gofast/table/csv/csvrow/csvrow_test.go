package csvrow

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// padded puts data into a buffer with room around it, surrounded by digits: a
// kernel that believes its surroundings gets caught.
func padded(data string) (buf []byte, from, to int) {
	buf = bytes.Repeat([]byte("9"), Front+len(data)+Pad)
	copy(buf[Front:], data)
	return buf, Front, Front + len(data)
}

type outcome struct {
	rows, next       int
	features, labels []byte
}

func run(v Variant, l *Layout, data string, most int) outcome {
	defer Force(v)()
	buf, from, to := padded(data)
	o := outcome{features: make([]byte, most*l.Width), labels: make([]byte, most*8*len(l.Labels))}
	o.rows, o.next = Parse(l, buf, from, to, most, make([]byte, l.ScratchSize()), o.features, o.labels)
	o.next -= from
	o.features, o.labels = o.features[:o.rows*l.Width], o.labels[:o.rows*8*len(l.Labels)]
	return o
}

// layoutFor is a label in the middle and the other cells in two swapped runs.
func layoutFor(columns, lead int, delim byte) *Layout {
	middle := columns / 2
	l := &Layout{Delim: delim, Lead: lead, Columns: columns, Width: columns - 1,
		Labels: []Label{{int32(middle), 0}, {int32(middle), 1}}}
	if after := columns - middle - 1; after > 0 {
		l.Runs = append(l.Runs, Run{int32(middle + 1), 0, int32(after)})
	}
	if middle > 0 {
		l.Runs = append(l.Runs, Run{0, int32(columns - middle - 1), int32(middle)})
	}
	return l
}

// checkForms wants of every form what the plain one does.
func checkForms(t *testing.T, l *Layout, data string) {
	t.Helper()
	most := len(data) + 1
	count := func(v Variant) Counts {
		defer Force(v)()
		return Scan([]byte(data), l.Delim)
	}
	want, counts := run(Plain, l, data, most), count(Plain)
	for _, v := range Variants()[1:] {
		got := run(v, l, data, most)
		if got.rows != want.rows || got.next != want.next || !bytes.Equal(got.features, want.features) ||
			!bytes.Equal(got.labels, want.labels) {
			t.Errorf("%v: %d rows to %d, plain C says %d rows to %d, for %q", v, got.rows, got.next, want.rows, want.next, data)
		}
		if got := count(v); got != counts {
			t.Errorf("%v: counted %+v, plain C %+v, in %q", v, got, counts, data)
		}
	}
}

func TestParseTakesAndRefuses(t *testing.T) {
	for _, c := range []struct {
		name, data string
		rows, next int
	}{
		{"plain", "1,22,255\n0,00,007\n", 2, 18},
		{"crlf", "1,2,3\r\n4,5,6\r\n", 2, 14},
		{"lone return", "1,2,3\r4,5,6\n", 0, 0},
		{"return at the end", "1,2,3\r", 0, 0},
		{"no newline at the end", "1,2,3\n4,5,6", 1, 6},
		{"256", "1,2,3\n4,256,6\n", 1, 6},
		{"300", "300,2,3\n", 0, 0},
		{"900", "900,2,3\n", 0, 0},
		{"four digits", "0001,2,3\n", 0, 0},
		{"empty first", ",2,3\n", 0, 0},
		{"empty last", "1,2,\n", 0, 0},
		{"empty middle", "1,,3\n", 0, 0},
		{"short", "1,2\n", 0, 0},
		{"long", "1,2,3,4\n", 0, 0},
		{"blank line", "1,2,3\n\n4,5,6\n", 1, 6},
		{"sign", "-1,2,3\n", 0, 0},
		{"letter", "1,a,3\n", 0, 0},
		{"nul", "1,\x00,3\n", 0, 0},
		{"high byte", "1,\xb1,3\n", 0, 0},
		{"slash and colon", "1,/,3\n1,:,3\n", 0, 0},
		{"nothing", "", 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := layoutFor(3, 0, ',')
			if got := run(Plain, l, c.data, 9); got.rows != c.rows || got.next != c.next {
				t.Errorf("plain C took %d rows to %d, want %d to %d", got.rows, got.next, c.rows, c.next)
			}
			checkForms(t, l, c.data)
		})
	}
}

func TestScanCounts(t *testing.T) {
	for data, want := range map[string]Counts{
		"": {}, "1,2\n3,4\n": {Lines: 2}, "\n\n1\n\n": {Lines: 2}, "1,\"2\"\n": {Lines: 1, Quotes: true}, "1\r\n2\r\n": {Lines: 2},
		"1\r2\n": {Lines: 1, Odd: true}, "1\n 2\n": {Lines: 2, Odd: true}, "1\n\t2\n": {Lines: 2, Odd: true}, "1\n\r\n": {Lines: 2, Odd: true},
		"1\n,2\n": {Lines: 2}, "1\r": {Odd: true},
	} {
		for _, v := range Variants() {
			restore := Force(v)
			for _, before := range []string{"", strings.Repeat("7,", 40)} { // in the vectors, and in their rest
				if got := Scan([]byte(before+data), ','); got != want && (before == "" || !strings.HasPrefix(data, "\n")) {
					t.Errorf("%v: %+v of %q, want %+v", v, got, before+data, want)
				}
			}
			restore()
		}
	}
}

func TestParsePlacesCells(t *testing.T) {
	l := layoutFor(4, 1, ';') // cells b c d e of a;b;c;d;e: label d, features e b c
	for _, v := range Variants() {
		got := run(v, l, "x y;1;2;3;4\n99999;5;6;7;8\n", 5)
		if want := []byte{4, 1, 2, 8, 5, 6}; got.rows != 2 || !slices.Equal(got.features, want) {
			t.Errorf("%v: %d rows, features %v, want %v", v, got.rows, got.features, want)
		}
		want := append([]byte{3, 0, 0, 0, 0, 0, 0, 0}, 0, 0, 0, 0, 0, 0, 8, 64) // int64 3, float64 3
		if !bytes.Equal(got.labels[:16], want) {
			t.Errorf("%v: labels % x, want % x", v, got.labels[:16], want)
		}
	}
}

func TestParseRefusesLongLead(t *testing.T) {
	l := layoutFor(2, 1, ',')
	for length, rows := range map[int]int{MaxLead - 1: 1, MaxLead: 0} {
		data := strings.Repeat("x", length) + ",1,2\n"
		if got := run(Plain, l, data, 1); got.rows != rows {
			t.Errorf("a leading cell of %d bytes: %d rows", length, got.rows)
		}
		checkForms(t, l, data)
	}
}

func TestParseStopsAtMost(t *testing.T) {
	for _, v := range Variants() {
		if got := run(v, layoutFor(2, 0, ','), "1,2\n3,4\n5,6\n", 2); got.rows != 2 || got.next != 8 {
			t.Errorf("%v: %d rows to %d, want 2 to 8", v, got.rows, got.next)
		}
	}
}

// Random rows of every width around the vector lengths, whole and with one byte
// replaced: all forms agree on what is taken, and where they stop.
func TestFormsAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	odd := "0129,;\t|\n\r \"-.x\x00\xff/:"
	for round := range 4000 {
		columns, lead := 1+rng.IntN(80), rng.IntN(3)
		delim := ",;\t|"[rng.IntN(4)]
		var b strings.Builder
		for range 1 + rng.IntN(4) {
			for c := range columns + lead {
				if c > 0 {
					b.WriteByte(delim)
				}
				fmt.Fprint(&b, rng.IntN([]int{10, 100, 256, 260}[rng.IntN(4)]))
			}
			b.WriteString([]string{"\n", "\r\n"}[rng.IntN(2)])
		}
		data := []byte(b.String())
		if round%2 == 1 {
			data[rng.IntN(len(data))] = odd[rng.IntN(len(odd))]
		}
		checkForms(t, layoutFor(columns, lead, delim), string(data))
		if t.Failed() {
			return
		}
	}
}

func TestParseRefusesShortBuffers(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a buffer without padding was accepted")
		}
	}()
	l := layoutFor(2, 0, ',')
	Parse(l, []byte("1,2\n"), 0, 4, 1, make([]byte, l.ScratchSize()), make([]byte, 9), make([]byte, 99))
}

func FuzzForms(f *testing.F) {
	f.Add("1,2,3\n4,5,6\r\n", uint8(3), uint8(0), uint8(0))
	f.Add("a;255;256\n", uint8(2), uint8(1), uint8(1))
	f.Add("\n \n\t\r\"\n\r\n", uint8(1), uint8(0), uint8(2))
	f.Fuzz(func(t *testing.T, data string, columns, lead, delim uint8) {
		checkForms(t, layoutFor(1+int(columns), int(lead%4), ",;\t|"[delim%4]), data)
	})
}
