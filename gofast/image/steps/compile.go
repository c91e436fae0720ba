package steps

/*
#cgo CFLAGS: -O3 -std=c11 -Wall -Wextra
#cgo LDFLAGS: -lm
#include <stdlib.h>
#include "operation.h"
static gf_step *steps_of(gf_steps *s) { return s->step; }
static double *numbers_of(gf_steps *s) { return (double *)(s->step + s->n); }
*/
import "C"

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/numbers"
)

type (
	step   = C.gf_step
	word   = C.int32_t
	double = C.double
)

// MaxSide bounds every size in a plan.
const MaxSide = C.GF_MOST_SIDE

// List is a compiled plan's steps, in C memory. They are as step.h says: all that
// is to be checked was. Free it once.
type List struct{ c *C.gf_steps }

// At is the inverse of Pointer.
func At(c unsafe.Pointer) List { return List{(*C.gf_steps)(c)} }

// Pointer is the place of the gf_steps.
func (l List) Pointer() unsafe.Pointer { return unsafe.Pointer(l.c) }

// RecordWords is how many words a sample's record has.
func (l List) RecordWords() int { return int(l.c.record_words) }

// Words is how many of them are the steps' own: the first ones.
func (l List) Words() int { return max(0, l.RecordWords()-C.GF_SIZE_WORDS) }

// IgnoreSizes says that what is drawn is the same for a picture of any size.
func (l List) IgnoreSizes() { l.c.any_size = 1 }

// Free releases the list.
func (l List) Free() { C.free(unsafe.Pointer(l.c)) }

func (l List) steps() []step { return unsafe.Slice(C.steps_of(l.c), l.c.n) }

// Numbers are what the steps that make numbers of bytes come to, and those that then set some.
type Numbers struct {
	Tensor, Float bool
	Scale         numbers.Scale
	Mean, Std     []float32
	Crops         int       // pictures that a sample consists of; 0: it is one
	Erasures      []Erasure // in their order
	TorchWords    []TorchWords
	Tangled       bool // what is erased depends on more than its own words: on a container, or on a flip behind it
}

// Erasure is a random_erasing of a finished sample.
type Erasure struct {
	Word  int        // of the record: 0 or 1, and behind it top, left, height, width
	Value [3]float32 // of each channel
}

// TorchWords are a step's words that are torch's arithmetic to the last bit: a caller
// who has torch writes its own over those that were drawn.
type TorchWords struct {
	Op      string `json:"op"`     // gaussian_blur or random_perspective
	Word    int    `json:"word"`   // the step's first in the record; 0 there: it does nothing
	Kernel  []int  `json:"kernel"` // of a gaussian_blur
	Version string `json:"version"`
}

// compiler lays steps out, nested ones behind their container.
type compiler struct {
	Numbers
	steps  []step
	pool   []double // the steps' own numbers; each step's field says where its begin
	words  int      // of a record
	depth  int      // of containers
	python bool     // Python's random is drawn from
}

// Compile checks a plan's steps and lays them out for C.
func Compile(plan []Step) (List, Numbers, error) {
	var l compiler
	if err := l.add(plan); err != nil {
		return List{}, Numbers{}, err
	}
	c := (*C.gf_steps)(C.calloc(1, C.sizeof_gf_steps+C.size_t(len(l.steps))*C.sizeof_gf_step+C.size_t(len(l.pool))*C.sizeof_double))
	if c == nil {
		return List{}, Numbers{}, errs.New(errs.ErrLimit, "plan", fmt.Sprintf("no memory for %d steps", len(l.steps)))
	}
	c.n = word(len(l.steps))
	if l.words > 0 {
		c.record_words = word(l.words + C.GF_SIZE_WORDS)
	}
	c.python = word(flag(l.python))
	list := List{c}
	for i := range l.steps {
		l.steps[i].numbers += word((len(l.steps) - i) * C.sizeof_gf_step)
	}
	copy(list.steps(), l.steps)
	copy(unsafe.Slice(C.numbers_of(c), len(l.pool)), l.pool)
	return list, l.Numbers, nil
}

func (l *compiler) add(list []Step) error {
	for _, s := range list {
		if err := l.addStep(s); err != nil {
			return err
		}
	}
	return nil
}

