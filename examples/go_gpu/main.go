// Command go_gpu walks over a table in shuffled batches that arrive on a GPU, from Go
// alone. It needs NVIDIA's driver, and NVRTC (libnvrtc.so) for the kernels; without that,
// finished numbers cross the bus instead of stored ones.
//
//	go run ./examples/go_gpu examples/data/digits.parquet
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/device"
	"github.com/gofast-org/gofast/gofast/table/gather"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Fatal("usage: go_gpu FILE...")
	}
	gpu, err := device.Open(0, device.Options{})
	if errors.Is(err, gofast.ErrDevice) {
		log.Fatalf("there is no GPU here (%v): examples/go_only does the same on the CPU", err)
	} else if err != nil {
		log.Fatal(err)
	}
	defer gpu.Close()
	if err := run(context.Background(), gpu, os.Args[1:]); err != nil {
		log.Print(err)
		gpu.Close()
		os.Exit(1)
	}
}

func run(ctx context.Context, gpu *device.Device, paths []string) error {
	table, err := gofast.OpenTable(ctx, paths,
		gofast.TableOptions{Label: []gofast.ColumnRef{{Name: "label"}}, LabelOptional: true},
		gather.Transform{Scale: gather.ScaleUnit}) // as pixels: divided by 255, on the GPU
	if err != nil {
		return err
	}
	defer table.Close()
	fmt.Printf("%d rows of %d features, stored as %s, for %s\n", table.Len(), table.Table.Width, table.Table.Type, gpu.Info().Name)

	engine := gofast.NewEngine(0)
	defer engine.Close()
	loader, err := gofast.Loader{Engine: engine, Dataset: table, BatchRows: 512}.To(gpu)
	if err != nil {
		return err
	}
	defer loader.Close()

	for epoch := range uint64(3) {
		start, batches := time.Now(), 0
		for b, err := range loader.Batches(ctx, gofast.Shuffled(table.Len(), 0, epoch)) {
			if err != nil {
				return err
			}
			batches++
			// A program with kernels of its own says b.Ready(stream), starts them on that stream
			// with the addresses b.Features and b.Labels, and goes on: nothing waits here, and the
			// batch's memory is left alone until the stream is done with it. This one only waits.
			if err := b.Wait(ctx); err != nil {
				return err
			}
			if batches == 1 {
				there, err := b.CopyOut(ctx) // back to the host, to look at it
				if err != nil {
					return err
				}
				values, err := there.Float32()
				if err != nil {
					return err
				}
				fmt.Printf("epoch %d: the first row begins %.3f\n", epoch, values[:min(6, table.Table.Width)])
			}
		}
		fmt.Printf("epoch %d: %d batches, %v\n", epoch, batches, time.Since(start).Round(time.Microsecond))
	}
	s := gpu.Stats()
	fmt.Printf("%d batches, %.1f MB crossed the bus, %d kernels\n", s.Batches, float64(s.Bytes)/1e6, s.Kernels)
	return nil
}
