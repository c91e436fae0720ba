package device

/*
#include <stdlib.h>
#include "device.h"
*/
import "C"

import (
	"context"
	"time"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// Stream is a CUstream of the program's, or a cudaStream_t. 0 is CUDA's default stream, as it is for CUDA.
type Stream uintptr

// Move is the number of a job that was started.
type Move int64

// Mark is a place on a stream.
type Mark struct{ c C.gf_cu_event }

// Piece is a part of what is copied.
type Piece struct {
	Host   uintptr // 0: the slot's memory
	To     uint64  // on the device
	Bytes  int64
	Pinned bool // the host's memory is pinned, and stays until the move is done; a slot knows that by itself
}

// Job is what one Send does: copies, then a kernel.
type Job struct {
	Pieces []Piece
	Kernel uintptr // of Device.Kernel, or 0
	Making Making
}

// Send starts a job and returns. The slot, or none, belongs to the move from then on, whatever happens.
func (d *Device) Send(job Job, slot engine.Slot) (Move, error) {
	c, err := d.open()
	if err != nil {
		if slot != (engine.Slot{}) {
			slot.Release()
		}
		return 0, err
	}
	// In C memory, as all whose address C reads as a number.
	n := len(job.Pieces)
	block := C.calloc(1, C.sizeof_gf_job+C.size_t(n)*C.sizeof_gf_piece+C.sizeof_gf_making)
	defer C.free(block)
	made := (*C.gf_job)(block)
	pieces := unsafe.Slice((*C.gf_piece)(unsafe.Add(block, C.sizeof_gf_job)), n)
	making := (*Making)(unsafe.Add(block, C.sizeof_gf_job+n*C.sizeof_gf_piece))
	made.function, made.making, made.n = C.uint64_t(job.Kernel), C.uint64_t(uintptr(unsafe.Pointer(making))), C.int64_t(n)
	*making = job.Making
	for i, p := range job.Pieces {
		pieces[i] = C.gf_piece{host: C.uint64_t(p.Host), device: C.uint64_t(p.To), bytes: C.int64_t(p.Bytes)}
		if p.Pinned {
			pieces[i].pinned = 1
		}
	}
	var fault C.gf_device_fault
	number := C.gf_device_send(c, made, (*C.gf_slot)(slot.Pointer()), &fault)
	if number == 0 {
		return 0, refused(&fault)
	}
	return Move(number), nil
}

// Receive lets what is put on a stream from now on wait for a move. No thread waits.
func (d *Device) Receive(move Move, stream Stream) error {
	return d.call(func(c *C.gf_device, fault *C.gf_device_fault) C.int {
		return C.gf_device_receive(c, C.int64_t(move), C.uint64_t(stream), fault)
	})
}

// Arrived says whether a move is done.
func (d *Device) Arrived(move Move) (bool, error) {
	return ask(d, func(c *C.gf_device, fault *C.gf_device_fault) (arrived, ok bool) {
		answer := C.gf_device_arrived(c, C.int64_t(move), fault)
		return answer == 1, answer >= 0
	})
}

// Wait returns when a move is done, or ctx ends. It asks again and again, since a wait inside of the driver cannot be
// ended: after 10 us at first, later after 1 ms.
func (d *Device) Wait(ctx context.Context, move Move) error {
	for pause := 10 * time.Microsecond; ; pause = min(2*pause, time.Millisecond) {
		if arrived, err := d.Arrived(move); arrived || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return errs.New(errs.ErrCanceled, "device", "canceled while a batch was on its way").Because(ctx.Err())
		case <-time.After(pause):
		}
	}
}

// Drain waits for all that gofast's stream holds, and gives slots back.
func (d *Device) Drain() error {
	return d.call(func(c *C.gf_device, fault *C.gf_device_fault) C.int { return C.gf_device_drain(c, fault) })
}

// Mark marks what a stream holds now. Follow it once.
func (d *Device) Mark(stream Stream) (Mark, error) {
	return ask(d, func(c *C.gf_device, fault *C.gf_device_fault) (Mark, bool) {
		mark := C.gf_device_mark(c, C.uint64_t(stream), fault)
		return Mark{mark}, mark != nil
	})
}

// Follow lets gofast's stream wait for what was marked.
func (d *Device) Follow(mark Mark) error {
	return d.call(func(c *C.gf_device, fault *C.gf_device_fault) C.int { return C.gf_device_follow(c, mark.c, fault) })
}

// Pin pins the memory of a ring of which no slot is taken: its batches are copied without the processor. Where that is
// refused, they are copied all the same, through memory that is.
func (d *Device) Pin(ring engine.Ring) error {
	return d.call(func(c *C.gf_device, fault *C.gf_device_fault) C.int {
		return C.gf_device_pin(c, (*C.gf_ring)(ring.Pointer()), fault)
	})
}
