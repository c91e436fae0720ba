package device

/*
#include "device.h"

static int allocate(gf_device *d, size_t bytes, gf_cu_address *address, gf_device_fault *fault) {
	int code = gf_device_enter(d, fault);
	if (code) return code;
	code = gf_device_said(d, d->driver->memory_alloc(address, bytes), "cuMemAlloc", fault);
	gf_device_leave(d);
	return code;
}
static int release(gf_device *d, gf_cu_address address, gf_device_fault *fault) {
	int code = gf_device_enter(d, fault);
	if (code) return code;
	code = gf_device_said(d, d->driver->memory_free(address), "cuMemFree", fault);
	gf_device_leave(d);
	return code;
}
*/
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// Memory is memory on a device. Whoever allocated it frees it once, when nothing that uses it is under way, and before the
// device is closed.
type Memory struct {
	Address uint64
	Bytes   int64

	device *Device
}

const outOfMemory = 2 // CUDA_ERROR_OUT_OF_MEMORY

// Alloc gives memory of at least one byte, at an address that 256 divides. ErrLimit where the device has no more.
func (d *Device) Alloc(bytes int64) (*Memory, error) {
	c, err := d.open()
	if err != nil {
		return nil, err
	}
	if bytes < 0 {
		return nil, errs.New(errs.ErrConfig, "device", fmt.Sprintf("%d bytes of memory", bytes))
	}
	var fault C.gf_device_fault
	m := &Memory{Bytes: bytes, device: d}
	switch C.allocate(c, C.size_t(max(bytes, 1)), (*C.gf_cu_address)(&m.Address), &fault) {
	case 0:
		return m, nil
	case outOfMemory:
		return nil, errs.New(errs.ErrLimit, "device", fmt.Sprintf("no memory for %s: make batches smaller, or free what is not needed: %s", errs.Bytes(int64(bytes)), C.GoString(&fault.text[0])))
	default:
		return nil, refused(&fault)
	}
}

// Upload allocates memory and starts to copy values there. What gofast's stream does later finds them; another stream
// receives the move first.
func (d *Device) Upload(values []byte) (*Memory, Move, error) {
	m, err := d.Alloc(int64(len(values)))
	if err != nil || len(values) == 0 {
		return m, 0, err
	}
	// Memory that is not pinned is taken at the call.
	host := C.CBytes(values)
	defer C.free(host)
	move, err := d.Send(Job{Pieces: []Piece{{Host: uintptr(host), To: m.Address, Bytes: m.Bytes}}}, engine.Slot{})
	if err != nil {
		_ = m.Free() // the first error says more
		return nil, 0, err
	}
	return m, move, nil
}

// Free gives the memory back. It may be called again.
func (m *Memory) Free() error {
	if m == nil || m.device == nil {
		return nil
	}
	return m.device.call(func(c *C.gf_device, fault *C.gf_device_fault) C.int {
		m.device = nil
		return C.release(c, C.gf_cu_address(m.Address), fault)
	})
}

// CopyOut copies bytes of the device's memory to the host, behind all that was sent, and waits for that. It is for tests
// and small programs: a loop that waits for every batch has nothing under way.
func (d *Device) CopyOut(to []byte, from uint64) error {
	return d.call(func(c *C.gf_device, fault *C.gf_device_fault) C.int {
		if len(to) == 0 {
			return 0
		}
		return C.gf_device_copy_out(c, unsafe.Pointer(unsafe.SliceData(to)), C.uint64_t(from), C.int64_t(len(to)), fault)
	})
}
