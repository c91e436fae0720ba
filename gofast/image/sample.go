package image

/*
#include <stdlib.h>
#include "image.h"
*/
import "C"

import (
	"fmt"
	stdimage "image"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/image/steps"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/fault"
)

func failure(f *C.gf_fault) error {
	return fault.Error(fault.Code(f.code), "image", int64(f.offset), C.GoString(&f.text[0]))
}

// Count is the number of files.
func (p Program) Count() int64 { return int64(p.c.count) }

// SampleBytes is the size of a sample's tensor; 0 where samples are pictures.
func (p Program) SampleBytes() int {
	if p.c.output == C.GF_IMAGE_PICTURE {
		return 0
	}
	return int(p.c.width) * int(p.c.height) * int(p.c.channels) * int(p.c.normalise.numbers.size)
}

// Size is the width and height of a sample's picture, from the file's header
// where nobody has asked before.
func (p Program) Size(sample int64) (steps.Size, error) {
	if sample < 0 || sample >= p.Count() {
		return steps.Size{}, errs.New(errs.ErrIndex, "image", fmt.Sprintf("there are %d files", p.Count())).AtIndex(sample)
	}
	var size C.gf_draw_size
	var f C.gf_fault
	if C.gf_image_size(p.c, C.int64_t(sample), &size, &f) != 0 {
		return steps.Size{}, failure(&f)
	}
	return steps.Size{Width: int32(size.width), Height: int32(size.height)}, nil
}

// Draw draws for samples, each from a stream of its own that depends on seed,
// epoch, index and occurrence only: RecordWords words a sample.
func (p Program) Draw(seed, epoch uint64, samples []steps.Sample) ([]int32, error) {
	records := make([]int32, p.RecordWords()*len(samples))
	if code, result := p.steps().Stateless(seed, epoch, samples, records); code != steps.OK {
		return nil, errs.New(errs.ErrValue, "image", result.Text).AtIndex(samples[result.Done].Index)
	}
	return records, nil
}

// FromPicture makes a sample of a decoded picture, whose alpha is not looked
// at, into out, which holds SampleBytes.
func (p Program) FromPicture(picture *stdimage.RGBA, record []int32, out []byte) error {
	if p.c.output == C.GF_IMAGE_PICTURE || len(out) != p.SampleBytes() {
		return errs.New(errs.ErrConfig, "image", fmt.Sprintf("%d bytes for a sample of %d", len(out), p.SampleBytes()))
	}
	return p.run(picture, record, unsafe.Pointer(unsafe.SliceData(out)))
}

// PictureFrom is FromPicture for plans whose samples are pictures.
func (p Program) PictureFrom(picture *stdimage.RGBA, record []int32) (*stdimage.RGBA, error) {
	if p.c.output != C.GF_IMAGE_PICTURE {
		return nil, errs.New(errs.ErrConfig, "image", "the plan makes tensors")
	}
	var made C.gf_made_picture
	if err := p.run(picture, record, unsafe.Pointer(&made)); err != nil {
		return nil, err
	}
	defer C.free(unsafe.Pointer(made.data))
	out := stdimage.NewRGBA(stdimage.Rect(0, 0, int(made.width), int(made.height)))
	copy(out.Pix, unsafe.Slice((*byte)(made.data), len(out.Pix)))
	return out, nil
}

func (p Program) run(picture *stdimage.RGBA, record []int32, x unsafe.Pointer) error {
	width, height := picture.Rect.Dx(), picture.Rect.Dy()
	if len(record) != p.RecordWords() {
		return errs.New(errs.ErrConfig, "image", fmt.Sprintf("a record of %d words instead of %d", len(record), p.RecordWords()))
	}
	if width < 1 || height < 1 || width > maxPixels/height {
		return errs.New(errs.ErrConfig, "image", fmt.Sprintf("a picture of %d x %d", width, height))
	}
	row := 4 * width
	pixels := C.malloc(C.size_t(row*height + C.GF_RESIZE_SLACK)) // kernels read a little behind the last row
	defer C.free(pixels)
	for y := range height {
		line := unsafe.Slice((*byte)(unsafe.Add(pixels, y*row)), row)
		copy(line, picture.Pix[y*picture.Stride:])
		for x := 3; x < row; x += 4 {
			line[x] = 255
		}
	}
	source := C.gf_picture{data: (*C.uint8_t)(pixels), stride: C.int64_t(row), width: C.int32_t(width), height: C.int32_t(height)}
	var f C.gf_fault
	if C.gf_image_from_picture(p.c, source, (*C.int32_t)(unsafe.SliceData(record)), (*C.uint8_t)(x), &f) != 0 {
		return failure(&f)
	}
	return nil
}
