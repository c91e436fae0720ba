// Package device moves batches to a GPU. The CUDA driver is found at run time; nothing here needs CUDA to be built, and a
// machine without a driver gets an error that says so. device.h says how a batch moves, kernels.cu what is made of it there.
package device

/*
#cgo CFLAGS: -O3 -std=gnu11 -Wall -Wextra -Wno-unused-function
#cgo LDFLAGS: -ldl -lpthread
#include <stdlib.h>
#include "device.h"

static int memory_info(gf_device *d, size_t *left, size_t *total, gf_device_fault *fault) {
	int code = gf_device_enter(d, fault);
	if (code) return code;
	code = gf_device_said(d, d->driver->memory_info(left, total), "cuMemGetInfo", fault);
	gf_device_leave(d);
	return code;
}
static void read_counts(gf_device *d, int64_t out[9]) {
	const _Atomic int64_t *all[] = {&d->counts.moves, &d->counts.bytes, &d->counts.staged_bytes, &d->counts.pageable_bytes,
		&d->counts.pinned_bytes, &d->counts.kernels, &d->counts.timed_bytes, &d->counts.timed_nanoseconds, &d->counts.kernel_nanoseconds};
	for (int i = 0; i < 9; i++) out[i] = atomic_load_explicit(all[i], memory_order_relaxed);
}
static int device_name(gf_device *d, char *name, int bytes) { return d->driver->device_name(name, bytes, d->handle); }
static int device_count(const gf_driver *driver, int *count) { return driver->device_count(count); }
*/
import "C"

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	_ "github.com/gofast-org/gofast/gofast/engine" // for its headers
	"github.com/gofast-org/gofast/gofast/internal/errs"
	_ "github.com/gofast-org/gofast/gofast/internal/fault" // likewise
)

// Options say where what a device needs is found. The zero value is right for programs.
type Options struct {
	Library   string   `json:"library"`   // the driver; "" is libcuda.so.1
	Compilers []string `json:"compilers"` // libraries of NVRTC, tried in this order before the system's
	Cache     string   `json:"cache"`     // the folder for compiled kernels; "" is gofast/kernels in the user's cache
}

// Device is a GPU with gofast's stream on it. Any goroutine may use it. Its context is the primary one, as torch's and the
// CUDA runtime's are.
type Device struct {
	c       atomic.Pointer[C.gf_device] // nil: closed
	options Options

	lock    sync.Mutex
	kernels map[pair]kernel
}

// driver loads the driver, once a process.
var driver struct {
	sync.Mutex
	c *C.gf_driver
}

func load(library string) (*C.gf_driver, error) {
	driver.Lock()
	defer driver.Unlock()
	if driver.c != nil {
		return driver.c, nil
	}
	if library == "" {
		library = "libcuda.so.1"
	}
	name := C.CString(library)
	defer C.free(unsafe.Pointer(name))
	var text [256]C.char
	c := C.gf_driver_load(name, &text[0], C.size_t(len(text)))
	if c == nil {
		return nil, errs.New(errs.ErrDevice, "device", C.GoString(&text[0])+": install NVIDIA's driver, or stay on the CPU")
	}
	driver.c = c
	return c, nil
}

// Open opens the GPU of an ordinal, as CUDA_VISIBLE_DEVICES leaves them. Close it when no batch of it is under way.
func Open(ordinal int, options Options) (*Device, error) {
	driver, err := load(options.Library)
	if err != nil {
		return nil, err
	}
	var count C.int
	if C.device_count(driver, &count) == 0 && (ordinal < 0 || ordinal >= int(count)) {
		return nil, errs.New(errs.ErrDevice, "device", fmt.Sprintf("there is no device %d: the driver shows %d (see CUDA_VISIBLE_DEVICES)", ordinal, count))
	}
	var fault C.gf_device_fault
	c := C.gf_device_open(driver, C.int(ordinal), &fault)
	if c == nil {
		return nil, refused(&fault)
	}
	d := &Device{options: options, kernels: map[pair]kernel{}}
	d.c.Store(c)
	return d, nil
}

// refused is the error of a call that the driver refused; its text has the call's name.
func refused(fault *C.gf_device_fault) error {
	return errs.New(errs.ErrDevice, "device", C.GoString(&fault.text[0]))
}

// open is the device in C memory, unless it was closed.
func (d *Device) open() (*C.gf_device, error) {
	if c := d.c.Load(); c != nil {
		return c, nil
	}
	return nil, errs.New(errs.ErrClosed, "device", "the device was closed")
}

