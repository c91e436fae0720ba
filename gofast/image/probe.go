package image

/*
#include "probe.h"
*/
import "C"

import (
	"unsafe"

	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/numbers"
)

// Stage is how far the work on a picture goes.
type Stage int

// The stages at which it can stop.
const (
	Read         Stage = iota // the file's bytes are in memory
	DecodeWhole               // and all of the picture was decoded, row by row
	DecodeNeeded              // or the part of it that the plan needs
)

var probes = [...]unsafe.Pointer{
	Read: unsafe.Pointer(C.gf_image_probe_read), DecodeWhole: unsafe.Pointer(C.gf_image_probe_whole),
	DecodeNeeded: unsafe.Pointer(C.gf_image_probe_needed),
}

// Probe is the work that stops after a stage: its samples are a byte without a meaning.
// What is drawn for them is what the plan's own samples have.
func (p Program) Probe(until Stage) engine.Sample {
	sample := engine.Sample{Type: numbers.Uint8, Shape: []int{1}, Fill: probes[until], Hint: unsafe.Pointer(C.gf_image_hint), JobRows: 1}
	if until == DecodeNeeded {
		sample.RecordBytes = 4 * int64(p.RecordWords())
	}
	return sample
}
