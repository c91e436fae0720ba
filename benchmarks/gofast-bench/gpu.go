package main

import (
	"context"
	"fmt"
	"time"

	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/device"
)

const overlapMeans = `copies and kernels: of all epochs together, of batches of 1 MiB and more
not waited for: the overlap, which is the share of that time in which the loop, waiting for each batch, did not wait; the
rest of it lay under the filling and the copies of other batches`

// moves is what a device says of one number of threads.
type moves struct {
	Bytes         int64   `json:"bytes"`
	Rate          float64 `json:"bytes_per_second"` // of the copies themselves
	CopySeconds   float64 `json:"copy_seconds"`
	KernelSeconds float64 `json:"kernel_seconds"`
	WaitedSeconds float64 `json:"waited_seconds"` // by the loop, for batches that had not arrived
	Overlap       float64 `json:"overlap"`        // see overlapMeans
}

// add counts what an epoch did.
func (m *moves) add(before, after device.Stats, waited time.Duration) {
	m.Bytes += after.Bytes - before.Bytes
	m.Rate = after.Rate
	m.CopySeconds += after.CopySeconds - before.CopySeconds
	m.KernelSeconds += after.KernelSeconds - before.KernelSeconds
	m.WaitedSeconds += waited.Seconds()
}

func (m *moves) summarise() {
	if m == nil {
		return
	}
	if all := m.CopySeconds + m.KernelSeconds; all > 0 {
		m.Overlap = max(0, 1-m.WaitedSeconds/all)
	}
}

// gpu is the device to measure, or none.
type gpu struct {
	name    string
	device  *device.Device
	loaders []*gofast.DeviceLoader
}

func openGPU(ordinal int) (*gpu, error) {
	if ordinal < 0 {
		return &gpu{}, nil
	}
	d, err := device.Open(ordinal, device.Options{})
	if err != nil {
		return nil, err
	}
	return &gpu{name: fmt.Sprintf("cuda:%d (%s)", ordinal, d.Info().Name), device: d}, nil
}

func (g *gpu) closeLoaders() {
	for _, l := range g.loaders {
		l.Close()
	}
}

func (g *gpu) closeDevice() {
	if g.device != nil {
		g.device.Close()
	}
}

// epochs is what one epoch of a loader is: a loop over its batches, which on a device waits for each to arrive.
func (g *gpu) epochs(l gofast.Loader) (func(context.Context, []int64, *run) (int64, error), error) {
	if g.device == nil {
		return func(ctx context.Context, order []int64, _ *run) (rows int64, err error) {
			for b, err := range l.Batches(ctx, order) {
				if err != nil {
					return 0, err
				}
				rows += int64(b.Rows)
			}
			return rows, nil
		}, nil
	}
	there, err := l.To(g.device)
	if err != nil {
		return nil, err
	}
	g.loaders = append(g.loaders, there)
	return func(ctx context.Context, order []int64, r *run) (rows int64, err error) {
		before, waited := g.device.Stats(), time.Duration(0)
		for b, err := range there.Batches(ctx, order) {
			if err != nil {
				return 0, err
			}
			since := time.Now()
			if err := b.Wait(ctx); err != nil {
				return 0, err
			}
			waited += time.Since(since)
			rows += int64(b.Rows)
		}
		if r.Moves == nil {
			r.Moves = &moves{}
		}
		r.Moves.add(before, g.device.Stats(), waited)
		return rows, nil
	}, nil
}
