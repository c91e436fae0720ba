package gofast

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/gofast-org/gofast/gofast/device"
	"github.com/gofast-org/gofast/gofast/device/devicetest"
)

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
			driver.Heal() // events are used again: a second one may not have been made
		}
	}
	if got, err := l.first(t.Context()); err != nil {
		t.Error(err)
	} else {
		check(t, got, Sequential(100))
	}
	n = 0
	for b, err := range l.Batches(t.Context(), Sequential(810)) { // Close in the middle waits for the end
		if n++; err != nil || b.Ready(0) != nil {
			t.Errorf("batch %d of a loader that was closed: %v", n, err)
		}
		l.Close()
	}
	if n != 9 || l.buffers != nil {
		t.Errorf("%d batches of a loader that was closed", n)
	}
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
