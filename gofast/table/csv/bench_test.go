package csv

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
)

// digits is a table like MNIST: a label and 784 pixels, four of five of them 0.
func digits(rows int) []byte {
	rng := rand.New(rand.NewPCG(5, 6))
	var b bytes.Buffer
	b.WriteString("label")
	for i := range 784 {
		fmt.Fprintf(&b, ",pixel%d", i)
	}
	b.WriteByte('\n')
	for range rows {
		fmt.Fprint(&b, rng.IntN(10))
		for range 784 {
			v := 0
			if rng.IntN(5) == 0 {
				v = rng.IntN(256)
			}
			fmt.Fprintf(&b, ",%d", v)
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// headerLine writes the header that a table of numbers, all different, needs to be read.
func headerLine(b *bytes.Buffer, columns int) {
	for c := range columns - 1 {
		fmt.Fprintf(b, "c%d,", c)
	}
	fmt.Fprintf(b, "c%d\n", columns-1)
}

// floats is a table of floats as pandas writes them.
func floats(rows, columns int) []byte {
	rng := rand.New(rand.NewPCG(7, 8))
	var b bytes.Buffer
	headerLine(&b, columns)
	for range rows {
		for c := range columns {
			if c > 0 {
				b.WriteByte(',')
			}
			fmt.Fprint(&b, rng.NormFloat64())
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func benchDecode(b *testing.B, path string, t table.Type, labels int) {
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			for b.Loop() {
				f, err := source.Open(path)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(f.Size())
				r, err := Open(f, table.Options{Threads: threads})
				if err != nil {
					b.Fatal(err)
				}
				bound, _ := r.Rows()
				var sel table.Selection
				for i := range r.Columns() {
					if i < labels {
						sel.Labels = append(sel.Labels, i)
					} else {
						sel.Features = append(sel.Features, i)
					}
				}
				width := len(sel.Features)
				data, err := syscall.Mmap(-1, 0, int(bound)*width*t.Size(), syscall.PROT_READ|syscall.PROT_WRITE,
					syscall.MAP_ANON|syscall.MAP_PRIVATE)
				if err != nil {
					b.Fatal(err)
				}
				dst := table.Target{Features: table.Matrix{Data: data, Type: t, Width: width},
					Labels: make([]byte, 8*labels*int(bound)), Kinds: make([]table.LabelKind, labels)}
				if _, err := r.Decode(context.Background(), sel, dst); err != nil {
					b.Fatal(err)
				}
				r.Close()
				syscall.Munmap(data)
			}
		})
	}
}

func generated(b *testing.B, data []byte) string {
	path := filepath.Join(b.TempDir(), "table.csv")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		b.Fatal(err)
	}
	return path
}

// Open, map a matrix, decode: what a user waits for.
func BenchmarkTrainCSV(b *testing.B) {
	benchDecode(b, generated(b, digits(10_000)), table.Uint8, 1)
}

func BenchmarkFloats(b *testing.B) {
	benchDecode(b, generated(b, floats(20_000, 50)), table.Float64, 0)
}
