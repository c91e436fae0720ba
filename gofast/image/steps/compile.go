package steps

/*
#include <stdlib.h>
#include "operation.h"
static gf_step *steps_of(gf_steps *s) { return s->step; }
static double *numbers_of(gf_steps *s) { return (double *)(s->step + s->n); }
*/
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/image/pixel"
	"github.com/gofast-org/gofast/gofast/image/resample"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/numbers"
)

type (
	step   = C.gf_step
	word   = C.int32_t
	octet  = C.uint8_t
	double = C.double
	float  = C.float
)

// MaxSide bounds every size in a plan, and MaxKernel those of kernels.
const (
	MaxSide   = C.GF_MOST_SIDE
	MaxKernel = C.GF_MOST_KERNEL
)

// operation is the Go side of a gf_operation: it reads a plan's step and checks
// it, and is the twin of what is drawn, nil where nothing is.
type operation struct {
	read func(Step, *step) error
	draw func(*walker, *step, []int32) Code
}

var operations = [C.GF_STEP_KINDS]operation{
	C.GF_STEP_resize:               resize,
	C.GF_STEP_center_crop:          centerCrop,
	C.GF_STEP_pad:                  pad,
	C.GF_STEP_random_crop:          randomCrop,
	C.GF_STEP_random_resized_crop:  randomResizedCrop,
	C.GF_STEP_hflip:                flip,
	C.GF_STEP_vflip:                flip,
	C.GF_STEP_grayscale:            grayscale,
	C.GF_STEP_random_grayscale:     randomGrayscale,
	C.GF_STEP_color_jitter:         colorJitter,
	C.GF_STEP_random_solarize:      randomSolarize,
	C.GF_STEP_gaussian_blur:        gaussianBlur,
	C.GF_STEP_random_posterize:     randomPosterize,
	C.GF_STEP_random_autocontrast:  whether,
	C.GF_STEP_random_equalize:      whether,
	C.GF_STEP_random_sharpness:     randomSharpness,
	C.GF_STEP_random_rotation:      randomRotation,
	C.GF_STEP_random_affine:        randomAffine,
	C.GF_STEP_random_perspective:   randomPerspective,
	C.GF_STEP_trivial_augment:      trivialAugment,
	C.GF_STEP_rand_augment:         randAugment,
	C.GF_STEP_auto_augment:         autoAugment,
	C.GF_STEP_augmix:               augMix,
	C.GF_STEP_channel_permutation:  channelPermutation,
	C.GF_STEP_photometric_distort:  photometricDistort,
	C.GF_STEP_random_resize:        randomResize,
	C.GF_STEP_random_shortest_size: randomShortestSize,
	C.GF_STEP_scale_jitter:         scaleJitter,
	C.GF_STEP_random_zoom_out:      randomZoomOut,
	C.GF_STEP_random_erasing:       randomErasing,
	C.GF_STEP_five_crop:            multiCrop,
	C.GF_STEP_ten_crop:             multiCrop,
	C.GF_STEP_random_apply:         randomApply,
	C.GF_STEP_random_choice:        randomChoice,
	C.GF_STEP_random_order:         randomOrder,
	C.GF_STEP_member:               member,
}

// kinds are step.h's, by their names in a plan.
var kinds = func() map[string]word {
	named := map[string]word{}
	for kind := range word(C.GF_STEP_KINDS) {
		named[C.GoString(C.gf_step_name(kind))] = kind
	}
	return named
}()

// What a plan's words stand for.
var (
	Filters = map[string]resample.Filter{"nearest": resample.Nearest, "box": resample.Box, "bilinear": resample.Bilinear,
		"hamming": resample.Hamming, "bicubic": resample.Bicubic, "lanczos": resample.Lanczos,
		"torch_bilinear": resample.TorchBilinear, "torch_bicubic": resample.TorchBicubic}
	Seen  = map[string]pixel.Seen{"nearest": pixel.SeenNearest, "bilinear": pixel.SeenBilinear, "bicubic": pixel.SeenBicubic}
	Modes = map[string]pixel.Edge{"constant": pixel.EdgeConstant, "edge": pixel.EdgeEdge, "reflect": pixel.EdgeReflect,
		"symmetric": pixel.EdgeSymmetric}
)

// Words is how many words a step of this name owns in a record.
func Words(op string) int { return int(C.gf_step_words(kinds[op])) }

// List is a compiled plan's steps, in C memory. They are as step.h says: all that
// is to be checked was. Free it once.
type List struct{ c *C.gf_steps }

