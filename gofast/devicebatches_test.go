package gofast

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/gofast-org/gofast/gofast/device"
	"github.com/gofast-org/gofast/gofast/device/devicetest"
	images "github.com/gofast-org/gofast/gofast/image"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table/gather"
)

// kernels is where this process keeps them: a kernel takes 0.1 s to compile.
var kernels = func() string {
	folder, err := os.MkdirTemp("", "gofast-kernels")
	if err != nil {
		panic(err)
	}
	return folder
}()

func TestMain(m *testing.M) {
	status := m.Run()
	os.RemoveAll(kernels)
	os.Exit(status)
}

func standIn(t testing.TB, mode int) (*devicetest.Driver, *device.Device) {
	t.Helper()
	driver := devicetest.New(t, mode)
	d, err := device.Open(0, device.Options{Library: driver.Library, Compilers: devicetest.Compilers(), Cache: kernels})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return driver, d
}

// wired skips a test of kernels where none can be compiled.
func wired(t testing.TB, l *DeviceLoader, want bool) {
	t.Helper()
	if _, err := l.device.Kernel(1, 5); errors.Is(err, errs.ErrUnsupported) {
		t.Skipf("%v (or let GOFAST_NVRTC name a library)", err)
	}
	if got := l.making != nil; got != want {
		t.Errorf("stored samples cross the bus: %v", got)
	}
}

// sameBatches compares what arrives with what the engine gives; a consumer's stream reads it.
func sameBatches(t *testing.T, driver *devicetest.Driver, l *DeviceLoader, order []int64) {
	t.Helper()
	var want []Batch
	for b, err := range l.loader.Batches(t.Context(), order) {
		if err != nil {
			t.Fatal(err)
		}
		b.Features, b.Labels = bytes.Clone(b.Features), bytes.Clone(b.Labels)
		want = append(want, b)
	}
	stream, n, syncs := driver.Stream(0), 0, driver.Syncs()
	for b, err := range l.Batches(t.Context(), order) {
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Ready(device.Stream(stream)); err != nil {
			t.Fatal(err)
		}
		w := want[n]
		n++
		if got := driver.Read(stream, b.Features, len(w.Features)); b.Rows != w.Rows || !bytes.Equal(got, w.Features) {
			t.Fatalf("batch %d of %d rows has other features", n, b.Rows)
		}
		if got := driver.Read(stream, b.Labels, len(w.Labels)); !bytes.Equal(got, w.Labels) || (b.Labels == 0) != (len(w.Labels) == 0) {
			t.Fatalf("batch %d has other labels", n)
		}
		driver.Touch(stream, b.Features, len(w.Features))
	}
	if n != len(want) {
		t.Errorf("%d batches of %d", n, len(want))
	}
	if syncs != driver.Syncs() {
		t.Errorf("the host waited %d times", driver.Syncs()-syncs)
	}
	driver.AdvanceAll()
}

