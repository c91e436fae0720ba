package folder

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// forest is GOFAST_BENCH_FOLDERS classes (default 100) of 200 files.
func forest(b *testing.B) Options {
	b.Helper()
	folders := 100
	if text := os.Getenv("GOFAST_BENCH_FOLDERS"); text != "" {
		var err error
		if folders, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	root := b.TempDir()
	for i := range folders {
		class := filepath.Join(root, fmt.Sprintf("n%08d", i))
		if err := os.Mkdir(class, 0o755); err != nil {
			b.Fatal(err)
		}
		for j := range 200 {
			if err := os.WriteFile(fmt.Sprintf("%s/n%08d_%d.JPEG", class, i, j*7919%100000), nil, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	return Options{Kind: Classes, Root: Name(root), Extensions: []Name{".jpg", ".jpeg", ".png"}, now: func() time.Time { return time.Now().Add(time.Hour) }}
}

func BenchmarkFolder(b *testing.B) {
	options := forest(b)
	index := filepath.Join(b.TempDir(), "index")
	b.Run("scan", func(b *testing.B) {
		var count int
		for b.Loop() {
			x, err := Scan(context.Background(), options)
			if err != nil {
				b.Fatal(err)
			}
			count = x.Count()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(count), "ns/file")
	})
	for _, path := range []string{"", index} {
		b.Run(fmt.Sprintf("build/file=%v", path != ""), func(b *testing.B) {
			for b.Loop() {
				os.Remove(path)
				fd, _, err := Build(context.Background(), options, path)
				if err != nil {
					b.Fatal(err)
				}
				unix.Close(fd)
			}
		})
	}
	b.Run("reuse", func(b *testing.B) {
		for b.Loop() {
			fd, schema, err := Build(context.Background(), options, index)
			if err != nil || !schema.Reused {
				b.Fatal(schema.Reused, err)
			}
			unix.Close(fd)
		}
	})
}
