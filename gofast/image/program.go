package image

/*
#cgo CFLAGS: -O3 -std=gnu11 -Wall -Wextra
#include <stdlib.h>
#include "image.h"

static void *as_pointer(uintptr_t address) { return (void *)address; }
static void free_reader(gf_reader *r) { if (r) r->free(r); }
static void choose_pixels(gf_image_program *p) { p->pixels = gf_pixel_choose(gf_pixel_level()); }
*/
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/image/pixel"
	_ "github.com/gofast-org/gofast/gofast/image/resample" // for its C functions
	"github.com/gofast-org/gofast/gofast/image/steps"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/meter"
	_ "github.com/gofast-org/gofast/gofast/internal/store" // for the form of records
	"github.com/gofast-org/gofast/gofast/numbers"
	"github.com/gofast-org/gofast/gofast/source/kept"
	"github.com/gofast-org/gofast/gofast/source/reader"
)

// Files are the pictures of a dataset: how they are read, and arrays that outlive
// the program, of which the facts are found on the way.
type Files struct {
	Count int64 `json:"count"`
	reader.Config
	Seed    uint64       `json:"seed"`    // of random draws that do not come from torch's generator
	Epoch   uintptr      `json:"epoch"`   // address of a uint64 that these depend on too; 0 without
	Targets uintptr      `json:"targets"` // address of int32[count], the labels; 0 without
	Extents uintptr      `json:"extents"` // address of source.Extent[count]; 0: each sample is all of the object of its number
	Facts   uintptr      `json:"facts"`   // address of gf_facts[count] (reader/extent.h), zeros at first
	Mapped  uintptr      `json:"mapped"`  // address of a gf_facts_file, where they are mapped from, on whole pages and read-only; 0: they are memory
	Lasting uint32       `json:"lasting"` // 1: they come again in each epoch
	Stored  *Stored      `json:"stored"`  // they are no files, but pixels in memory: then no reader, extents and facts are needed
	Kept    *kept.Config `json:"kept"`    // where that is kept which the certain steps make, if there are any; nil: nowhere
}

// Stored are pictures of one size, as pixels in memory that outlives the program: stored.h.
type Stored struct {
	Data     uintptr  `json:"data"`    // address of the first picture's first pixel
	Strides  [4]int64 `json:"strides"` // bytes from a picture, row, pixel and channel to the next
	Width    int32    `json:"width"`
	Height   int32    `json:"height"`
	Channels int32    `json:"channels"` // 3, or 1: grey
}

func (s *Stored) check() error {
	if s.Data == 0 || s.Width < 1 || s.Height < 1 || s.Width > steps.MaxSide || s.Height > steps.MaxSide || s.Channels != 1 && s.Channels != 3 {
		return errs.New(errs.ErrConfig, "plan", fmt.Sprintf("stored pictures of %dx%d with %d channels", s.Width, s.Height, s.Channels))
	}
	return nil
}

// Options are what a program does beside its plan.
type Options struct {
	PassOrder    string `json:"pass_order"`     // Pillow's: "13", "12.2" or "horizontal"
	MaxPixels    int64  `json:"max_pixels"`     // pictures with more are left to Pillow
	MaxFileBytes int64  `json:"max_file_bytes"` // and so are longer files
}

var passOrders = map[string]C.int32_t{"13": C.GF_ORDER_PILLOW_13, "12.2": C.GF_ORDER_PILLOW_12_2, "horizontal": C.GF_ORDER_HORIZONTAL}

// Program is a plan and its files in C memory. Free it once, after its views.
type Program struct{ c *C.gf_image_program }

// streamed is the size in bytes from which on a sample's stores bypass the caches. A batch of smaller ones stays in the
// caches for its reader, and their many short rows would be stored in parts of cache lines.
const streamed = 64 << 10

// NewProgram checks a plan and lays it out.
func NewProgram(plan Plan, files Files, options Options) (Program, error) {
	order, ok := passOrders[options.PassOrder]
	if !ok {
		return Program{}, errs.New(errs.ErrConfig, "plan", fmt.Sprintf("pass order %q is unknown", options.PassOrder))
	}
	if options.MaxFileBytes < 0 {
		return Program{}, errs.New(errs.ErrConfig, "plan", "max_file_bytes is below 0")
	}
	if options.MaxPixels > maxPixels {
		return Program{}, errs.New(errs.ErrConfig, "plan", fmt.Sprintf("max_pixels %d is more than %d", options.MaxPixels, maxPixels))
	}
	list, made, err := steps.Compile(plan.Steps)
	if err != nil {
		return Program{}, err
	}
	c := (*C.gf_image_program)(C.calloc(1, C.sizeof_gf_image_program))
	if c == nil {
		list.Free()
		return Program{}, errs.New(errs.ErrLimit, "plan", "no memory for a program")
	}
	p := Program{c}
	c.steps = (*C.gf_steps)(list.Pointer())
	if plan.AnySize {
		list.IgnoreSizes()
	}
	if err := p.setOutput(plan.Output, &made); err != nil {
		p.Free()
		return Program{}, err
	}
	c.pass_order, c.max_pixels, c.count = order, C.int64_t(options.MaxPixels), C.int64_t(files.Count)
	if files.Stored != nil {
		s := files.Stored
		if err := s.check(); err != nil {
			p.Free()
			return Program{}, err
		}
		c.stored = C.gf_stored{
			data:    (*C.uint8_t)(C.as_pointer(C.uintptr_t(s.Data))),
			picture: C.int64_t(s.Strides[0]), row: C.int64_t(s.Strides[1]), pixel: C.int64_t(s.Strides[2]), channel: C.int64_t(s.Strides[3]),
			width: C.int32_t(s.Width), height: C.int32_t(s.Height), channels: C.int32_t(s.Channels),
		}
	} else if files.Count > 0 {
		made, err := reader.New(files.Config, options.MaxFileBytes)
		if err != nil {
			p.Free()
			return Program{}, err
		}
		c.reader = (*C.gf_reader)(made)
	}
	c.lasting = C.uint32_t(files.Lasting)
	c.seed = C.uint64_t(files.Seed)
	c.epoch = (*C.uint64_t)(C.as_pointer(C.uintptr_t(files.Epoch)))
	c.targets = (*C.int32_t)(C.as_pointer(C.uintptr_t(files.Targets)))
	c.extents = (*C.gf_extent)(C.as_pointer(C.uintptr_t(files.Extents)))
	c.facts = (*C.gf_facts)(C.as_pointer(C.uintptr_t(files.Facts)))
	c.facts_file = (*C.gf_facts_file)(C.as_pointer(C.uintptr_t(files.Mapped)))
	C.choose_pixels(c)
	if files.Kept != nil {
		if err := p.keep(plan, *files.Kept, options); err != nil {
			p.Free()
			return Program{}, err
		}
	}
	return p, nil
}