func (l *compiler) addStep(s Step) error {
	if s.isNumber() {
		return l.number(s)
	}
	c, err := s.layOut()
	if err != nil {
		return err
	}
	flags := c.of.flags
	finishes, movable := flags&C.GF_FINISHES != 0, flags&C.GF_MOVABLE != 0
	if finishes && !l.Tensor || !finishes && !movable && (l.Float || len(l.Erasures) > 0) {
		return s.bad("it stands on the wrong side of to_float")
	}
	if l.Crops > 0 || c.of.crops > 0 && (l.depth > 0 || l.Tensor) {
		return s.bad("the crops that a sample consists of are the last of its pictures")
	}
	l.Crops = int(c.of.crops)
	l.python = l.python || flags&C.GF_DRAWS_PYTHON != 0 && c.version == 1
	switch {
	case finishes:
		erasure := Erasure{Word: l.words}
		for i, v := range c.value {
			erasure.Value[i] = float32(v)
		}
		if l.Erasures = append(l.Erasures, erasure); len(l.Erasures) > C.GF_MOST_ERASURES {
			return s.bad("there are more than %d", C.GF_MOST_ERASURES)
		}
		l.Tangled = l.Tangled || l.depth > 0
	case !c.container:
		l.Tangled = l.Tangled || len(l.Erasures) > 0
	}
	if flags&C.GF_TORCH_WORDS != 0 {
		l.TorchWords = append(l.TorchWords, TorchWords{s.op(), l.words, []int{int(c.kernel[0]), int(c.kernel[1])}, fmt.Sprintf("v%d", c.version)})
	}
	c.record, c.numbers = word(l.words), word(len(l.pool)*C.sizeof_double)
	l.pool = append(l.pool, c.own...)
	l.words += int(c.of.words + c.happen)
	if !c.container {
		l.steps = append(l.steps, c.step)
		return nil
	}
	if l.depth++; l.depth > C.GF_MOST_NESTED {
		return s.bad("more than %d lie in one another", C.GF_MOST_NESTED)
	}
	defer func() { l.depth-- }()
	return l.addAround(c.step, func() error {
		for _, member := range c.members {
			add := func() error { return l.add(member) }
			if c.step.members > 0 {
				add = func() error { return l.addAround(step{kind: C.GF_STEP_member}, func() error { return l.add(member) }) }
			}
			if err := add(); err != nil {
				return err
			}
		}
		return nil
	})
}

// addAround adds a step and those that are its own, and notes how many they are.
func (l *compiler) addAround(outer step, add func() error) error {
	at := len(l.steps)
	l.steps = append(l.steps, outer)
	if err := add(); err != nil {
		return err
	}
	l.steps[at].inner = word(len(l.steps) - at - 1)
	return nil
}

func (s Step) isNumber() bool {
	return slices.Contains([]string{"to_float", "to_uint8", "normalize"}, s.op())
}

// number notes the steps that make numbers of bytes. They act on the finished
// sample, wherever flips stand between them.
func (l *compiler) number(s Step) error {
	switch {
	case l.depth > 0:
		return s.bad("it cannot happen to some samples only")
	case s.op() == "normalize":
		if !l.Float || l.Mean != nil || len(l.Erasures) > 0 {
			return s.bad("it is not the first after to_float")
		}
		l.Mean, l.Std = floats(s["mean"]), floats(s["std"])
		if len(l.Mean) != len(l.Std) || len(l.Mean) != 1 && len(l.Mean) != 3 {
			return s.bad("mean %v, std %v", s["mean"], s["std"])
		}
	case l.Float || len(l.Erasures) > 0:
		return s.bad("the tensor is finished already")
	case s.op() == "to_uint8":
		l.Tensor = true
	default:
		if l.Scale.UnmarshalText(fmt.Append(nil, s["how"])) != nil {
			return s.bad("how is %q", s["how"])
		}
		l.Tensor, l.Float = true, true
	}
	return nil
}

func floats(value any) (rounded []float32) {
	given, _ := numbersIn(value)
	for _, v := range given {
		rounded = append(rounded, float32(v))
	}
	return rounded
}

// Split cuts steps where the first draws, or makes several pictures of one: what is certain
// makes a picture of which the rest makes the same sample, with the same record, as all of them.
// Whatever makes numbers is of the rest: it acts on the finished sample.
func Split(plan []Step) (certain, rest []Step) {
	for i, s := range plan {
		if s.isNumber() {
			rest = append(rest, s)
			continue
		}
		l, err := s.layOut() // what is wrong is the rest's to say
		// A picture has three channels, and steps may ask for one. Pillow's grey of three equal channels is that grey again,
		// torch's is not.
		greys := l.channels == 1
		if err != nil || l.of.flags&C.GF_DRAWS != 0 || l.of.crops > 0 || greys && l.tensor != 0 {
			return certain, append(rest, plan[i:]...)
		}
		certain = append(certain, s)
		if greys {
			rest = append(rest, s)
		}
	}
	return certain, rest
}

// IsFused says from one value that torch drew whether its uniform_ rounds once,
// or that this is not a torch whose draws are known; draw.h names the value.
func IsFused(value float32) (fused, known bool) {
	told := C.gf_draw_is_fused(C.float(value))
	return told == C.GF_DRAW_FUSED, told >= 0
}
