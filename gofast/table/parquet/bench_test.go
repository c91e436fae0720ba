package parquet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
)

// trainFile is the real table where GOFAST_TEST_DATA is set, else one of the
// same columns with fewer rows.
func trainFile(tb testing.TB) string {
	if root := os.Getenv("GOFAST_TEST_DATA"); root != "" {
		return filepath.Join(root, "mnist", "train.parquet")
	}
	rng := rand.New(rand.NewPCG(4, 4))
	tab := fileOf{}
	for c := range 785 {
		node := pq.Optional(pq.Encoded(pq.Leaf(pq.Int64Type), &pq.RLEDictionary))
		tab.add(fmt.Sprintf("c%03d", c), pq.Compressed(node, &pq.Snappy), draw(rng, "byte64", 3000, false))
	}
	path := filepath.Join(tb.TempDir(), "train.parquet")
	if err := os.WriteFile(path, tab.bytes(tb), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// openPath opens a file as the table does.
func openPath(path string, opts table.Options) (table.Reader, error) {
	f, err := source.Open(path)
	if err != nil {
		return nil, err
	}
	r, err := Open(f, opts)
	if err != nil {
		f.Close()
	}
	return r, err
}

// pixelsAndLabel selects the first column as the label and the rest as features.
func pixelsAndLabel(columns int) table.Selection {
	sel := table.Selection{Labels: []int{0}}
	for i := 1; i < columns; i++ {
		sel.Features = append(sel.Features, i)
	}
	return sel
}

// BenchmarkTrainParquet opens and decodes the table into fresh pages, as a
// training script does once.
func BenchmarkTrainParquet(b *testing.B) {
	path := trainFile(b)
	for b.Loop() {
		r, err := openPath(path, table.Options{Threads: runtime.GOMAXPROCS(0)})
		if err != nil {
			b.Fatal(err)
		}
		rows, _ := r.Rows()
		b.SetBytes(rows * int64(len(r.Columns()))) // values a second
		sel := pixelsAndLabel(len(r.Columns()))
		width := len(sel.Features)
		memory, err := syscall.Mmap(-1, 0, int(rows)*width, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			b.Fatal(err)
		}
		n, err := r.Decode(context.Background(), sel, table.Target{
			Features: table.Matrix{Data: memory, Type: table.Uint8, Width: width},
			Labels:   make([]byte, 8*rows),
			Kinds:    []table.LabelKind{table.IntLabel},
		})
		if err != nil || n != rows {
			b.Fatal(n, err)
		}
		r.Close()
		b.StopTimer()
		if err := syscall.Munmap(memory); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
