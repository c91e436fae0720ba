// Package enginetest is what the tests of the engine need of C, which a _test.go file cannot have: a view whose samples
// are known, and threads that call a crew.
package enginetest

/*
#cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -Wno-unused-function
#include "schedule.h"

static void *as_pointer(uintptr_t address) { return (void *)address; }
static gf_fill_fn fill(void) { return gft_fill; }
// Memory that processes share, as that of torch's workers.
static gf_ring *shared_ring(int64_t bytes, int32_t count) {
	size_t size = (size_t)(4096 + bytes * count);
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return map == MAP_FAILED ? NULL : gf_ring_over(map, size, 4096, bytes, count, 1);
}
*/
import "C"

import (
	"errors"
	"time"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/engine"
	_ "github.com/gofast-org/gofast/gofast/internal/fault"
	_ "github.com/gofast-org/gofast/gofast/internal/meter"
	"github.com/gofast-org/gofast/gofast/numbers"
)

// Known is a view whose samples are known: sample i is eight times i, and so is its label.
type Known struct {
	engine.View
	program *C.gft_program
}

// NewKnown makes one of count samples, each of which takes so long, in jobs of jobRows.
func NewKnown(count int64, each time.Duration, jobRows int64) (Known, error) {
	program := (*C.gft_program)(C.calloc(1, C.sizeof_gft_program))
	program.nanoseconds = C.int64_t(each)
	view, err := engine.NewView(uintptr(unsafe.Pointer(program)), count, engine.Sample{Type: numbers.Int64, Shape: []int{8},
		LabelBytes: 8, Fill: unsafe.Pointer(C.fill()), JobRows: jobRows})
	return Known{view, program}, err
}

// Free frees the view and its program.
func (k Known) Free() {
	k.View.Free()
	C.free(unsafe.Pointer(k.program))
}

// MostAtWork is the number of threads that made samples at the same time.
func (k Known) MostAtWork() int { return int(k.program.most_at_work) }

// Call makes a caller's operations on this thread. It returns how many tickets the engine took.
func Call(e *engine.Engine, view engine.View, ring engine.Ring, seed uint64, operations int, mayStop bool) (int, error) {
	c := C.gft_caller{crew: (*C.gf_crew)(C.as_pointer(C.uintptr_t(e.Address()))), view: (*C.gf_view)(C.as_pointer(C.uintptr_t(view.Address()))),
		ring: (*C.gf_ring)(ring.Pointer()), seed: C.uint64_t(seed), operations: C.int64_t(operations)}
	if mayStop {
		c.may_stop = 1
	}
	C.gft_call(&c)
	if c.wrong[0] != 0 {
		return 0, errors.New(C.GoString(&c.wrong[0]))
	}
	return int(c.finished), nil
}

// MostRows is the rows of a batch at most, and SlotBytes the size of a slot for them.
const (
	MostRows  = C.GFT_MOST_ROWS
	SlotBytes = MostRows * 64
)

// Fork forks with a shared ring's slot held: 0 unless the child takes that slot.
func Fork() int {
	ring := C.shared_ring(4096, 2)
	held := C.gf_slot_acquire(ring)
	C.gf_slot_describe(held, 1, 0, nil, 0, 64)
	status := int(C.gft_fork(ring, held))
	if C.gf_slot_acquire(ring) == held {
		status = -1 // free again, and the parent holds it
	}
	return status
}

// Memory is how many bytes malloc has handed out; 0 under a sanitizer.
func Memory() int64 { return int64(C.gft_memory()) }
