package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/measure"
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/report"
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
	if all := m.CopySeconds + m.KernelSeconds; all > 0 {
		m.Overlap = max(0, 1-m.WaitedSeconds/all)
	}
}

// gpu is the device to measure, or none.
type gpu struct {
	name    string
	device  *device.Device
	loaders []*gofast.DeviceLoader
	figures []*moves // of each loader
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

// batches are a loader's on the device. Each is waited for there.
func (g *gpu) batches(l gofast.Loader) (measure.Batches, error) {
	there, err := l.To(g.device)
	if err != nil {
		return nil, err
	}
	figures, epochs := &moves{}, 0
	g.loaders, g.figures = append(g.loaders, there), append(g.figures, figures)
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
		if epochs++; epochs > 1 { // the first warms up
			figures.add(before, g.device.Stats(), waited)
		}
		return nil
	}, nil
}

// addTo puts the figures into the report, whose runs are in the order of the loaders.
func (g *gpu) addTo(r *report.Report) {
	for i, m := range g.figures {
		m.summarise()
		r.Runs[i].Moves = m
	}
}

// writeMoves is the table of what went to a device.
func writeMoves(w io.Writer, r *report.Report) error {
	if r.Device == "" {
		return nil
	}
	fmt.Fprintf(w, "\non %s:\n", r.Device)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "threads\tMB to the device\tcopy rate GB/s\tcopies ms\tkernels ms\tnot waited for\t")
	for _, run := range r.Runs {
		m, ok := run.Moves.(*moves)
		if !ok || m.CopySeconds == 0 { // smaller ones are not timed
			fmt.Fprintf(t, "%d\t-\t-\t-\t-\t-\t\n", run.Threads)
			continue
		}
		fmt.Fprintf(t, "%d\t%.1f\t%.2f\t%.2f\t%.2f\t%.0f %%\t\n", run.Threads, float64(m.Bytes)/1e6, m.Rate/1e9, m.CopySeconds*1e3, m.KernelSeconds*1e3, 100*m.Overlap)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, overlapMeans)
	return err
}

// ordinal is the number of a CUDA device; -1 for "", which is none.
func ordinal(name string) (int, error) {
	switch name {
	case "":
		return -1, nil
	case "cuda":
		return 0, nil
	}
	number, cuda := strings.CutPrefix(name, "cuda:")
	n, err := strconv.ParseUint(number, 10, 16)
	if !cuda || err != nil {
		return 0, errors.New("give cuda, or cuda:0, cuda:1 and so on")
	}
	return int(n), nil
}
