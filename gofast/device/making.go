package device

/*
#include "making.h"
*/
import "C"

import (
	"unsafe"

	"github.com/gofast-org/gofast/gofast/numbers"
)

// Erasing is where a box lies in a sample: a gf_erasing. A height of 0 is no box.
type Erasing struct{ Top, Left, Height, Width int32 }

// Erasings are the most boxes of a sample.
const Erasings = C.GF_MAKING_ERASINGS

// Making is what a kernel makes: a gf_making, which making.h describes. Addresses are the device's.
type Making struct {
	Stored, Rows, Made, Results, Mean, Std, Labels, LabelsMade, Boxes uint64
	Count, Width, LabelBytes, Plane                                   int64
	Channels, Last, Divide, PictureWidth, NErasings                   int32
	Values                                                            [Erasings][4]uint32
}

var (
	_ [unsafe.Sizeof(Making{})]byte                = [C.sizeof_gf_making]byte{}
	_ [unsafe.Offsetof(Making{}.Count)]byte        = [unsafe.Offsetof(C.gf_making{}.count)]byte{}
	_ [unsafe.Offsetof(Making{}.Values)]byte       = [unsafe.Offsetof(C.gf_making{}.values)]byte{}
	_ [unsafe.Sizeof(Erasing{})]byte               = [C.sizeof_gf_erasing]byte{}
	_ [unsafe.Offsetof(Making{}.PictureWidth)]byte = [unsafe.Offsetof(C.gf_making{}.picture_width)]byte{}
)

// mostTables bounds what looking results up costs: a row with a mean for each of its 100,000 values would have 100 MB of them.
const mostTables = 16

// Of describes the arithmetic of a spec on rows of so many values, and what must lie on the device for it, one after the
// other: all results of bytes, or mean and std of each value. Whoever uploads that calls Place. False where no kernel does
// that: multiplying is for bytes whose results are known.
func Of(spec numbers.Spec, stored numbers.Type, width int) (m Making, tables []byte, ok bool) {
	spec = spec.Alike()
	m = Making{Width: int64(width), Channels: int32(spec.Channels), Plane: int64(max(width/spec.Channels, 1))}
	if spec.Last {
		m.Last, m.Plane = 1, int64(spec.Channels)
	}
	if spec.Scale == numbers.Divide && !spec.Type.Integer() {
		m.Divide = 1
	}
	switch {
	case stored == numbers.Uint8 && !spec.Type.Integer() && spec.Type != numbers.Float64 && (spec.Channels <= mostTables || spec.Scale == numbers.Multiply):
		tables = make([]byte, spec.Channels*256*spec.Type.Size())
		spec.Results(tables)
		m.Results = 1
	case spec.Arithmetic() && spec.Mean != nil:
		tables = make([]byte, 2*4*width)
		for i := range width {
			c := i * spec.Channels / width
			if spec.Last {
				c = i % spec.Channels
			}
			numbers.Single(spec.Mean[c]).Put(numbers.Float32, tables, i)
			numbers.Single(spec.Std[c]).Put(numbers.Float32, tables, width+i)
		}
		m.Mean, m.Std = 1, 1
	}
	return m, tables, Makes(stored, spec.Type) && (spec.Scale != numbers.Multiply || spec.Type.Integer() || m.Results != 0)
}

// Place says where the tables of Of lie.
func (m *Making) Place(tables uint64) {
	if m.Results != 0 {
		m.Results = tables
	}
	if m.Mean != 0 {
		m.Mean, m.Std = tables, tables+4*uint64(m.Width)
	}
}

// Erase adds a box of every sample, a picture of so many channels and this width, in which each channel is set to its
// value as type t. Making.Boxes is the caller's to set.
func (m *Making) Erase(t numbers.Type, channels, pictureWidth int, values []float32) {
	// Boxes are of pixels, whose channels and planes must be known where all are treated alike too.
	m.Plane, m.PictureWidth = m.Width/int64(channels), int32(pictureWidth)
	if m.Last != 0 {
		m.Plane = int64(channels)
	}
	for c := range channels {
		var bits [8]byte
		numbers.Single(values[c]).Put(t, bits[:], 0)
		m.Values[m.NErasings][c] = uint32(bits[0]) | uint32(bits[1])<<8 | uint32(bits[2])<<16 | uint32(bits[3])<<24
	}
	m.NErasings++
}
