package gofast_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/image"
	"github.com/gofast-org/gofast/gofast/numbers"
	"github.com/gofast-org/gofast/gofast/table/gather"
)

// A table is decoded once. Each epoch then walks over it in an order of its own.
func ExampleOpenTable() {
	ctx := context.Background()
	digits, err := gofast.OpenTable(ctx, []string{"../examples/data/digits.parquet"},
		gofast.TableOptions{Label: []gofast.ColumnRef{{Name: "label"}}},
		gather.Transform{Scale: gather.ScaleUnit}) // pixels: divided by 255
	if err != nil {
		log.Fatal(err)
	}
	defer digits.Close()
	engine := gofast.NewEngine(0) // a thread for each core
	defer engine.Close()

	rows, most := 0, float32(0)
	for batch, err := range engine.Batches(ctx, digits, gofast.Shuffled(digits.Len(), 7, 0), 512) {
		if err != nil {
			log.Fatal(err)
		}
		features, err := batch.Float32() // the batch's memory: it is used again for the next one
		if err != nil {
			log.Fatal(err)
		}
		rows += len(features) / 784
		for _, x := range features {
			most = max(most, x)
		}
	}
	fmt.Println(digits.Table.Width, "features stored as", digits.Table.Type)
	fmt.Println(rows, "rows, at most", most)
	// Output:
	// 784 features stored as uint8
	// 3000 rows, at most 1
}

// A table need not be a file: a response, an upload, an embedded file.
func ExampleReadTable() {
	table, err := gofast.ReadTable(context.Background(), strings.NewReader("height,width\n1,2\n3,4\n"), gofast.TableOptions{}, gather.Transform{})
	if err != nil {
		log.Fatal(err)
	}
	defer table.Close()
	fmt.Println(table.Len(), "rows of", table.Table.Features)
	// Output: 2 rows of [height width]
}

// Every error has a kind, to be asked for by errors.Is, and says where it came from.
func ExampleError() {
	folder := temporary()
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "prices.csv")
	write(path, "a,b\n1,2\n3,four\n")

	_, err := gofast.OpenTable(context.Background(), []string{path}, gofast.TableOptions{}, gather.Transform{})
	var where *gofast.Error
	fmt.Println(errors.Is(err, gofast.ErrValue), errors.As(err, &where))
	fmt.Println(filepath.Base(where.Path), "line", where.Line, "column", where.Column)
	// Output:
	// true true
	// prices.csv line 3 column b
}

// A folder has a sub-folder for each class. Pictures are read when a batch needs them.
func ExampleOpenFolder() {
	folder := temporary()
	defer os.RemoveAll(folder)
	write(filepath.Join(folder, "dark", "0.ppm"), "P6 2 2 255\n"+string(make([]byte, 12)))
	write(filepath.Join(folder, "light", "0.ppm"), "P6 2 2 255\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")

	ctx := context.Background()
	pictures, err := gofast.OpenFolder(ctx, folder, smallPlan, gofast.FolderOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer pictures.Close()
	engine := gofast.NewEngine(1)
	defer engine.Close()
	fmt.Println(pictures.Classes)
	for batch, err := range engine.Batches(ctx, pictures, gofast.Sequential(pictures.Len()), 2) {
		if err != nil {
			log.Fatal(err)
		}
		values, err := batch.Float32() // [2, 3, 4, 4]
		if err != nil {
			log.Fatal(err)
		}
		labels, err := batch.Int64Labels()
		fmt.Println(len(values), values[0], values[3*4*4], labels, err)
	}
	// Output:
	// [dark light]
	// 96 0 1 [0 1] <nil>
}

// A Loader is an engine, a dataset and the size of batches. Loader.To sends them to a GPU.
func ExampleLoader() {
	ctx := context.Background()
	digits, err := gofast.OpenTable(ctx, []string{"../examples/data/digits.parquet"},
		gofast.TableOptions{Label: []gofast.ColumnRef{{Name: "label"}}}, gather.Transform{})
	if err != nil {
		log.Fatal(err)
	}
	defer digits.Close()
	engine := gofast.NewEngine(0)
	defer engine.Close()
	loader := gofast.Loader{Engine: engine, Dataset: digits, BatchRows: 1000}
	for batch, err := range loader.Batches(ctx, gofast.Sequential(digits.Len())) {
		if err != nil {
			log.Fatal(err)
		}
		labels, err := batch.Int64Labels()
		fmt.Println(len(labels), err)
	}
	// Output:
	// 1000 <nil>
	// 1000 <nil>
	// 1000 <nil>
}

// A table in another format, complete or not there at all.
func ExampleConvertTable() {
	folder := temporary()
	defer os.RemoveAll(folder)
	csv, npz := filepath.Join(folder, "t.csv"), filepath.Join(folder, "t.npz")
	write(csv, "a,b\n1,2\n3,4\n")

	ctx := context.Background()
	if err := gofast.ConvertTable(ctx, []string{csv}, gofast.TableOptions{}, npz); err != nil {
		log.Fatal(err)
	}
	again, err := gofast.OpenTable(ctx, []string{npz}, gofast.TableOptions{}, gather.Transform{})
	if err != nil {
		log.Fatal(err)
	}
	defer again.Close()
	fmt.Println(again.Len(), "rows of", again.Table.Width)
	// Output: 2 rows of 2
}

// The same seed and epoch give the same order.
func ExampleShuffled() {
	first, again, next := gofast.Shuffled(1000, 7, 0), gofast.Shuffled(1000, 7, 0), gofast.Shuffled(1000, 7, 1)
	fmt.Println(first[0] == again[0] && first[999] == again[999], first[0] == next[0] && first[1] == next[1])
	// Output: true false
}

// smallPlan is torchvision's Resize((4, 4)), ToTensor().
var smallPlan = image.Plan{
	Steps: []image.Step{
		{"op": "resize", "size": []int{4, 4}, "filter": "bilinear"},
		{"op": "to_float", "how": "divide"},
	},
	Output: image.Output{DType: numbers.Float32, Height: 4, Width: 4, Channels: 3},
}

func temporary() string {
	folder, err := os.MkdirTemp("", "gofast")
	if err != nil {
		log.Fatal(err)
	}
	return folder
}

func write(path, text string) {
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		log.Fatal(err)
	}
}