func TestTablesOnADevice(t *testing.T) {
	mean, std := make([]float32, 12), make([]float32, 12)
	for i := range mean {
		mean[i], std[i] = float32(i)*0.3, 1+float32(i)
	}
	label := TableOptions{Label: []ColumnRef{{Name: "y"}}}
	for i, c := range []struct {
		cell    func(r *rand.Rand) string
		options TableOptions
		made    gather.Transform
		wired   bool
	}{
		{byteCell, label, gather.Transform{Scale: gather.ScaleUnit}, true},
		{byteCell, label, gather.Transform{Mean: mean, Std: std}, true},
		{byteCell, TableOptions{Exclude: label.Label}, gather.Transform{Scale: gather.ScaleAuto, Shape: []int{3, 2, 2}, Mean: mean[:3], Std: std[:3], DType: "float16"}, true},
		{byteCell, label, gather.Transform{DType: "bfloat16", Label: "one_hot", Classes: 300}, true},
		{byteCell, label, gather.Transform{DType: "float64", Scale: gather.ScaleUnit}, true},
		{byteCell, label, gather.Transform{DType: "int64"}, true},
		{byteCell, label, gather.Transform{DType: "uint8"}, false},
		{shortCell, label, gather.Transform{Mean: mean, Std: std, Label: "float64"}, true},
		{shortCell, label, gather.Transform{DType: "float16"}, false},
		{realCell, label, gather.Transform{Mean: mean[:1], Std: std[:1]}, false},
		{realCell, label, gather.Transform{DType: "float64"}, false},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			r := rand.New(rand.NewPCG(8, uint64(i)))
			text := "y,a,b,c,d,e,f,g,h,i,j,k,l\n"
			for row := range 200 {
				text += itoa(row)
				for range 12 {
					text += "," + c.cell(r)
				}
				text += "\n"
			}
			table, err := labelled(t, text, c.options, c.made)
			if err != nil {
				t.Fatal(err)
			}
			engine := NewEngine(2)
			defer engine.Close()
			driver, d := standIn(t, devicetest.OnSight)
			l, err := Loader{engine, table, 13}.To(d)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			sameBatches(t, driver, l, Shuffled(200, 1, 1))
			driver.Mode(devicetest.Late)
			sameBatches(t, driver, l, []int64{5, 5, -1, 0})
			sameBatches(t, driver, l, nil)
			if stats := d.Stats(); stats.PageableBytes != 0 || (stats.Kernels > 0) != (l.making != nil) {
				t.Errorf("%+v", stats)
			}
			wired(t, l, c.wired)
		})
	}
}

func byteCell(r *rand.Rand) string  { return itoa(r.IntN(256)) }
func shortCell(r *rand.Rand) string { return fmt.Sprint(r.IntN(1<<15) - 1<<14) }
func realCell(r *rand.Rand) string  { return fmt.Sprint(r.NormFloat64()) }

func TestPicturesOnADevice(t *testing.T) {
	root := pictureFolder(t, 40)
	resize := images.Step{Op: "random_resized_crop", Size: []int{16, 12}, Scale: []float64{0.08, 1}, Ratio: []float64{0.75, 1.25},
		LogRatio: []float32{-0.28768207, 0.22314355}, Filter: "bilinear"}
	erase := images.Step{Op: "random_erasing", P: 0.7, Scale: []float64{0.02, 0.33}, Ratio: []float64{0.3, 3.3},
		LogRatio: []float32{float32(math.Log(0.3)), float32(math.Log(3.3))}, Value: []float32{0.5, 1, -2}}
	for i, c := range []struct {
		steps []images.Step
		out   images.Output
		wired bool
	}{
		{[]images.Step{resize, {Op: "hflip", P: 0.5}, {Op: "to_float", How: "divide"}}, images.Output{DType: "float32"}, true},
		{[]images.Step{resize, {Op: "to_float", How: "multiply"}, {Op: "normalize", Mean: []float32{0.4, 0.5, 0.6}, Std: []float32{0.2, 0.3, 0.4}}, erase, erase},
			images.Output{DType: "float16", ChannelsLast: true}, true},
		{[]images.Step{resize, {Op: "to_float", How: "divide"}, erase}, images.Output{DType: "bfloat16"}, true},
		{[]images.Step{resize, {Op: "to_float", How: "divide"}, erase, {Op: "hflip", P: 0.5}}, images.Output{DType: "float32"}, false},
		{[]images.Step{resize, {Op: "to_float", How: "divide"}, erase, erase, erase, erase, erase}, images.Output{DType: "float32"}, false},
		{[]images.Step{resize, {Op: "to_uint8"}}, images.Output{DType: "uint8"}, false},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			c.out.Height, c.out.Width, c.out.Channels = 16, 12, 3
			folder, err := OpenFolder(t.Context(), root, images.Plan{Steps: c.steps, Output: c.out}, FolderOptions{Seed: 7})
			if err != nil {
				t.Fatal(err)
			}
			defer folder.Close()
			engine := NewEngine(2)
			defer engine.Close()
			driver, d := standIn(t, devicetest.OnSight)
			l, err := Loader{engine, folder, 7}.To(d)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			for epoch := range uint64(2) {
				folder.SetEpoch(epoch)
				sameBatches(t, driver, l, Shuffled(folder.Len(), 3, epoch))
			}
			wired(t, l, c.wired)
		})
	}
}

