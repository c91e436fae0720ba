package gofast

import (
	"context"
	"image"
	"image/color"
	"image/jpeg"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	images "github.com/gofast-org/gofast/gofast/image"
	jpegdecoder "github.com/gofast-org/gofast/gofast/image/jpeg"
	"github.com/gofast-org/gofast/gofast/internal/pillowtest"
)

// photographs are ImageNet's where GOFAST_TEST_DATA has them, else waves of their mean size.
func photographs(b *testing.B) string {
	b.Helper()
	pillowtest.Library(b, "libjpeg-*.so*", jpegdecoder.Format.Load)
	if data := os.Getenv("GOFAST_TEST_DATA"); data != "" {
		return filepath.Join(data, "imagenet-500")
	}
	root := b.TempDir()
	folder := filepath.Join(root, "waves")
	if err := os.Mkdir(folder, 0o755); err != nil {
		b.Fatal(err)
	}
	for i := range 16 {
		picture := image.NewRGBA(image.Rect(0, 0, 468, 401))
		for y := range 401 {
			for x := range 468 {
				wave := func(length float64) uint8 {
					return uint8(127 + 100*math.Sin(float64(x*(i+1))/length)*math.Cos(float64(y)/length) + float64((x*31+y*17)%23))
				}
				picture.SetRGBA(x, y, color.RGBA{wave(9), wave(21), wave(40), 255})
			}
		}
		file, err := os.Create(filepath.Join(folder, strconv.Itoa(i)+".jpg"))
		if err != nil {
			b.Fatal(err)
		}
		if err := jpeg.Encode(file, picture, &jpeg.Options{Quality: 90}); err != nil {
			b.Fatal(err)
		}
		if err := file.Close(); err != nil {
			b.Fatal(err)
		}
	}
	return root
}

// Each stage of ImageNet's samples on one thread; an operation is a picture.
func BenchmarkImages(b *testing.B) {
	root := photographs(b)
	float := images.Output{DType: "float32", Height: 224, Width: 224, Channels: 3}
	bytes := images.Output{DType: "uint8", Height: 224, Width: 224, Channels: 3}
	resize := images.Step{"op": "resize", "size": []int{256}, "filter": "bilinear"}
	center := images.Step{"op": "center_crop", "size": []int{224, 224}}
	random := maps.Clone(trainPlan.Steps[0])
	random["size"] = []int{224, 224}
	flip, toBytes, toFloat := images.Step{"op": "hflip", "p": 0.5}, images.Step{"op": "to_uint8"}, images.Step{"op": "to_float", "how": "divide"}
	normalize := images.Step{"op": "normalize", "mean": []float32{0.485, 0.456, 0.406}, "std": []float32{0.229, 0.224, 0.225}}

	b.Run("decode", func(b *testing.B) { benchmarkDecode(b, root) })
	for _, stage := range []struct {
		name string
		plan images.Plan
	}{
		{"decode+resize/val", images.Plan{Steps: []images.Step{resize, center, toBytes}, Output: bytes}},
		{"sample/val", images.Plan{Steps: []images.Step{resize, center, toFloat, normalize}, Output: float}},
		{"decode+resize/train", images.Plan{Steps: []images.Step{random, toBytes}, Output: bytes}},
		{"sample/train", images.Plan{Steps: []images.Step{random, flip, toFloat, normalize}, Output: float}},
	} {
		b.Run(stage.name, func(b *testing.B) {
			f, err := OpenFolder(context.Background(), root, stage.plan, FolderOptions{})
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			e := NewEngine(1)
			defer e.Close()
			order := make([]int64, b.N)
			for i := range order {
				order[i] = int64(i) % f.Len()
			}
			b.ResetTimer()
			for _, err := range e.Batches(context.Background(), f, order, 64) {
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("draw", func(b *testing.B) {
		f, err := OpenFolder(context.Background(), root, images.Plan{Steps: []images.Step{random, flip, toFloat}, Output: float}, FolderOptions{})
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		e := NewEngine(1)
		defer e.Close()
		order := Sequential(min(f.Len(), 64))
		if _, err := f.draw(e, order); err != nil { // reads the headers
			b.Fatal(err)
		}
		for i := 0; b.Loop(); i++ {
			if i%len(order) == 0 {
				if _, err := f.draw(e, order); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// benchmarkDecode is the roof: whole pictures from memory by the same library, and nothing else.
func benchmarkDecode(b *testing.B, root string) {
	paths, err := filepath.Glob(filepath.Join(root, "*", "*.*[gG]"))
	if err != nil || len(paths) == 0 {
		b.Fatal("no photographs: ", err)
	}
	var files [][]byte
	for _, path := range paths[:min(len(paths), 64)] {
		file, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		files = append(files, file)
	}
	d := jpegdecoder.Format.NewDecoder()
	defer d.Close()
	for i := 0; b.Loop(); i++ {
		if _, err := d.Decode(files[i%len(files)], image.Rectangle{}); err != nil {
			b.Fatal(err)
		}
	}
}
