package load

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
)

type (
	looked struct {
		A int64 `parquet:"a,dict"`
		B int64 `parquet:"b,dict"`
	}
	packed struct {
		A int64 `parquet:"a,snappy,plain"`
		B int64 `parquet:"b,snappy,plain"`
	}
)

// What decoding a file leaves to the next one takes nothing from its limit.
func TestScratchIsGivenUpForTheNextFile(t *testing.T) {
	folder, rng := t.TempDir(), rand.New(rand.NewPCG(1, 2))
	a, b := make([]looked, 20_000), make([]packed, 50_000)
	for i := range a {
		a[i] = looked{rng.Int64() >> 1, rng.Int64() >> 1}
	}
	for i := range b {
		b[i] = packed{rng.Int64() >> 1, rng.Int64() >> 1}
	}
	paths := []string{wrote(t, folder, "a.parquet", a), wrote(t, folder, "b.parquet", b)}
	memory := make([]byte, 4<<20)
	decoded := func(limit int64, files ...int) error {
		ctx := context.Background()
		s, _, err := OpenStream(ctx, paths, Options{Threads: 1, Limits: limits.Limits{Memory: limit}})
		if err != nil {
			return err
		}
		defer s.Close()
		pieces, err := s.Cut(ctx, 1, nil)
		for _, file := range files {
			if err == nil {
				_, err = s.Decode(ctx, pieces[file:file+1], memory)
			}
		}
		return err
	}
	least := func(file int) int64 {
		low, high := int64(1), int64(64<<20)
		for low+low/256 < high {
			middle := (low + high) / 2
			switch err := decoded(middle, file); {
			case err == nil:
				high = middle
			case errors.Is(err, errs.ErrLimit):
				low = middle + 1
			default:
				t.Fatal(err)
			}
		}
		return high
	}
	limit := max(least(0), least(1))
	for _, order := range [][]int{{0, 1}, {1, 0}, {1, 0, 1}} {
		if err := decoded(limit, order...); err != nil {
			t.Errorf("files %v, each of which fits: %v", order, err)
		}
	}
}

// A tile is as wide as what workers left allows, and narrow again where that was not enough.
func TestATileTakesWhatIsLeft(t *testing.T) {
	type row struct{ A, B, C, D, E, F int64 }
	rows, rng, ctx := make([]row, 500_000), rand.New(rand.NewPCG(3, 4)), context.Background()
	for i := range rows {
		rows[i] = row{rng.Int64() >> 1, rng.Int64() >> 1, rng.Int64() >> 1, rng.Int64() >> 1, int64(i) << 32, -1}
	}
	path := wrote(t, t.TempDir(), "a.parquet", rows)
	var first []byte
	for _, limit := range []int64{100 << 20, 28 << 20} {
		s, _, err := OpenStream(ctx, []string{path}, Options{Threads: 1, Limits: limits.Limits{Memory: limit}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		pieces, err := s.Cut(ctx, 1<<20, nil)
		if err != nil {
			t.Fatal(err)
		}
		var left []int64
		for range 3 {
			memory := make([]byte, 25<<20)
			if _, err := s.Decode(ctx, pieces, memory); err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = memory
			}
			if !bytes.Equal(memory, first) {
				t.Fatalf("with a limit of %d, another table", limit)
			}
			left = append(left, s.o.budget.Left())
		}
		if wide := left[0]-left[1] > 5<<20; wide != (limit > 50<<20) {
			t.Errorf("with a limit of %d, %v are left after each decode", limit, left)
		}
	}
}

func wrote[T any](t *testing.T, folder, name string, rows []T) string {
	t.Helper()
	var b bytes.Buffer
	w := pq.NewGenericWriter[T](&b)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
