// Package tokens makes samples of packed tokens: windows of one long array, and the same windows one token later.
package tokens

/*
#cgo CFLAGS: -O3 -std=c11 -Wall -Wextra
#include <stdlib.h>
#include "tokens.h"

static void *as_pointer(uintptr_t address) { return (void *)address; }
*/
import "C"

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	_ "github.com/gofast-org/gofast/gofast/internal/fault" // its header
	"github.com/gofast-org/gofast/gofast/internal/meter"
	"github.com/gofast-org/gofast/gofast/numbers"
)

// stored is a type that tokens are stored in: numpy's name, and its bytes.
type stored struct {
	name string
	size int64
}

// types are those of tokens.h, in its order.
var types = []stored{{"uint8", 1}, {"uint16", 2}, {"uint32", 4}, {"int8", 1}, {"int16", 2}, {"int32", 4}, {"int64", 8}}

// Windows are the samples of an array of tokens that lies in memory.
type Windows struct {
	First  uintptr `json:"first"`  // address of token 0
	Tokens int64   `json:"tokens"` // of the array
	Type   string  `json:"type"`   // numpy's name of theirs
	Block  int64   `json:"block"`  // tokens of a sample, and of its label
	Stride int64   `json:"stride"` // tokens from one sample to the next
}

// Count is how many windows have a token behind them.
func (w Windows) Count() int64 {
	if w.Tokens <= w.Block {
		return 0
	}
	return (w.Tokens-w.Block-1)/w.Stride + 1
}

// Program is Windows in C memory. Whoever made it keeps the tokens there, and calls Free once.
type Program struct{ c *C.gf_tokens }

// NewProgram also says what a sample is.
func NewProgram(w Windows) (Program, engine.Sample, error) {
	kind := slices.IndexFunc(types, func(t stored) bool { return t.name == w.Type })
	if kind < 0 {
		return Program{}, engine.Sample{}, errs.New(errs.ErrUnsupported, "tokens", "tokens of this type are not read").WithCell(w.Type)
	}
	if w.Block < 1 || w.Stride < 1 || w.Block > math.MaxInt32 || w.Tokens > math.MaxInt64/8 {
		return Program{}, engine.Sample{}, errs.New(errs.ErrConfig, "tokens", fmt.Sprintf("windows of %d of %d tokens, one every %d, cannot be", w.Block, w.Tokens, w.Stride))
	}
	p := (*C.gf_tokens)(C.calloc(1, C.sizeof_gf_tokens))
	if p == nil {
		return Program{}, engine.Sample{}, errs.New(errs.ErrLimit, "tokens", "no memory")
	}
	p.first, p._type = (*C.uint8_t)(C.as_pointer(C.uintptr_t(w.First))), C.int32_t(kind)
	// No window begins behind the last token, so a longer stride does not count.
	p.size, p.block, p.stride = C.int64_t(types[kind].size), C.int64_t(w.Block), C.int64_t(types[kind].size*min(w.Stride, w.Tokens))
	return Program{p}, engine.Sample{Type: numbers.Int64, Shape: []int{int(w.Block)}, LabelBytes: 8 * w.Block,
		Fill: unsafe.Pointer(C.gf_tokens_fill), Stage: meter.Gather}, nil
}

// Free releases the program.
func (p Program) Free() { C.free(unsafe.Pointer(p.c)) }

// Address is the program's place in C memory.
func (p Program) Address() uintptr { return uintptr(unsafe.Pointer(p.c)) }
