package gather

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/numbers"
	"github.com/gofast-org/gofast/gofast/table"
)

// fillGeneric is the plain twin of gf_fill. specOf tells what a part's program
// was made from.
func fillGeneric(v engine.View, indices []int64, from, to int, x, y uintptr, specOf func(program uintptr) *Spec) int64 {
	for i := from; i < to; i++ {
		part, row, ok := v.Find(indices[i])
		if !ok {
			return int64(i)
		}
		spec := specOf(v.Program(part))
		size := int64(spec.Width * spec.Storage.Size())
		stride, _ := spec.strides()
		RowGeneric(spec, memory(spec.Features+uintptr(row*stride), size), memory(x+uintptr(int64(i)*v.RowBytes()), v.RowBytes()))
		if !LabelGeneric(spec, row, memory(y+uintptr(int64(i)*v.LabelBytes()), v.LabelBytes())) {
			return int64(i)
		}
	}
	return -1
}

// memory views C memory, or memory that a test holds on to.
func memory(address uintptr, size int64) []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&address)), size)
}

// LabelGeneric is the plain twin of put_label.
func LabelGeneric(spec *Spec, row int64, dst []byte) bool {
	le := binary.LittleEndian
	switch spec.LabelMode {
	case LabelNone:
		return true
	case LabelMissing:
		le.PutUint64(dst, uint64(spec.MissingLabel))
		return true
	}
	_, stride := spec.strides()
	size := int64(8 * len(spec.LabelFloat))
	if spec.LabelMode == LabelCopy {
		size = int64(spec.LabelSize)
	}
	src := memory(spec.Labels+uintptr(row*stride), size)
	switch spec.LabelMode {
	case LabelInt64, LabelCopy:
		copy(dst, src)
	case LabelOneHot:
		clear(dst)
		v := int64(le.Uint64(src))
		if v < 0 || v >= int64(spec.Classes) {
			return false
		}
		le.PutUint32(dst[4*v:], math.Float32bits(1))
	default:
		for c, float := range spec.LabelFloat {
			storage, made := table.Int64, numbers.Float32
			if float {
				storage = table.Float64
			}
			if spec.LabelMode == LabelFloat64 {
				made = numbers.Float64
			}
			numbers.Stored(storage, src, c).Put(made, dst, c)
		}
	}
	return true
}

// RowGeneric is the plain twin of the C row functions: it converts one stored
// row and says by its code what the fast ones must produce.
func RowGeneric(spec *Spec, src, dst []byte) {
	for i := range spec.Width {
		spec.Make(numbers.Stored(spec.Storage, src, i), spec.channel(i)).Put(spec.Type, dst, i)
	}
}
