package cache

import (
	"path/filepath"
	"testing"

	"github.com/gofast-org/gofast/gofast/table"
)

const benchRows, benchWidth = 60_000, 784

func benchBuild(b *testing.B, path string) {
	lock, err := Acquire(ctx, path)
	if err != nil {
		b.Fatal(err)
	}
	defer lock.Release()
	w, err := lock.Create(Bound{Rows: benchRows, Width: benchWidth, Type: table.Uint8, Labels: 1})
	if err != nil {
		b.Fatal(err)
	}
	fill(w.Features)
	names := make([]string, benchWidth)
	for i := range names {
		names[i] = "pixel"
	}
	meta := Meta{Fingerprint: "f", Rows: benchRows, Shape: []int{benchWidth}, Names: names, Labels: []Label{{Name: "label"}}}
	if err := w.Finish(ctx, meta); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkBuild(b *testing.B) {
	path := filepath.Join(b.TempDir(), "t.npz")
	b.SetBytes(benchRows * benchWidth)
	for b.Loop() {
		benchBuild(b, path)
	}
}

func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "t.npz")
	benchBuild(b, path)
	for b.Loop() {
		c, err := Open(path, "f")
		if err != nil {
			b.Fatal(err)
		}
		c.Close()
	}
}

func BenchmarkVerify(b *testing.B) {
	path := filepath.Join(b.TempDir(), "t.npz")
	benchBuild(b, path)
	b.SetBytes(benchRows * benchWidth)
	for b.Loop() {
		if err := Verify(ctx, path); err != nil {
			b.Fatal(err)
		}
	}
}
