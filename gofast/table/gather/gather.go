// Package gather holds the hot loop of tables: gather rows at random, convert
// them, and lay them out as one batch. The C side is described in gather.h; the
// Go twin in generic.go defines what it must produce.
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
	"unsafe"

	"github.com/gofast-org/gofast/gofast/engine"
)

// Out is an output type, in gather.h's order.
type Out int32

// The output types.
const (
	OutFloat32 Out = iota
	OutFloat16
	OutBfloat16
	OutFloat64
	OutUint8 // integers: only of stored integers that fit, without arithmetic
	OutInt16
	OutInt32
	OutInt64
)

// Size is the bytes of one output value.
func (o Out) Size() int { return [...]int{4, 2, 2, 8, 1, 2, 4, 8}[o] }

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

// Spec describes one table and what is made of its rows.
type Spec struct {
	Features     uintptr // address of row 0, whose values stand side by side
	Labels       uintptr // address of row 0's labels, 8 bytes a value; 0 without
	RowStride    int64   // bytes from one row's features to the next one's; 0: no gap
	LabelStride  int64   // likewise of the labels
	LabelSize    int     // bytes of one row's labels, of LabelCopy
	Rows         int64
	Width        int
	Storage      int // a table.Type
	StorageSize  int
	Out          Out
	Unit         bool      // divide by 255
	Mean, Std    []float32 // Width values each, or both nil
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
	features, labels = int64(s.Width*s.StorageSize), int64(8*len(s.LabelFloat))
	if s.RowStride != 0 {
		features = s.RowStride
	}
	if s.LabelStride != 0 {
		labels = s.LabelStride
	}
	return features, labels
}

// uniform says that every feature of an uint8 table is treated alike, so that
// 256 output values describe the whole program.
func (s *Spec) uniform() bool {
	if s.StorageSize != 1 || s.Out >= OutUint8 || !s.Unit && s.Mean == nil {
		return false
	}
	for i := range s.Mean {
		if s.Mean[i] != s.Mean[0] || s.Std[i] != s.Std[0] {
			return false
		}
	}
	return true
}

// Program is a Spec in C memory. It holds addresses of the matrix, not the
// matrix: whoever made it keeps that alive, and calls Free once.
type Program struct{ c *C.gf_program }

// NewProgram lays spec out in C memory. portable chooses the plain loops, for
// tests of the others.
func NewProgram(spec Spec, portable bool) Program {
	p := (*C.gf_program)(C.calloc(1, C.sizeof_gf_program))
	p.features = (*C.uint8_t)(C.as_pointer(C.uintptr_t(spec.Features)))
	p.labels = (*C.uint8_t)(C.as_pointer(C.uintptr_t(spec.Labels)))
	p.rows, p.width = C.int64_t(spec.Rows), C.int64_t(spec.Width)
	p.row_bytes = C.int64_t(spec.Width * spec.StorageSize)
	features, labels := spec.strides()
	p.row_stride, p.label_stride = C.int64_t(features), C.int64_t(labels)
	p.x_bytes, p.y_bytes = C.int64_t(spec.Width*spec.Out.Size()), C.int64_t(spec.LabelBytes())
	p.storage, p.out = C.int32_t(spec.Storage), C.int32_t(spec.Out)
	if spec.Unit {
		p.unit = 1
	}
	if spec.Mean != nil {
		p.normalise = 1
		p.mean, p.std = floats(spec.Mean), floats(spec.Std)
	}
	p.label_mode, p.label_columns = C.int32_t(spec.LabelMode), C.int32_t(len(spec.LabelFloat))
	if n := len(spec.LabelFloat); n > 0 {
		flags := C.malloc(C.size_t(n))
		for i, f := range spec.LabelFloat {
			b := byte(0)
			if f {
				b = 1
			}
			unsafe.Slice((*byte)(flags), n)[i] = b
		}
		p.label_float = (*C.uint8_t)(flags)
	}
	p.missing_label, p.classes = C.int64_t(spec.MissingLabel), C.int64_t(spec.Classes)
	if spec.uniform() {
		p.table = (*C.uint8_t)(codes(&spec))
	}
	variant := C.int(0)
	if portable {
		variant = 1
	}
	C.gf_program_prepare(p, variant)
	remember(uintptr(unsafe.Pointer(p)), spec)
	return Program{p}
}

func floats(v []float32) *C.float {
	m := C.malloc(C.size_t(4 * max(len(v), 1)))
	copy(unsafe.Slice((*float32)(m), len(v)), v)
	return (*C.float)(m)
}

// codes computes the 256 outputs with the Go twin; for float32 followed by their
// four byte planes, which the AVX-512 row function looks up.
func codes(spec *Spec) unsafe.Pointer {
	one := *spec
	one.Width = 256
	if spec.Mean != nil {
		one.Mean, one.Std = make([]float32, 256), make([]float32, 256)
		for i := range 256 {
			one.Mean[i], one.Std[i] = spec.Mean[0], spec.Std[0]
		}
	}
	codes := make([]byte, 256)
	for i := range codes {
		codes[i] = byte(i)
	}
	size := spec.Out.Size()
	m := C.malloc(C.size_t(256 * (size + 4)))
	t := unsafe.Slice((*byte)(m), 256*(size+4))
	RowGeneric(&one, codes, t[:256*size])
	if size == 4 {
		for i := range 256 {
			for plane := range 4 {
				t[1024+256*plane+i] = t[4*i+plane]
			}
		}
	}
	return m
}

// Free releases the program.
func (p Program) Free() {
	forget(p.Address())
	for _, m := range []unsafe.Pointer{unsafe.Pointer(p.c.mean), unsafe.Pointer(p.c.std),
		unsafe.Pointer(p.c.table), unsafe.Pointer(p.c.label_float), unsafe.Pointer(p.c)} {
		C.free(m)
	}
}

// Row converts one stored row; for tests.
func (p Program) Row(src, dst []byte) {
	C.run_row(p.c, unsafe.Pointer(unsafe.SliceData(src)), unsafe.Pointer(unsafe.SliceData(dst)))
}

// Address is the program's place in C memory.
func (p Program) Address() uintptr { return uintptr(unsafe.Pointer(p.c)) }

// ProgramAt is the inverse of Address.
func ProgramAt(address uintptr) Program {
	return Program{(*C.gf_program)(C.as_pointer(C.uintptr_t(address)))}
}

// DType is the DLPack type of the output.
func (o Out) DType() engine.DType {
	return [...]engine.DType{{Code: 2, Bits: 32}, {Code: 2, Bits: 16}, {Code: 4, Bits: 16}, {Code: 2, Bits: 64}, {Code: 1, Bits: 8}, {Code: 0, Bits: 16}, {Code: 0, Bits: 32}, {Code: 0, Bits: 64}}[o]
}

// Part is one table of a view.
type Part struct {
	Program Program
	Rows    int64
}

// NewView lays tables end to end; see engine.NewView. Every part makes rows of the
// same size and of type out.
func NewView(parts []Part, indexMap uintptr, length int64, out Out, shape []int) (engine.View, error) {
	placed := make([]engine.Part, len(parts))
	for i, part := range parts {
		placed[i] = engine.Part{Program: part.Program.Address(), Count: part.Rows}
	}
	sample := engine.Sample{DType: out.DType(), Shape: shape}
	if len(parts) > 0 {
		first := parts[0].Program.c
		sample.Bytes, sample.LabelBytes = int64(first.x_bytes), int64(first.y_bytes)
	}
	v, err := engine.NewView(placed, indexMap, length, sample)
	if err == nil {
		setFill(v)
	}
	return v, err
}
