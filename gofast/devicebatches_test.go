package gofast

import (
	"bytes"
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
	"github.com/gofast-org/gofast/gofast/numbers"
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
		{byteCell, TableOptions{Exclude: label.Label}, gather.Transform{Scale: gather.ScaleAuto, Shape: []int{3, 2, 2}, Mean: mean[:3], Std: std[:3], DType: numbers.Float16}, true},
		{byteCell, label, gather.Transform{DType: numbers.Bfloat16, Label: gather.LabelOneHot, Classes: 300}, true},
		{byteCell, label, gather.Transform{DType: numbers.Float64, Scale: gather.ScaleUnit}, true},
		{byteCell, label, gather.Transform{DType: numbers.Int64}, true},
		{byteCell, label, gather.Transform{DType: numbers.Uint8}, false},
		{shortCell, label, gather.Transform{Mean: mean, Std: std, Label: gather.LabelFloat64}, true},
		{shortCell, label, gather.Transform{DType: numbers.Float16}, false},
		{realCell, label, gather.Transform{Mean: mean[:1], Std: std[:1]}, false},
		{realCell, label, gather.Transform{DType: numbers.Float64}, false},
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
			sameBatches(t, driver, l, []int64{5, 5, 199, 0})
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
	resize := images.Step{"op": "random_resized_crop", "size": []int{16, 12}, "scale": []float64{0.08, 1}, "ratio": []float64{0.75, 1.25},
		"log_ratio": []float32{-0.28768207, 0.22314355}, "filter": "bilinear"}
	erase := images.Step{"op": "random_erasing", "p": 0.7, "scale": []float64{0.02, 0.33}, "ratio": []float64{0.3, 3.3},
		"log_ratio": []float32{float32(math.Log(0.3)), float32(math.Log(3.3))}, "value": []float32{0.5, 1, -2}}
	for i, c := range []struct {
		steps []images.Step
		out   images.Output
		wired bool
	}{
		{[]images.Step{resize, {"op": "hflip", "p": 0.5}, {"op": "to_float", "how": "divide"}}, images.Output{DType: numbers.Float32}, true},
		{[]images.Step{resize, {"op": "to_float", "how": "multiply"}, {"op": "normalize", "mean": []float32{0.4, 0.5, 0.6}, "std": []float32{0.2, 0.3, 0.4}}, erase, erase},
			images.Output{DType: numbers.Float16, ChannelsLast: true}, true},
		{[]images.Step{resize, {"op": "to_float", "how": "divide"}, erase}, images.Output{DType: numbers.Bfloat16}, true},
		{[]images.Step{resize, {"op": "to_float", "how": "divide"}, erase, {"op": "hflip", "p": 0.5}}, images.Output{DType: numbers.Float32}, false},
		{[]images.Step{resize, {"op": "to_float", "how": "divide"}, erase, erase, erase, erase, erase}, images.Output{DType: numbers.Float32}, false},
		{[]images.Step{resize, {"op": "to_uint8"}}, images.Output{DType: numbers.Uint8}, false},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			c.out.Height, c.out.Width, c.out.Channels = 16, 12, 3
			folder := openFolder(t, root, images.Plan{Steps: c.steps, Output: c.out}, FolderOptions{Seed: 7})
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
			rows := 0 // batches in flight come first, then the error of the one behind them
			for b, err := range l.Batches(t.Context(), append(Sequential(14), 40)) {
				if rows += b.Rows; (err != nil) != (rows == 14 && b.Rows == 0) || err != nil && !errors.Is(err, ErrIndex) {
					t.Errorf("%d rows, then %v", rows, err)
				}
			}
			driver.AdvanceAll()
			wired(t, l, c.wired)
		})
	}
}
