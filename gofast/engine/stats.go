package engine

/*
#include "crew.h"

static int64_t tickets(gf_crew *crew) { return atomic_load(&crew->tickets); }
static int64_t age(gf_crew *crew) { return gf_nanoseconds() - crew->born; }
*/
import "C"

import (
	"time"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/meter"
)

// Stats counts what an engine has done since it was started. Two of them, and Sub, tell of the time between.
//
// Probes, which look at headers of pictures before samples are made, count in Busy and Stages only.
type Stats struct {
	Threads int           `json:"threads"`
	Age     time.Duration `json:"age"`     // since the engine was started
	Tickets int64         `json:"tickets"` // submitted

	Rows      int64 `json:"rows"`       // filled by its threads, or by callers in Wait
	RowBytes  int64 `json:"row_bytes"`  // of their values
	FileBytes int64 `json:"file_bytes"` // read from files of pictures

	Batches int64 `json:"batches"` // that Batches has handed out
	Samples int64 `json:"samples"` // in them
	Bytes   int64 `json:"bytes"`   // of their values

	Waits int64         `json:"waits"` // batches that were not ready when a caller asked for them
	Wait  time.Duration `json:"wait"`  // until they were; callers help meanwhile

	Busy   time.Duration            `json:"busy"`   // of all threads, and of callers while they helped
	Stages map[string]time.Duration `json:"stages"` // what that went into, by the names in Stage...

	counts meter.Counts // that all but the first three were made of
}

// The stages. Each is the time of all threads together, by the clock on the wall. What is not known is not in the map.
//
// StageRead, StageHeader and StageGather are measured always. The others are the parts of making a picture. One picture
// in 13 of each thread is measured in detail, and the time of all is divided in its proportions, which are right to a few
// percent.
const (
	StageRead    = "read"    // files of pictures, and hints to the system
	StageHeader  = "header"  // sizes of pictures, for random crops
	StageDecode  = "decode"  // opening a picture, and decoding where entropy and inverse cannot be told apart
	StageEntropy = "entropy" // Huffman codes of JPEG
	StageInverse = "inverse" // JPEG's inverse transform, interpolation and colour
	StageResize  = "resize"
	StageSteps   = "steps"   // other transforms of pictures
	StageNumbers = "numbers" // scale, mean, std and type of a picture's values
	StageGather  = "gather"  // rows of a table, with their numbers
)

// Sub is what was done since before, of the same engine.
func (s Stats) Sub(before Stats) Stats {
	made := statsOf(s.counts.Sub(before.counts))
	made.Threads, made.Age, made.Tickets = s.Threads, s.Age-before.Age, s.Tickets-before.Tickets
	return made
}

// Stats returns the counters. An engine that is closed keeps them.
func (e *Engine) Stats() Stats {
	s := statsOf(e.tally().Read())
	s.Threads, s.Age, s.Tickets = e.threads, time.Duration(C.age(e.crew)), int64(C.tickets(e.crew))
	return s
}

func statsOf(c meter.Counts) Stats {
	return Stats{
		Rows: c.Filled, RowBytes: c.FilledBytes, FileBytes: c.FileBytes,
		Batches: c.Batches, Samples: c.Samples, Bytes: c.Bytes,
		Waits: c.Waits, Wait: c.Wait, Busy: c.Busy, Stages: c.Stages, counts: c,
	}
}

// HandedOut counts a batch that a caller got.
func (e *Engine) HandedOut(samples, bytes int64) { e.tally().HandOut(samples, bytes) }

func (e *Engine) tally() meter.Tally { return meter.TallyAt(uintptr(unsafe.Pointer(e.crew.tally))) }

// TallyLayout says how counts lie in memory, for the border to Python, which reads them there: stripes of so many 8-byte
// counters, of which the first have names. A counter is the sum of all stripes'.
type TallyLayout struct {
	Names   []string `json:"names"`
	Stripes int      `json:"stripes"`
	Each    int      `json:"each"`
}

// LayoutOfTallies is that of all tallies.
func LayoutOfTallies() TallyLayout {
	stripes, each := meter.Layout()
	return TallyLayout{meter.Counters, stripes, each}
}

// Tallies are the addresses of two counts: one of the work for no engine, which any thread of this process does, and one of the
// work for this engine.
func (e *Engine) Tallies() (process, own uintptr) {
	return meter.Process().Address(), e.tally().Address()
}
