// Command go_only reads a table and walks over it in shuffled batches, from Go
// alone: the core knows nothing of Python.
//
//	go run ./examples/go_only examples/data/digits.parquet
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/table/gather"
)

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: go_only FILE...")
	}
	ctx := context.Background()
	start := time.Now()
	table, err := gofast.OpenTable(ctx, os.Args[1:],
		gofast.TableOptions{Label: []gofast.ColumnRef{{Name: "label"}}, LabelOptional: true},
		gather.Transform{Scale: gather.ScaleUnit}) // as pixels: divided by 255
	if err != nil {
		log.Fatal(err)
	}
	defer table.Close()
	fmt.Printf("%d rows of %d features, stored as %s, opened in %v\n", table.Len(), table.Table.Width, table.Table.Type, time.Since(start).Round(time.Microsecond))

	engine := gofast.NewEngine(0)
	defer engine.Close()
	for epoch := range uint64(3) {
		start, batches, sum := time.Now(), 0, 0.0
		order := gofast.Shuffled(table.Len(), 0, epoch)
		for b, err := range engine.Batches(ctx, table, order, 512) {
			if err != nil {
				log.Fatal(err)
			}
			batches++
			features, err := b.Float32()
			if err != nil {
				log.Fatal(err)
			}
			for _, v := range features {
				sum += float64(v)
			}
		}
		mean := sum / float64(table.Len()) / float64(table.Table.Width)
		fmt.Printf("epoch %d: %d batches, mean feature %.4f, %v\n", epoch, batches, mean, time.Since(start).Round(time.Microsecond))
	}
}
