// Package meter counts what threads do, and how long it takes: in C (meter.h), since most of it is done where no Go runs.
package meter

/*
#cgo CFLAGS: -O3 -std=gnu11 -Wall -Wextra
#cgo LDFLAGS: -lpthread
#include "meter.h"

static void *as_pointer(uintptr_t address) { return (void *)address; }
static int64_t sum(const gf_tally *tally, int counter) {
	int64_t n = 0;
	for (int i = 0; i < GF_STRIPES; i++) n += atomic_load_explicit(&tally->stripes[i][counter], memory_order_relaxed);
	return n;
}
static gf_tally *process(void) { return &gf_process_tally; }
static void hand_out(gf_tally *tally, int64_t samples, int64_t bytes) {
	gf_tally_add(tally, 0, GF_COUNT_BATCHES, 1);
	gf_tally_add(tally, 0, GF_COUNT_SAMPLES, samples);
	gf_tally_add(tally, 0, GF_COUNT_BYTES, bytes);
}
*/
import "C"

import (
	"time"
	"unsafe"
)

// Stage is what a thread is at.
type Stage int32

// The stages that other packages name.
const (
	Other  Stage = C.GF_STAGE_OTHER // whatever is not told apart
	Read   Stage = C.GF_STAGE_READ
	Gather Stage = C.GF_STAGE_GATHER
)

// Tally is counts in C memory.
type Tally struct{ c *C.gf_tally }

// TallyAt is the tally at an address.
func TallyAt(address uintptr) Tally { return Tally{(*C.gf_tally)(C.as_pointer(C.uintptr_t(address)))} }

// Process is the tally of this process's threads that work for no engine.
func Process() Tally { return Tally{C.process()} }

// Address is its place.
func (t Tally) Address() uintptr { return uintptr(unsafe.Pointer(t.c)) }

// HandOut counts a batch that somebody got.
func (t Tally) HandOut(samples, bytes int64) { C.hand_out(t.c, C.int64_t(samples), C.int64_t(bytes)) }

// Counters are the names of a tally's counters, in meter.h's order. Those of stages are nanoseconds of all samples, those
// of parts are ticks of some pictures: only their proportions count.
var Counters = []string{"batches", "samples", "bytes", "filled", "filled_bytes", "file_bytes",
	"marked", "cache_hits", "cache_writes", "waits", "wait_ns",
	"stage:other", "stage:read", "stage:header", "stage:picture", "stage:gather",
	"part:decode", "part:entropy", "part:inverse", "part:resize", "part:steps", "part:numbers"}

// Layout says how a tally lies in memory: stripes of so many 8-byte counters, of which the first len(Counters) are used.
func Layout() (stripes, each int) { return C.GF_STRIPES, C.GF_STRIPE_COUNTERS }

// Counts are what a tally has counted.
type Counts struct {
	Batches, Samples, Bytes        int64 // handed out
	Filled, FilledBytes, FileBytes int64
	Marked, Waits                  int64
	Wait, Busy                     time.Duration
	Stages                         map[string]time.Duration

	stages [C.GF_STAGES]int64 // nanoseconds
	parts  [C.GF_PARTS]int64  // ticks
}

func stageName(i int) string { return Counters[C.GF_COUNT_STAGE_NS+i][len("stage:"):] }

// Read adds all stripes up. Threads may go on counting meanwhile.
func (t Tally) Read() Counts {
	n := make([]int64, len(Counters))
	for i := range n {
		n[i] = int64(C.sum(t.c, C.int(i)))
	}
	c := Counts{
		Batches: n[C.GF_COUNT_BATCHES], Samples: n[C.GF_COUNT_SAMPLES], Bytes: n[C.GF_COUNT_BYTES],
		Filled: n[C.GF_COUNT_FILLED], FilledBytes: n[C.GF_COUNT_FILLED_BYTES], FileBytes: n[C.GF_COUNT_FILE_BYTES],
		Marked: n[C.GF_COUNT_MARKED], Waits: n[C.GF_COUNT_WAITS], Wait: time.Duration(n[C.GF_COUNT_WAIT_NS]),
	}
	copy(c.stages[:], n[C.GF_COUNT_STAGE_NS:])
	copy(c.parts[:], n[C.GF_COUNT_PART_TICKS:])
	c.divide()
	return c
}

// Sub is what was counted since before. The time of pictures is divided by the parts of that time alone: what a
// subtraction of the stages would leave of other proportions before is wrong by any factor.
func (c Counts) Sub(before Counts) Counts {
	c.Batches -= before.Batches
	c.Samples -= before.Samples
	c.Bytes -= before.Bytes
	c.Filled -= before.Filled
	c.FilledBytes -= before.FilledBytes
	c.FileBytes -= before.FileBytes
	c.Marked -= before.Marked
	c.Waits -= before.Waits
	c.Wait -= before.Wait
	for i := range c.stages {
		c.stages[i] -= before.stages[i]
	}
	for i := range c.parts {
		c.parts[i] -= before.parts[i]
	}
	c.divide()
	return c
}

// divide says what the time went into.
func (c *Counts) divide() {
	c.Busy, c.Stages = 0, map[string]time.Duration{}
	for i, ns := range c.stages {
		c.Busy += time.Duration(ns)
		if ns > 0 && i != C.GF_STAGE_OTHER && i != C.GF_STAGE_PICTURE {
			c.Stages[stageName(i)] = time.Duration(ns)
		}
	}
	all := int64(0)
	for _, ticks := range c.parts {
		all += ticks
	}
	for i, ticks := range c.parts {
		if ticks > 0 {
			part := float64(c.stages[C.GF_STAGE_PICTURE]) * float64(ticks) / float64(all)
			c.Stages[Counters[C.GF_COUNT_PART_TICKS+i][len("part:"):]] = time.Duration(part)
		}
	}
}
