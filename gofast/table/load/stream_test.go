package load

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/table"
)

// text makes a table with all that makes it hard to say where a row ends.
func text(rng *rand.Rand, rows int) string {
	ends := []string{"\n", "\r\n", "\r"}
	end := ends[rng.IntN(3)]
	var b strings.Builder
	b.WriteString("a,b,word" + end)
	words := []string{"red", `"blue"`, `"a,b"`, "\"two\nlines\"", `"say ""so"""`, "\"\r\"", `""""`}
	for range rows {
		for rng.IntN(20) == 0 {
			b.WriteString(end) // a blank line
		}
		a := fmt.Sprint(rng.IntN(300))
		if rng.IntN(50) == 0 {
			a = fmt.Sprint(rng.IntN(100_000))
		}
		fmt.Fprintf(&b, "%s,%.*f,%s%s", a, rng.IntN(4), rng.Float64(), words[rng.IntN(len(words))], end)
	}
	s := b.String()
	if rng.IntN(3) == 0 {
		s = strings.TrimRight(s, "\r\n")
	}
	return s
}

// values are what a Decoded holds in memory, as bytes that can be compared: values of any type as floats.
func values(t *testing.T, d Decoded, memory []byte) (features []float64, labels []byte) {
	t.Helper()
	var of func(i int) float64
	switch d.Type {
	case table.Uint8:
		of = func(i int) float64 { return float64(memory[i]) }
	case table.Int32:
		of = func(i int) float64 { return float64(table.View[int32](memory[:d.LabelsOffset&^7])[i]) }
	case table.Float32:
		of = func(i int) float64 { return float64(table.View[float32](memory[:d.LabelsOffset&^7])[i]) }
	case table.Float64:
		of = func(i int) float64 { return table.View[float64](memory[:d.LabelsOffset&^7])[i] }
	default:
		t.Fatalf("stored as %v", d.Type)
	}
	for i := range int(d.Rows) * d.Width {
		features = append(features, of(i))
	}
	return features, memory[d.LabelsOffset:][:d.Rows*int64(len(d.Labels))*8]
}

// A table is the same, whether it is decoded at once, from front to back, or in pieces in any order.
func TestStreamIsTheTable(t *testing.T) {
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var paths []string
		for i := range 1 + rng.IntN(3) {
			path := filepath.Join(t.TempDir(), fmt.Sprintf("%d.csv", i))
			content := []byte(text(rng, rng.IntN(3000)))
			if rng.IntN(3) == 0 {
				var b bytes.Buffer
				z := gzip.NewWriter(&b)
				z.Write(content)
				z.Close()
				content = b.Bytes()
			}
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, path)
		}
		header := true
		options := Options{Label: []ColumnRef{{Name: "word"}}, Classes: Classes{Names: []string{"red", "blue", "a,b", "two\nlines", `say "so"`, "\r", `"`}}, Header: &header, Threads: 1 + rng.IntN(3)}
		ctx := context.Background()
		region, whole, err := Map(ctx, paths, options)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		wantFeatures, wantLabels := values(t, whole, region.Bytes())

		s, opened, err := OpenStream(ctx, paths, options)
		if err != nil {
			t.Fatal(err)
		}
		if opened.Rows >= 0 || len(opened.Stamps) != len(paths) {
			t.Fatal("rows of text are not known before")
		}
		var features []float64
		var labels []byte
		memory := make([]byte, 5000+rng.IntN(60_000))
		room := len(memory)
		for {
			d, at, err := s.Next(ctx, memory[:room])
			if errors.Is(err, ErrRoom) {
				if int64(room) >= d.Size {
					t.Fatalf("seed %d: %d bytes are enough for %d", seed, room, d.Size)
				}
				memory = make([]byte, d.Size)
				room = len(memory)
				continue
			}
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if d.Rows == 0 {
				break
			}
			if at.File < 0 || at.File >= len(paths) {
				t.Fatal(at)
			}
			f, l := values(t, d, memory)
			features, labels = append(features, f...), append(labels, l...)
			room = len(memory) - rng.IntN(len(memory)-4500)
		}
		if !slices.Equal(features, wantFeatures) || !bytes.Equal(labels, wantLabels) {
			t.Fatalf("seed %d: %d values from front to back, %d at once", seed, len(features), len(wantFeatures))
		}

		pieces, err := s.Cut(ctx, int64(1+rng.IntN(500)), nil)
		if err != nil {
			t.Fatal(err)
		}
		rows, first := int64(0), make([]int64, len(pieces))
		for i, p := range pieces {
			first[i] = rows
			rows += p.Rows
		}
		if rows != whole.Rows {
			t.Fatalf("seed %d: %d rows in pieces, %d in all", seed, rows, whole.Rows)
		}
		memory = make([]byte, 8192+int(whole.Rows)*(whole.Width*8+8))
		for range 5 {
			var some []Piece
			features, labels = nil, nil
			for _, i := range rng.Perm(len(pieces))[:rng.IntN(len(pieces)+1)] {
				some = append(some, pieces[i])
				from, to := first[i], first[i]+pieces[i].Rows
				features = append(features, wantFeatures[from*int64(whole.Width):to*int64(whole.Width)]...)
				labels = append(labels, wantLabels[from*8:to*8]...)
			}
			if some == nil {
				continue
			}
			d, err := s.Decode(ctx, some, memory)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			f, l := values(t, d, memory)
			if !slices.Equal(f, features) || !bytes.Equal(l, labels) {
				t.Fatalf("seed %d: %d pieces differ", seed, len(some))
			}
		}
		s.Close()
		region.Close()
	}
}

func TestStreamRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte("a,label\n1,red\n2,blue\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	options := Options{Label: []ColumnRef{{Name: "label"}}}
	if _, _, err := OpenStream(ctx, []string{path}, options); !errors.Is(err, errs.ErrConfig) {
		t.Errorf("words without classes: %v", err)
	}
	options.Classes.Names = []string{"red", "blue"}
	s, _, err := OpenStream(ctx, []string{path}, options)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Decode(ctx, []Piece{{File: 1}}, nil); !errors.Is(err, errs.ErrConfig) {
		t.Errorf("a file that is not there: %v", err)
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if _, _, err := s.Next(canceled, make([]byte, 1<<20)); !errors.Is(err, errs.ErrCanceled) {
		t.Errorf("canceled: %v", err)
	}
}

// A stream may have more files than a process may open.
func TestStreamHasFewFilesOpen(t *testing.T) {
	var paths []string
	for i := range 300 {
		paths = append(paths, filepath.Join(t.TempDir(), fmt.Sprintf("%d.csv", i)))
		if err := os.WriteFile(paths[i], []byte("a,label\n1,2\n3,4\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opened := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	before := opened()
	few := func(when string) {
		if now := opened() - before; now > 20 {
			t.Errorf("%s: %d files are open", when, now)
		}
	}
	ctx := context.Background()
	s, _, err := OpenStream(ctx, paths, Options{Label: []ColumnRef{{Name: "label"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	few("opened")
	pieces, err := s.Cut(ctx, 1, nil)
	if err != nil || len(pieces) != len(paths) {
		t.Fatal(len(pieces), err)
	}
	few("cut")
	memory := make([]byte, 1<<16)
	if d, err := s.Decode(ctx, pieces, memory); err != nil || d.Rows != 600 {
		t.Fatal(d.Rows, err)
	}
	few("decoded")
	for rows := int64(0); rows < 600; {
		d, _, err := s.Next(ctx, memory)
		if err != nil || d.Rows == 0 {
			t.Fatal(rows, err)
		}
		rows += d.Rows
	}
	few("read to the end")
}

// A part may begin anywhere, and errors of its rows have the lines of the file.
func TestErrorsOfPartsHaveTheirLines(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "a.csv")
	for pad := range 7 {
		const line = 30_000
		text := "a,label\r\n" + strings.Repeat("1", pad+1) + ",2\r\n" + strings.Repeat("1,2\r\n", line-3) + "x,2\r\n1,2\r\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, _, err := OpenStream(ctx, []string{path}, Options{Label: []ColumnRef{{Name: "label"}}, Threads: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		pieces, err := s.Cut(ctx, 1, nil)
		if err != nil || len(pieces) < 3 {
			t.Fatal(len(pieces), err)
		}
		memory := make([]byte, 1<<20)
		for _, p := range pieces {
			if _, err = s.Decode(ctx, []Piece{p}, memory); err != nil {
				break
			}
		}
		if e := (*errs.Error)(nil); !errors.As(err, &e) || e.Line != line {
			t.Errorf("pad %d, pieces: %v", pad, err)
		}
		room := 60_000 + pad
		for err = nil; err == nil; {
			_, _, err = s.Next(ctx, memory[:room])
		}
		if e := (*errs.Error)(nil); !errors.As(err, &e) || e.Line != line {
			t.Errorf("pad %d, in order: %v", pad, err)
		}
	}
}

// Windows are as full as memory, whether cells are long or short, and wherever that changes.
func TestTextFillsItsMemory(t *testing.T) {
	var b bytes.Buffer
	const rows, memory = 40_000, 64 << 10
	for i := range rows {
		width := []int{14, 1}[i/10_000%2]
		fmt.Fprintf(&b, "%0*d,%0*d,0\n", width, i%10, width, i%7)
	}
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	header := false
	s, _, err := OpenStream(t.Context(), []string{path}, Options{Header: &header, Threads: 64, Limits: limits.Limits{Memory: 8 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	room, row, windows := make([]byte, memory), 0, 0
	for {
		d, _, err := s.Next(t.Context(), room)
		if err != nil {
			t.Fatal(err)
		}
		if d.Rows == 0 {
			break
		}
		features, _ := values(t, d, room)
		for i := range int(d.Rows) {
			if features[3*i] != float64(row%10) || features[3*i+1] != float64(row%7) {
				t.Fatalf("row %d: %v", row, features[3*i:3*i+3])
			}
			row++
		}
		windows++
	}
	if least := rows * 3 / memory; row != rows || windows > 6*least {
		t.Errorf("%d rows in %d windows", row, windows)
	}
}

// The end of a file of many members says how large the last one is, and not the content.
func TestPackedInMembers(t *testing.T) {
	var b bytes.Buffer
	for i := range 500 {
		z := gzip.NewWriter(&b)
		fmt.Fprint(z, strings.Repeat(fmt.Sprintf("%d,%d\n", i%200, 7), 50))
		z.Close()
	}
	path := filepath.Join(t.TempDir(), "t.csv.gz")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	header := false
	region, d, err := Map(t.Context(), []string{path}, Options{Header: &header})
	if err != nil {
		t.Fatal(err)
	}
	defer region.Close()
	features, _ := values(t, d, region.Bytes())
	if d.Rows != 25_000 {
		t.Fatalf("%d rows", d.Rows)
	}
	for i := range 25_000 {
		if features[2*i] != float64(i/50%200) || features[2*i+1] != 7 {
			t.Fatalf("row %d: %v", i, features[2*i:2*i+2])
		}
	}
}

// Behind a row that is longer than a part was to be stand short ones, which come with it and need more memory.
func TestShortRowsBehindALongOne(t *testing.T) {
	const columns = 2000
	var b strings.Builder
	for _, width := range []int{400, 1, 1, 1, 1} {
		b.WriteString(strings.Repeat(fmt.Sprintf("%0*d,", width, 7), columns-1) + "7\n")
	}
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	header := false
	s, _, err := OpenStream(t.Context(), []string{path}, Options{Header: &header})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	room, rows := make([]byte, 4096+columns*3/2), int64(0)
	for {
		d, _, err := s.Next(t.Context(), room)
		if errors.Is(err, ErrRoom) && d.Size > int64(len(room)) {
			room = make([]byte, d.Size)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if rows += d.Rows; d.Rows == 0 {
			break
		}
	}
	if rows != 5 {
		t.Errorf("%d rows", rows)
	}
}
