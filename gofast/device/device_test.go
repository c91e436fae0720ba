package device

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast/device/devicetest"
	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/numbers"
)

func TestOpen(t *testing.T) {
	driver := devicetest.New(t, devicetest.Late)
	driver.Devices(2)
	driver.Capability(12, 1)
	for _, ordinal := range []int{-1, 2, 99} {
		if _, err := Open(ordinal, Options{Library: driver.Library}); !errors.Is(err, errs.ErrDevice) || !strings.Contains(err.Error(), "the driver shows 2") {
			t.Errorf("device %d: %v", ordinal, err)
		}
	}
	d, err := Open(1, Options{Library: driver.Library})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	info := d.Info()
	if info.Name != "stand-in 1" || info.Ordinal != 1 || info.Capability != "12.1" || info.Driver != "12.4" || info.Stream == 0 {
		t.Errorf("%+v", info)
	}
	driver.Memory(1<<20, 1<<30)
	if free, total, err := d.Memory(); free != 1<<20 || total != 1<<30 || err != nil {
		t.Errorf("%d of %d, %v", free, total, err)
	}
	driver.Fail("cuMemGetInfo_v2", 1, 999)
	if _, _, err := d.Memory(); !errors.Is(err, errs.ErrDevice) || !strings.Contains(err.Error(), "cuMemGetInfo: CUDA_ERROR_UNKNOWN") {
		t.Error(err)
	}
}

// Every call that opening makes is refused once; nothing is left.
func TestOpenIsRefused(t *testing.T) {
	driver := devicetest.New(t, devicetest.Late)
	for _, call := range []string{"cuDeviceGet", "cuDeviceGetAttribute", "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2", "cuStreamCreate"} {
		driver.Fail(call, 1, 2)
		if d, err := Open(0, Options{Library: driver.Library}); !errors.Is(err, errs.ErrDevice) || !strings.Contains(err.Error(), "CUDA_ERROR_OUT_OF_MEMORY") {
			t.Errorf("%s: %v, %v", call, d, err)
		}
	}
}

// A closed device says so, and may be closed again.
func TestClosed(t *testing.T) {
	driver := devicetest.New(t, devicetest.Late)
	d, err := Open(0, Options{Library: driver.Library})
	if err != nil {
		t.Fatal(err)
	}
	m, err := d.Alloc(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.Free(), m.Free()); err != nil {
		t.Fatal(err)
	}
	m, _ = d.Alloc(1)
	mark, err := d.Mark(0)
	if err := errors.Join(err, d.Follow(mark), m.Free()); err != nil {
		t.Fatal(err)
	}
	ring, _ := engine.NewRing(64, 1)
	defer ring.Drop()
	d.Close()
	d.Close()
	slot, _ := ring.Acquire()
	all := map[string]func() error{
		"Alloc":    func() error { _, err := d.Alloc(1); return err },
		"Upload":   func() error { _, _, err := d.Upload(nil); return err },
		"CopyOut":  func() error { return d.CopyOut(make([]byte, 1), 1) },
		"Free":     func() error { return (&Memory{device: d}).Free() },
		"Memory":   func() error { _, _, err := d.Memory(); return err },
		"Kernel":   func() error { _, err := d.Kernel(numbers.Uint8, numbers.Float32); return err },
		"Send":     func() error { _, err := d.Send(Job{}, slot); return err },
		"Receive":  func() error { return d.Receive(1, 0) },
		"Arrived":  func() error { _, err := d.Arrived(1); return err },
		"Wait":     func() error { return d.Wait(t.Context(), 1) },
		"Drain":    d.Drain,
		"Mark":     func() error { _, err := d.Mark(0); return err },
		"Follow":   func() error { return d.Follow(Mark{}) },
		"Pin":      func() error { return d.Pin(ring) },
		"Pin none": func() error { return d.Pin(engine.Ring{}) },
	}
	for name, call := range all {
		if err := call(); !errors.Is(err, errs.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if again, ok := ring.Acquire(); !ok {
		t.Error("a closed device kept the slot")
	} else {
		again.Release()
	}
	if d.Address() != 0 || d.Info() != (Info{}) || d.Stats() != (Stats{}) {
		t.Error("a closed device tells something")
	}
}

func TestAlloc(t *testing.T) {
	driver := devicetest.New(t, devicetest.Late)
	d, err := Open(0, Options{Library: driver.Library})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	driver.Memory(1000, 2000)
	if _, err := d.Alloc(1001); !errors.Is(err, errs.ErrLimit) || !strings.Contains(err.Error(), "make batches smaller") {
		t.Error(err)
	}
	if _, err := d.Alloc(-1); !errors.Is(err, errs.ErrConfig) {
		t.Error(err)
	}
	driver.Fail("cuMemAlloc_v2", 1, 700)
	if _, err := d.Alloc(1); !errors.Is(err, errs.ErrDevice) {
		t.Error(err)
	}
	driver.Fail("cuMemcpyHtoDAsync_v2", 1, 1)
	if _, _, err := d.Upload([]byte("values")); !errors.Is(err, errs.ErrDevice) {
		t.Error(err)
	}
	m, move, err := d.Upload([]byte("values"))
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 6)
	if err := d.CopyOut(got, m.Address); err != nil || string(got) != "values" {
		t.Errorf("%q, %v", got, err)
	}
	if arrived, err := d.Arrived(move); !arrived || err != nil {
		t.Error("copied out, and it has not arrived", err)
	}
	driver.Fail("cuMemcpyDtoHAsync_v2", 1, 1)
	if err := d.CopyOut(got, m.Address); !errors.Is(err, errs.ErrDevice) {
		t.Error(err)
	}
	driver.Fail("cuMemFree_v2", 1, 700)
	if err := (&Memory{Address: m.Address, device: d}).Free(); !errors.Is(err, errs.ErrDevice) {
		t.Error(err)
	}
	if err := m.Free(); err != nil {
		t.Error(err)
	}
}

// Machines whose driver is none: each in a process of its own, since a process loads one driver.
func TestNoDriver(t *testing.T) {
	if library := os.Getenv("GOFAST_TEST_LIBRARY"); library != "" {
		_, err := Open(0, Options{Library: library})
		if !errors.Is(err, errs.ErrDevice) || !strings.Contains(err.Error(), os.Getenv("GOFAST_TEST_SAYS")) {
			t.Errorf("%v", err)
		}
		return
	}
	for library, says := range map[string]string{
		filepath.Join(t.TempDir(), "libcuda.so.1"): "the driver of a GPU is not here",
		"libdl.so.2": "has no cuInit: it is too old",
	} {
		again := exec.Command(os.Args[0], "-test.run", "^TestNoDriver$")
		again.Env = append(os.Environ(), "GOFAST_TEST_LIBRARY="+library, "GOFAST_TEST_SAYS="+says)
		if out, err := again.CombinedOutput(); err != nil {
			t.Errorf("%s: %v %s", library, err, out)
		}
	}
}
