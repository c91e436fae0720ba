package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/measure"
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/report"
	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/device"
)

// gpu is the device to measure.
type gpu struct {
	device  *device.Device
	loaders []*gofast.DeviceLoader
	moves   map[int]*report.Moves // by the number of threads
}

// openGPU opens a device by its name; "": none.
func openGPU(name string) (*gpu, error) {
	if name == "" {
		return nil, nil
	}
	n, err := ordinal(name)
	if err != nil {
		return nil, err
	}
	d, err := device.Open(n, device.Options{})
	return &gpu{device: d, moves: map[int]*report.Moves{}}, err
}

func (g *gpu) close() {
	for _, l := range g.loaders {
		l.Close()
	}
	g.device.Close()
}

// batches are a loader's on the device. Each is waited for there.
func (g *gpu) batches(l gofast.Loader) (measure.Batches, error) {
	there, err := l.To(g.device)
	if err != nil {
		return nil, err
	}
	m := &report.Moves{}
	g.loaders, g.moves[l.Engine.ThreadCount()] = append(g.loaders, there), m
	return func(ctx context.Context, order []int64, each func(rows int)) error {
		before, waited := g.device.Stats(), time.Duration(0)
		for b, err := range there.Batches(ctx, order) {
			if err != nil {
				return err
			}
			since := time.Now()
			if err := b.Wait(ctx); err != nil {
				return err
			}
			waited += time.Since(since)
			each(b.Rows)
		}
		after := g.device.Stats()
		m.Bytes += after.Bytes - before.Bytes
		m.Rate = after.Rate
		m.CopySeconds += after.CopySeconds - before.CopySeconds
		m.KernelSeconds += after.KernelSeconds - before.KernelSeconds
		m.WaitedSeconds += waited.Seconds()
		return nil
	}, nil
}

// forget leaves out what has warmed up a number of threads.
func (g *gpu) forget(threads int) { *g.moves[threads] = report.Moves{} }

// addTo puts the figures into the report.
func (g *gpu) addTo(r *report.Report) {
	for i := range r.Runs {
		m := g.moves[r.Runs[i].Threads]
		if all := m.CopySeconds + m.KernelSeconds; all > 0 {
			m.Overlap = max(0, 1-m.WaitedSeconds/all)
		}
		r.Runs[i].Moves = m
	}
}

// ordinal is the number of a CUDA device.
func ordinal(name string) (int, error) {
	if name == "cuda" {
		return 0, nil
	}
	number, cuda := strings.CutPrefix(name, "cuda:")
	n, err := strconv.ParseUint(number, 10, 16)
	if !cuda || err != nil {
		return 0, errors.New("give cuda, or cuda:0, cuda:1 and so on")
	}
	return int(n), nil
}

// String is the device's name in a report.
func (g *gpu) String() string {
	info := g.device.Info()
	return fmt.Sprintf("cuda:%d (%s)", info.Ordinal, info.Name)
}
