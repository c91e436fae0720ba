package gofast

import (
	"os"
	"path/filepath"

	jpegdecoder "github.com/gofast-org/gofast/gofast/image/jpeg"
	"github.com/gofast-org/gofast/gofast/internal/pillowtest"

	"context"
	"maps"
	"testing"
	"time"

	images "github.com/gofast-org/gofast/gofast/image"
	"github.com/gofast-org/gofast/gofast/numbers"
	"github.com/gofast-org/gofast/gofast/source"
)

// photographs are ImageNet's.
func photographs(b *testing.B) string {
	b.Helper()
	data := os.Getenv("GOFAST_TEST_DATA")
	if data == "" {
		b.Skip("GOFAST_TEST_DATA names no folder with imagenet-500")
	}
	pillowtest.Library(b, "libjpeg-*.so*", jpegdecoder.Format.Load)
	return filepath.Join(data, "imagenet-500")
}

// Photographs behind requests of 50 ms, against the same files read by the threads: two of
// them, a random crop that needs the size of each, 4,000 pictures so that the first request
// is no large part. Not below 90 % of the local pictures/s.
func BenchmarkObjects(b *testing.B) {
	files, err := OpenFolder(context.Background(), photographs(b), trainPlan, FolderOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer files.Close()
	random := maps.Clone(trainPlan.Steps[0])
	random["size"] = []int{224, 224}
	plan := images.Plan{Steps: append([]images.Step{random}, trainPlan.Steps[1:]...), Output: images.Output{DType: numbers.Float32, Height: 224, Width: 224, Channels: 3}}
	e := engineOf(b, 2)
	for _, c := range []struct {
		name  string
		takes time.Duration
	}{{"local", 0}, {"50ms", 50 * time.Millisecond}} {
		b.Run(c.name, func(b *testing.B) {
			pictures := 0
			for b.Loop() {
				var objects []source.Object
				var extents []source.Extent
				for i := range int64(4000) {
					local, err := source.OpenLocal(files.Path(i % files.Len()))
					if err != nil {
						b.Fatal(err)
					}
					var object source.Object = local
					if c.takes > 0 {
						object = slow(local, c.takes)
					}
					objects, extents = append(objects, object), append(extents, source.Extent{Object: uint32(i), Length: -1})
				}
				d, err := OpenObjects(objects, extents, plan, ObjectOptions{})
				if err != nil {
					b.Fatal(err)
				}
				for batch, err := range e.Batches(context.Background(), d, Shuffled(d.Len(), 1, 1), 64) {
					if err != nil {
						b.Fatal(err)
					}
					pictures += batch.Rows
				}
				d.Close()
			}
			b.ReportMetric(float64(pictures)/b.Elapsed().Seconds(), "pictures/s")
		})
	}
}