// openedLoader is a loader of 8 batches of 100 rows and a last one of 10.
func openedLoader(t *testing.T, mode int) (*devicetest.Driver, *DeviceLoader) {
	t.Helper()
	table := digits(t, 810)
	engine := NewEngine(2)
	t.Cleanup(engine.Close)
	driver, d := standIn(t, mode)
	l, err := Loader{engine, table, 100}.To(d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return driver, l
}

// A consumer that is far behind, or at a random place, finds its batches whole, whatever the device does when.
func TestBuffersWaitForTheirConsumers(t *testing.T) {
	for seed := range uint64(15) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			driver, l := openedLoader(t, devicetest.Random)
			driver.Seed(seed)
			streams := []uintptr{driver.Stream(0), driver.Stream(0), 0}
			var looks []func()
			for turn := range 4 {
				looks = append(looks, consume(t, driver, l, streams[:1+(turn+int(seed))%3], turn%2 == 1))
			}
			defer func() {
				driver.AdvanceAll()
				for _, look := range looks {
					look()
				}
			}()
			got, err := l.first(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			check(t, got, Sequential(100))
		})
	}
}

// consume reads every batch on streams that come to it whenever they do. It may panic in the middle of the loop.
func consume(t *testing.T, driver *devicetest.Driver, l *DeviceLoader, streams []uintptr, panics bool) (look func()) {
	t.Helper()
	var reads []func() []byte
	var rows [][]int64
	func() {
		defer func() { _ = recover() }()
		order := Shuffled(810, 1, uint64(len(streams)))
		for b, err := range l.Batches(t.Context(), order) {
			if err != nil {
				t.Fatal(err)
			}
			for _, stream := range streams {
				if err := errors.Join(b.Ready(device.Stream(stream)), b.Ready(device.Stream(stream))); err != nil {
					t.Fatal(err)
				}
				reads = append(reads, driver.ReadLater(stream, b.Features, b.Rows*64*4))
				rows = append(rows, order[:b.Rows])
			}
			order = order[b.Rows:]
			if panics && len(order) < 500 {
				panic("a bug of the program's")
			}
		}
	}()
	return func() {
		for i, read := range reads {
			values := read()
			for k, row := range rows[i] {
				if got := math.Float32frombits(binary.NativeEndian.Uint32(values[k*64*4:])); got != float32(row%256) {
					t.Errorf("batch %d: row %d begins %v, not %v", i, k, got, row%256)
					break
				}
			}
		}
	}
}

// first copies the first batch out, and lets the iteration end there.
func (l *DeviceLoader) first(ctx context.Context) (Batch, error) {
	for b, err := range l.Batches(ctx, Sequential(100)) {
		if err != nil {
			return Batch{}, err
		}
		return b.CopyOut(ctx)
	}
	return Batch{}, errors.New("no batch")
}

// A program that never waits for the device is held back when all slots are being copied, and goes on then.
func TestTheHostMayBeFarAhead(t *testing.T) {
	driver, l := openedLoader(t, devicetest.Manual)
	stop, stopped := make(chan struct{}), make(chan struct{})
	n := 0
	for b, err := range l.Batches(t.Context(), append(Sequential(810), Sequential(810)...)) {
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Ready(0); err != nil {
			t.Fatal(err)
		}
		if n++; n == 3 {
			if driver.Syncs() != 0 {
				t.Error("the host waited")
			}
			go func() {
				defer close(stopped)
				for {
					select {
					case <-stop:
						return
					default:
						driver.AdvanceAll()
					}
				}
			}()
		}
	}
	close(stop)
	<-stopped
	if n != 17 {
		t.Errorf("%d batches", n)
	}
}