// At is the inverse of Pointer.
func At(c unsafe.Pointer) List { return List{(*C.gf_steps)(c)} }

// Pointer is the place of the gf_steps.
func (l List) Pointer() unsafe.Pointer { return unsafe.Pointer(l.c) }

// Words is how many words a sample's record has.
func (l List) Words() int { return int(l.c.record_words) }

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
	Tangled       bool // what is erased hangs on more than its own words: on a container, or on a flip behind it
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
	c.n, c.record_words = word(len(l.steps)), word(l.words)
	if l.python {
		c.python = 1
	}
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
	if s.Op == "to_float" || s.Op == "to_uint8" || s.Op == "normalize" {
		return l.number(s)
	}
	kind, known := kinds[s.Op]
	if !known {
		return s.bad("no such operation")
	}
	c := step{kind: kind, version: 1, record: word(l.words), tensor: word(flag(s.Tensor))}
	switch s.Version {
	case "", "v1": // of what is the same in both, nobody says which
	case "v2":
		c.version = 2
	default:
		return s.bad("version %q", s.Version)
	}
	if err := operations[kind].read(s, &c); err != nil {
		return err
	}
	c.numbers = word(len(l.pool) * C.sizeof_double)
	for _, v := range s.Numbers {
		l.pool = append(l.pool, double(v))
	}
	container := s.Op == "random_apply" || c.members > 0
	l.python = l.python || c.members > 0 && c.version == 1
	movable := s.Op == "hflip" || s.Op == "vflip" || container // before and after the change to numbers alike
	if s.Op == "random_erasing" && !l.Tensor || s.Op != "random_erasing" && !movable && (l.Float || len(l.Erasures) > 0) {
		return s.bad("it stands on the wrong side of to_float")
	}
	if l.Crops > 0 || crops[s.Op] > 0 && (l.depth > 0 || l.Tensor) {
		return s.bad("the crops that a sample consists of are the last of its pictures")
	}
	l.Crops = crops[s.Op]
	if s.Op == "random_erasing" {
		erasure := Erasure{Word: l.words}
		for i, v := range c.value {
			erasure.Value[i] = float32(v)
		}
		if l.Erasures = append(l.Erasures, erasure); len(l.Erasures) > C.GF_MOST_ERASURES {
			return s.bad("there are more than %d", C.GF_MOST_ERASURES)
		}
		l.Tangled = l.Tangled || l.depth > 0
	} else if s.Op == "gaussian_blur" || s.Op == "random_perspective" {
		l.TorchWords = append(l.TorchWords, TorchWords{s.Op, l.words, append([]int{}, s.Kernel...), s.Version})
	} else if !container && len(l.Erasures) > 0 {
		l.Tangled = true
	}
	l.words += int(C.gf_step_words(kind) + c.happen)
	if !container {
		l.steps = append(l.steps, c)
		return nil
	}
	if l.depth++; l.depth > C.GF_MOST_NESTED {
		return s.bad("more than %d lie in one another", C.GF_MOST_NESTED)
	}
	defer func() { l.depth-- }()
	if c.members == 0 {
		return l.addAround(c, func() error { return l.add(s.Steps) })
	}
	return l.addAround(c, func() error {
		for _, steps := range s.Members {
			if err := l.addAround(step{kind: C.GF_STEP_member}, func() error { return l.add(steps) }); err != nil {
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

// number notes the steps that make numbers of bytes. They act on the finished
// sample, wherever flips stand between them.
func (l *compiler) number(s Step) error {
	switch {
	case l.depth > 0:
		return s.bad("it cannot happen to some samples only")
	case s.Op == "normalize":
		if !l.Float || l.Mean != nil || len(l.Erasures) > 0 {
			return s.bad("it is not the first after to_float")
		}
		if len(s.Mean) != len(s.Std) || len(s.Mean) != 1 && len(s.Mean) != 3 {
			return s.bad("mean %v, std %v", s.Mean, s.Std)
		}
		l.Mean, l.Std = s.Mean, s.Std
	case l.Float || len(l.Erasures) > 0:
		return s.bad("the tensor is finished already")
	case s.Op == "to_uint8":
		l.Tensor = true
	default:
		if l.Scale.UnmarshalText([]byte(s.How)) != nil {
			return s.bad("how is %q", s.How)
		}
		l.Tensor, l.Float = true, true
	}
	return nil
}

// numbersOf are a laid out step's own numbers.
func numbersOf(s *step, count int) []float64 {
	return unsafe.Slice((*float64)(unsafe.Add(unsafe.Pointer(s), s.numbers)), count)
}