// keep makes the programs of the plan's two parts, and what they meet at.
func (p Program) keep(plan Plan, config kept.Config, options Options) error {
	certain, rest := plan.Split()
	made, err := NewProgram(certain, Files{}, options)
	if err != nil {
		return err
	}
	p.c.certain = made.c
	made.c.output = C.GF_IMAGE_RECORD
	bytes := pixel.Spec{Spec: numbers.Spec{Type: numbers.Uint8, Channels: 3, Last: true}}
	bytes.LayOut(unsafe.Pointer(&made.c.normalise), pixel.Best)
	if made, err = NewProgram(rest, Files{}, options); err != nil {
		return err
	}
	p.c.rest = made.c
	records, err := kept.New(config)
	p.c.kept = (*C.struct_gf_kept)(records)
	return err
}

// setOutput says what a sample is, and prepares its numbers.
func (p Program) setOutput(o Output, l *steps.Numbers) error {
	if o.isPicture() {
		p.c.output = C.GF_IMAGE_PICTURE
		return o.checkPicture(l)
	}
	spec, err := o.spec(l)
	if err != nil {
		return err
	}
	if o.Raw {
		p.c.raw = 1
		spec = numbers.Spec{Type: numbers.Uint8, Channels: spec.Channels, Last: spec.Last}
	}
	p.c.output = C.GF_IMAGE_TENSOR
	p.c.width, p.c.height, p.c.channels = C.int32_t(o.Width), C.int32_t(o.Height), C.int32_t(o.Channels)
	p.c.crops = C.int32_t(o.Crops)
	if o.ChannelsLast {
		p.c.last = 1
	}
	size := o.Width * o.Height * o.Channels * spec.Type.Size()
	laidOut := pixel.Spec{Stream: size >= streamed, Spec: spec}
	laidOut.LayOut(unsafe.Pointer(&p.c.normalise), pixel.Best)
	return nil
}

// Free releases the program.
func (p Program) Free() {
	for _, part := range []*C.gf_image_program{p.c.certain, p.c.rest} {
		if part != nil {
			Program{part}.Free()
		}
	}
	kept.Free(unsafe.Pointer(p.c.kept))
	C.free_reader(p.c.reader)
	C.free(unsafe.Pointer(p.c.steps))
	C.free(unsafe.Pointer(p.c))
}

// Address is the program's place in C memory.
func (p Program) Address() uintptr { return uintptr(unsafe.Pointer(p.c)) }

func (p Program) steps() steps.List { return steps.At(unsafe.Pointer(p.c.steps)) }

// RecordWords is the number of int32 that are drawn for a sample.
func (p Program) RecordWords() int { return p.steps().RecordWords() }

// Sample is what the program makes of a file.
func (p Program) Sample() engine.Sample {
	made := engine.Sample{Type: numbers.Uint8, Shape: []int{C.sizeof_gf_made_picture}, RecordBytes: 4 * int64(p.RecordWords()),
		Fill: unsafe.Pointer(C.gf_image_fill), Hint: unsafe.Pointer(C.gf_image_hint), JobRows: 1, Stage: meter.Read}
	if p.c.targets != nil {
		made.LabelBytes = 8
	}
	if p.c.stored.data != nil { // nothing to fetch, and a few microseconds each
		made.Hint, made.JobRows = nil, 0
	}
	if p.c.output == C.GF_IMAGE_PICTURE {
		return made
	}
	channels, height, width := int(p.c.channels), int(p.c.height), int(p.c.width)
	made.Type, made.Shape = numbers.Type(p.c.normalise.numbers._type), []int{channels, height, width}
	if p.c.last != 0 {
		made.Shape = []int{height, width, channels}
	}
	if p.c.crops > 0 {
		made.Shape = append([]int{int(p.c.crops)}, made.Shape...)
	}
	return made
}

// IsFused tells from one value that torch drew how its uniform_ rounds: 1 once, 0
// twice, -1 in neither way.
func IsFused(value float32) int {
	fused, known := steps.IsFused(value)
	switch {
	case !known:
		return -1
	case fused:
		return 1
	default:
		return 0
	}
}
