// Package engine fills batches. It has the threads that do the work (crew.h), the tickets that describe the work, and
// the memory that the work fills. It is the only owner of batch memory: rings of slots in C memory, which leave the
// core as DLPack tensors. It also has the shared regions that hold a decoded table. slot.h describes a slot's life.
package engine

/*
#cgo CFLAGS: -O3 -std=gnu11 -Wall -Wextra -Wno-unused-function
#include "slot.h"

static void *as_pointer(uintptr_t address) { return (void *)address; }
static uintptr_t slot_data(gf_slot *slot) { return (uintptr_t)slot->managed.dl_tensor.data; }
static gf_sample_fault *first_fault(gf_slot *slot) { return atomic_load(&slot->faults.first); }
static int32_t slot_status(gf_slot *slot) { return atomic_load_explicit(&slot->status, memory_order_acquire); }
*/
import "C"

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/fault"
)

// Ring is a set of slots of one size. The owner calls Drop once. The memory is
// freed when the last slot that was taken from it is released too.
type Ring struct{ c *C.gf_ring }

// NewRing maps count slots of at least bytes each, 64-byte aligned. Memory is
// committed when it is first written.
func NewRing(bytes int64, count int) (Ring, error) {
	c := C.gf_ring_new(C.int64_t(bytes), C.int32_t(count))
	if c == nil {
		return Ring{}, errs.New(errs.ErrLimit, "buffer", fmt.Sprintf("cannot map %d slots of %d bytes", count, bytes))
	}
	return Ring{c}, nil
}

// Acquire takes a free slot, or returns false when all are taken.
func (r Ring) Acquire() (Slot, bool) {
	c := C.gf_slot_acquire(r.c)
	return Slot{c}, c != nil
}

// Count is the number of slots.
func (r Ring) Count() int { return int(r.c.count) }

// SlotBytes is the size of one slot.
func (r Ring) SlotBytes() int64 { return int64(r.c.slot_bytes) }

// Pointer is the ring as C code knows it.
func (r Ring) Pointer() unsafe.Pointer { return unsafe.Pointer(r.c) }

// Drop gives the ring up.
func (r Ring) Drop() { C.gf_ring_drop(r.c) }

// Slot is the memory of one batch. The engine's threads write it. Once it is ready, it
// is wrapped or read, and it is released exactly once.
type Slot struct{ c *C.gf_slot }

// Status of a slot that was acquired.
type Status int32

// The statuses.
const (
	Pending Status = iota // being filled
	Ready                 // complete
	Failed                // BadIndex says why
)

// Pointer is the slot as C code knows it.
func (s Slot) Pointer() unsafe.Pointer { return unsafe.Pointer(s.c) }

// Address is the slot's place in C memory.
func (s Slot) Address() uintptr { return uintptr(unsafe.Pointer(s.c)) }

// Data is the address of the batch's first byte.
func (s Slot) Data() uintptr { return uintptr(C.slot_data(s.c)) }

// Bytes views n bytes of the batch; valid until Release.
func (s Slot) Bytes(n int64) []byte {
	return unsafe.Slice((*byte)(s.c.managed.dl_tensor.data), n)
}

// Describe sets what the slot will hold: so many samples of the shape and type.
func (s Slot) Describe(rows int64, shape []int64, code, bits int32) {
	C.gf_slot_describe(s.c, C.int64_t(rows), C.int32_t(len(shape)), (*C.int64_t)(unsafe.SliceData(shape)), C.int32_t(code), C.int32_t(bits))
}

// Status is the slot's status now.
func (s Slot) Status() Status { return Status(C.slot_status(s.c)) }

// Fault is a sample of the batch that could not be made.
type Fault struct {
	Position int
	Code     fault.Code
	Offset   int64 // in its file, or -1
	Text     string
}

// Faults are the faults of a Failed slot. There are none if BadIndex says why it failed.
func (s Slot) Faults() []Fault {
	var faults []Fault
	for f := C.first_fault(s.c); f != nil; f = f.next {
		faults = append(faults, Fault{int(f.position), fault.Code(f.fault.code), int64(f.fault.offset), C.GoString(&f.fault.text[0])})
	}
	slices.SortFunc(faults, func(a, b Fault) int { return a.Position - b.Position })
	return faults
}

// BadIndex is the index that made the slot Failed.
func (s Slot) BadIndex() int64 { return int64(s.c.bad_index) }

// Release gives the slot back to its ring.
func (s Slot) Release() { C.gf_slot_release(s.c) }