func TestDeviceBatchesEnd(t *testing.T) {
	driver, l := openedLoader(t, devicetest.Random)
	var kept DeviceBatch
	for b, err := range l.Batches(t.Context(), Sequential(810)) {
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range l.Batches(t.Context(), Sequential(1)) {
			if !errors.Is(err, ErrConfig) {
				t.Errorf("two iterations at once: %v", err)
			}
		}
		if kept.Rows > 0 {
			break
		}
		kept = b
	}
	if err := kept.Ready(0); !errors.Is(err, ErrClosed) {
		t.Errorf("a batch of a moment ago: %v", err)
	}
	if err := kept.Wait(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("a batch of a moment ago: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for _, err := range l.Batches(ctx, Sequential(810)) {
		if n++; n == 2 && !errors.Is(err, context.Canceled) || n == 1 && err != nil {
			t.Errorf("%d: %v", n, err)
		}
		cancel()
	}
	if n != 2 {
		t.Errorf("%d turns of a cancelled loop", n)
	}
	n = 0
	for _, err := range l.Batches(t.Context(), append(Sequential(150), 900)) {
		if n++; n == 1 && err != nil || n == 2 && !errors.Is(err, ErrIndex) {
			t.Errorf("%d: %v", n, err)
		}
	}
	driver.AdvanceAll()
	for range 4 { // each call that a send makes is refused
		for _, call := range []string{"cuMemcpyHtoDAsync_v2", "cuEventRecord", "cuEventCreate", "cuLaunchKernel", "cuStreamWaitEvent"} {
			driver.Fail(call, 2, 1)
			for b, err := range l.Batches(t.Context(), Sequential(810)) {
				if err != nil && !errors.Is(err, ErrDevice) {
					t.Errorf("%s: %v", call, err)
				}
				if err == nil {
					_ = b.Ready(0)
				}
			}
		}
	}
	if got, err := l.first(t.Context()); err != nil {
		t.Error(err)
	} else {
		check(t, got, Sequential(100))
	}
	l.Close()
	l.Close()
	for _, err := range l.Batches(t.Context(), Sequential(1)) {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("a closed loader: %v", err)
		}
	}
}

// Where there is no memory, pinned memory or sense, it is said, or done without; nothing is left.
func TestLoadersThatCannotBe(t *testing.T) {
	table := digits(t, 50)
	engine := NewEngine(1)
	defer engine.Close()
	driver, d := standIn(t, devicetest.Random)
	for rows, kind := range map[int]error{0: ErrConfig, 1 << 60: ErrLimit, 1 << 50: ErrLimit} {
		if _, err := (Loader{engine, table, rows}).To(d); !errors.Is(err, kind) {
			t.Errorf("%d rows: %v", rows, err)
		}
	}
	driver.Memory(100<<10, 1<<30)
	if _, err := (Loader{engine, table, 1000}).To(d); !errors.Is(err, ErrLimit) {
		t.Errorf("%v", err)
	}
	driver.Memory(1<<30, 1<<30)
	driver.PinLimit(4096)
	l, err := Loader{engine, table, 20}.To(d)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var got Batch
	for b, err := range l.Batches(t.Context(), Sequential(50)) {
		if err != nil {
			t.Fatal(err)
		}
		if got, err = b.CopyOut(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	check(t, got, []int64{40, 41, 42, 43, 44, 45, 46, 47, 48, 49})
	if s := d.Stats(); s.PinnedBytes != 0 || s.StagedBytes+s.PageableBytes != s.Bytes {
		t.Errorf("pinned beyond the limit: %+v", s)
	}
}
