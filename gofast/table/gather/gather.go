// Package gather holds the hot loop of tables: gather rows at random, convert
// them, and lay them out as one batch. The C side is described in gather.h; package numbers
// defines what becomes of a value.
package gather

/*
#cgo CFLAGS: -O3 -std=c11 -Wall -Wextra
#include <stdlib.h>
#include "gather.h"

static void run_row(const gf_program *p, const void *src, void *dst) { p->row(p, src, dst); }
static void *as_pointer(uintptr_t address) { return (void *)address; }
*/
import "C"

import (
	"embed"
	"fmt"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	_ "github.com/gofast-org/gofast/gofast/internal/fault" // its header: TestHeadersRebuildTheirUsers says why
	"github.com/gofast-org/gofast/gofast/internal/meter"
	"github.com/gofast-org/gofast/gofast/numbers"
	"github.com/gofast-org/gofast/gofast/table"
)

// Package kerneltest includes it; TestHeadersRebuildTheirUsers says what this is for.
//
//go:embed gather.h
var _ embed.FS

// LabelMode says what becomes of the label columns, in gather.h's order.
type LabelMode int32

// The label modes.
const (
	LabelNone    LabelMode = iota // no label in the output
	LabelMissing                  // the file has none: Spec.MissingLabel, int64
	LabelInt64                    // every column an int64
	LabelFloat32                  // every column rounded once to float32
	LabelFloat64                  // every column as float64
	LabelOneHot                   // one column, Spec.Classes float32 values
	LabelCopy                     // Spec.LabelSize bytes, as they are
)

// labelModes are the names of the modes in JSON, and the types that they make.
var labelModes = [...]struct {
	name string
	made numbers.Type
}{{}, {"missing", numbers.Int64}, {"int64", numbers.Int64}, {"float32", numbers.Float32}, {"float64", numbers.Float64}, {"one_hot", numbers.Float32}, {"copy", numbers.Invalid}}

// Type is that of the labels that the mode makes; Invalid of none, and of copies.
func (m LabelMode) Type() numbers.Type { return labelModes[m].made }

// String is the name of the mode; "" of LabelNone.
func (m LabelMode) String() string {
	if m < 0 || int(m) >= len(labelModes) {
		return fmt.Sprintf("LabelMode(%d)", int32(m))
	}
	return labelModes[m].name
}

// UnmarshalText reads a mode's name; "" is LabelNone.
func (m *LabelMode) UnmarshalText(name []byte) error {
	for i, mode := range labelModes {
		if mode.name == string(name) {
			*m = LabelMode(i)
			return nil
		}
	}
	return errs.New(errs.ErrConfig, "transform", "the label mode is unknown").WithCell(string(name))
}

// Spec describes one table and what is made of its rows.
type Spec struct {
	numbers.Spec         // of the features: a row's channels lie one after the other
	Features     uintptr // address of row 0, whose values stand side by side
	Labels       uintptr // address of row 0's labels, 8 bytes a value; 0 without
	RowStride    int64   // bytes from one row's features to the next one's; 0: no gap
	LabelStride  int64   // likewise of the labels
	LabelSize    int     // bytes of one row's labels, of LabelCopy
	Rows         int64
	Width        int
	Storage      table.Type
	LabelMode    LabelMode
	LabelFloat   []bool // one per label column: stored as float64
	MissingLabel int64
	Classes      int
}

// LabelBytes is the size of one output label.
func (s *Spec) LabelBytes() int {
	switch s.LabelMode {
	case LabelNone:
		return 0
	case LabelMissing:
		return 8
	case LabelFloat32:
		return 4 * len(s.LabelFloat)
	case LabelOneHot:
		return 4 * s.Classes
	case LabelCopy:
		return s.LabelSize
	default:
		return 8 * len(s.LabelFloat)
	}
}

// strides are the bytes from one row's features, and labels, to the next one's.
func (s *Spec) strides() (features, labels int64) {
	features, labels = int64(s.Width*s.Storage.Size()), int64(8*len(s.LabelFloat))
	if s.RowStride != 0 {
		features = s.RowStride
	}
	if s.LabelStride != 0 {
		labels = s.LabelStride
	}
	return features, labels
}