// call calls into C, unless the device was closed.
func (d *Device) call(do func(*C.gf_device, *C.gf_device_fault) C.int) error {
	_, err := ask(d, func(c *C.gf_device, fault *C.gf_device_fault) (struct{}, bool) { return struct{}{}, do(c, fault) == 0 })
	return err
}

// ask is call for what answers, or says that the driver refused it.
func ask[T any](d *Device, do func(*C.gf_device, *C.gf_device_fault) (T, bool)) (answer T, err error) {
	c, err := d.open()
	if err != nil {
		return answer, err
	}
	var fault C.gf_device_fault
	answer, ok := do(c, &fault)
	if !ok {
		return answer, refused(&fault)
	}
	return answer, nil
}

// Close waits for what is under way, and gives all back. Nobody else may be using the device. It may be called again.
func (d *Device) Close() {
	d.lock.Lock()
	defer d.lock.Unlock()
	c := d.c.Swap(nil)
	if c == nil {
		return
	}
	var fault C.gf_device_fault
	C.gf_device_drain(c, &fault) // a kernel's code must not go before it; a device that refuses does nothing any more
	for _, k := range d.kernels {
		k.unload(c)
	}
	d.kernels = nil
	C.gf_device_close(c)
}

// MakingBytes is the size of a gf_making.
const MakingBytes = C.sizeof_gf_making

// Address is the device's place in C memory; 0 when it is closed.
func (d *Device) Address() uintptr { return uintptr(unsafe.Pointer(d.c.Load())) }

// Info says which device it is.
type Info struct {
	Name       string `json:"name"`
	Ordinal    int    `json:"ordinal"`
	Capability string `json:"capability"` // of its architecture: "9.0"
	Driver     string `json:"driver"`     // the newest CUDA that the driver knows: "13.0"
	Stream     uint64 `json:"stream"`     // the handle of gofast's stream
}

// Info says which device it is; nothing of a closed one.
func (d *Device) Info() Info {
	c, err := d.open()
	if err != nil {
		return Info{}
	}
	var name [128]C.char
	C.device_name(c, &name[0], C.int(len(name)))
	version := int(c.driver.version)
	return Info{
		Name: C.GoString(&name[0]), Ordinal: int(c.ordinal),
		Capability: fmt.Sprintf("%d.%d", c.capability/10, c.capability%10),
		Driver:     fmt.Sprintf("%d.%d", version/1000, version%1000/10),
		Stream:     uint64(uintptr(unsafe.Pointer(c.stream))),
	}
}

// Memory is what is free on the device, and what there is.
func (d *Device) Memory() (free, total int64, err error) {
	var left, all C.size_t
	err = d.call(func(c *C.gf_device, fault *C.gf_device_fault) C.int { return C.memory_info(c, &left, &all, fault) })
	return int64(left), int64(all), err
}

// Stats are a device's counters since it was opened.
type Stats struct {
	Batches       int64   `json:"batches"`        // that were moved
	Bytes         int64   `json:"bytes"`          // that were copied to the device
	StagedBytes   int64   `json:"staged_bytes"`   // of these, what went through the pinned staging memory
	PageableBytes int64   `json:"pageable_bytes"` // and what the driver had to take from memory that is not pinned
	PinnedBytes   int64   `json:"pinned_bytes"`   // of batch memory that is pinned now
	Kernels       int64   `json:"kernels"`        // that were started
	Rate          float64 `json:"rate"`           // bytes a second, of copies of 1 MiB and more of pinned memory; 0 without any
	CopySeconds   float64 `json:"copy_seconds"`   // of these copies
	KernelSeconds float64 `json:"kernel_seconds"` // of the kernels behind them
}

// Stats are the counters now; none of a closed device.
func (d *Device) Stats() Stats {
	c, err := d.open()
	if err != nil {
		return Stats{}
	}
	var n [9]C.int64_t
	C.read_counts(c, &n[0])
	s := Stats{Batches: int64(n[0]), Bytes: int64(n[1]), StagedBytes: int64(n[2]), PageableBytes: int64(n[3]), PinnedBytes: int64(n[4]), Kernels: int64(n[5]),
		CopySeconds: float64(n[7]) / 1e9, KernelSeconds: float64(n[8]) / 1e9}
	if n[7] > 0 {
		s.Rate = float64(n[6]) / float64(n[7]) * 1e9
	}
	return s
}