// channel is the channel of feature i.
func (s *Spec) channel(i int) int { return i * s.Channels / s.Width }

// Program is a Spec in C memory. It holds addresses of the matrix, not the
// matrix: whoever made it keeps that alive, and calls Free once.
type Program struct{ c *C.gf_program }

// NewProgram lays spec out in C memory, in one block.
func NewProgram(spec Spec) (Program, error) {
	made := spec.Alike() // as few channels as say the same
	// 256 results are worth a look-up where a row has as many values of a channel, or there is one table only.
	coded := spec.Storage == table.Uint8 && made.Arithmetic() && spec.Type.Size() <= 4 && (made.Channels == 1 || spec.Width/made.Channels >= 256)
	codes, floats, flags := 0, 0, len(spec.LabelFloat)
	if coded {
		codes = made.Channels * C.sizeof_gf_codes
	}
	if spec.Mean != nil {
		floats = 4 * spec.Width
	}
	block := C.calloc(1, C.size_t(C.sizeof_gf_program+codes+2*floats+flags))
	if block == nil {
		return Program{}, errs.New(errs.ErrLimit, "transform", fmt.Sprintf("no memory for the transform of %d columns", spec.Width))
	}
	end := unsafe.Add(block, C.sizeof_gf_program)
	next := func(bytes int) unsafe.Pointer {
		end = unsafe.Add(end, bytes)
		return unsafe.Add(end, -bytes)
	}
	p := (*C.gf_program)(block)
	made.LayOut(unsafe.Pointer(&p.numbers))
	if at := next(codes); coded {
		made.LayOutCodes(at)
		p.codes = (*C.gf_codes)(at)
	}
	if mean, std := next(floats), next(floats); spec.Mean != nil {
		p.mean, p.std = spec.spread(mean, spec.Mean), spec.spread(std, spec.Std)
	}
	for i, float := range spec.LabelFloat {
		if float {
			unsafe.Slice((*byte)(end), flags)[i] = 1
		}
	}
	p.label_float = (*C.uint8_t)(end)
	p.features = (*C.uint8_t)(C.as_pointer(C.uintptr_t(spec.Features)))
	p.labels = (*C.uint8_t)(C.as_pointer(C.uintptr_t(spec.Labels)))
	p.rows, p.width = C.int64_t(spec.Rows), C.int64_t(spec.Width)
	p.row_bytes = C.int64_t(spec.Width * spec.Storage.Size())
	features, labels := spec.strides()
	p.row_stride, p.label_stride = C.int64_t(features), C.int64_t(labels)
	p.x_bytes, p.y_bytes = C.int64_t(spec.Width*spec.Type.Size()), C.int64_t(spec.LabelBytes())
	p.storage = C.int32_t(spec.Storage)
	p.label_mode, p.label_columns = C.int32_t(spec.LabelMode), C.int32_t(flags)
	p.missing_label, p.classes = C.int64_t(spec.MissingLabel), C.int64_t(spec.Classes)
	C.gf_program_prepare(p, 0)
	return Program{p}, nil
}

// spread writes a channel's values for every feature.
func (s *Spec) spread(at unsafe.Pointer, values []float32) *C.float {
	all := unsafe.Slice((*float32)(at), s.Width)
	for i := range all {
		all[i] = values[s.channel(i)]
	}
	return (*C.float)(at)
}

// Free releases the program.
func (p Program) Free() { C.free(unsafe.Pointer(p.c)) }

// Row converts one stored row; for tests.
func (p Program) Row(src, dst []byte) {
	C.run_row(p.c, unsafe.Pointer(unsafe.SliceData(src)), unsafe.Pointer(unsafe.SliceData(dst)))
}

// Address is the program's place in C memory.
func (p Program) Address() uintptr { return uintptr(unsafe.Pointer(p.c)) }

// Sample is what the program makes of a row: values of this shape.
func (p Program) Sample(shape []int) engine.Sample {
	return engine.Sample{Type: numbers.Type(p.c.numbers._type), Shape: shape, LabelBytes: int64(p.c.y_bytes),
		Fill: unsafe.Pointer(C.gf_fill), Stage: meter.Gather}
}
