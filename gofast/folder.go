package gofast

import (
	"cmp"
	"context"
	"fmt"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/image"
	"github.com/gofast-org/gofast/gofast/image/draw"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/fault"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/source/folder"
	"github.com/gofast-org/gofast/gofast/source/reader"
	"github.com/gofast-org/gofast/gofast/table/gather"
	"golang.org/x/sys/unix"
)

// FolderOptions shape what OpenFolder makes. The zero value has torchvision's
// extensions and Pillow 13's arithmetic and limit.
type FolderOptions struct {
	Extensions []string // lower-case ends of file names
	Index      string   // file that keeps the list of files; "" for memory
	Threads    int      // of the scan; 0: Threads()
	Seed       uint64   // of all that is drawn
	Limits     limits.Limits
	image.Options
}

// pictureExtensions are torchvision's.
var pictureExtensions = []string{".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp"}

const (
	pillowPixels = 1 << 30 / 4 / 3 // Pillow's MAX_IMAGE_PIXELS
	mostBytes    = 1 << 30
)

func (o *FolderOptions) complete() {
	if o.Extensions == nil {
		o.Extensions = pictureExtensions
	}
	if o.PassOrder == "" {
		o.PassOrder = "13"
	}
	if o.MaxPixels == 0 {
		o.MaxPixels = pillowPixels
	}
	if o.MaxFileBytes == 0 {
		o.MaxFileBytes = mostBytes
	}
}

// OpenFolder scans a folder and compiles the plan, which ends in a tensor.
// Pictures are read when a batch needs them. What is drawn for a sample depends
// on the seed, the epoch, its index and how often that came before in the batch:
// Python's rng="stateless" draws the same.
func OpenFolder(ctx context.Context, root string, plan image.Plan, options FolderOptions) (*Dataset, error) {
	options.complete()
	if plan.Output.Height == 0 {
		return nil, errs.New(errs.ErrConfig, "open", "the plan does not end in a tensor").At(root)
	}
	// A library that is missing is an error of the files that need it.
	_ = image.LoadFormats(nil)
	scan := folder.Options{Kind: folder.Classes, Root: folder.Name(root), Threads: options.Threads, Limits: options.Limits}
	for _, extension := range options.Extensions {
		scan.Extensions = append(scan.Extensions, folder.Name(extension))
	}
	fd, schema, err := folder.Build(ctx, scan, options.Index)
	if err != nil {
		return nil, err
	}
	p := &pictures{Schema: schema, seed: options.Seed}
	o := plan.Output
	d := &Dataset{Shape: []int{o.Channels, o.Height, o.Width}, DType: cmp.Or(o.DType, "float32"), LabelDType: "int64", samples: p}
	for _, class := range schema.Classes {
		d.Classes = append(d.Classes, string(class))
	}
	if o.ChannelsLast {
		d.Shape = []int{o.Height, o.Width, o.Channels}
	}
	p.index, err = unix.Mmap(fd, 0, int(schema.Size), unix.PROT_READ, unix.MAP_SHARED)
	unix.Close(fd)
	if err == nil {
		d.maps = append(d.maps, p.index)
		p.sizes, err = unix.Mmap(-1, 0, int(8*max(schema.Count, 1)), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	}
	if err != nil {
		d.Close()
		return nil, errs.New(errs.ErrRead, "open", "cannot map the list of files").At(root).Because(err)
	}
	d.maps = append(d.maps, p.sizes)
	if err := p.compile(d, plan, options.Options); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// pictures are the files of a folder, and what is drawn for them.
type pictures struct {
	folder.Schema
	index, sizes []byte
	program      image.Program
	seed, epoch  uint64
}

func (p *pictures) compile(d *Dataset, plan image.Plan, options image.Options) error {
	out, err := gather.OutNamed(d.DType)
	if err != nil {
		return err
	}
	base := uintptr(unsafe.Pointer(unsafe.SliceData(p.index)))
	p.program, err = image.NewProgram(plan, image.Files{
		Count: p.Count, Targets: base + uintptr(p.SampleClassesOffset),
		Config: reader.Config{File: &reader.File{
			Root: string(p.Root), Paths: base + uintptr(p.PathsOffset), Offsets: base + uintptr(p.PathOffsetsOffset)}},
		Sizes: uintptr(unsafe.Pointer(unsafe.SliceData(p.sizes))),
	}, options)
	if err != nil {
		return err
	}
	d.program = p.program
	d.view, err = image.NewView([]image.Part{{Program: p.program, Count: p.Count}}, 0, 0, out, d.Shape, true)
	return err
}

func (p *pictures) path(sample int64) string {
	base := unsafe.Pointer(unsafe.SliceData(p.index))
	offsets := unsafe.Slice((*uint64)(unsafe.Add(base, p.PathOffsetsOffset)), p.Count+1)
	paths := p.index[p.PathsOffset:][:p.PathsSize]
	return string(p.Root) + string(paths[offsets[sample]:offsets[sample+1]-1])
}

func (p *pictures) draw(indices []int64) ([]byte, error) {
	if p.program.RecordWords() == 0 {
		return nil, nil
	}
	samples, before := make([]draw.Sample, len(indices)), map[int64]int32{}
	for i, index := range indices {
		if index < 0 {
			index += p.Count
		}
		size, err := p.size(index)
		if err != nil {
			return nil, err
		}
		samples[i] = draw.Sample{Index: index, Occurrence: before[index], Size: size}
		before[index]++
	}
	records, err := p.program.Draw(p.seed, p.epoch, samples)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(records))), 4*len(records)), nil
}

func (p *pictures) size(sample int64) (draw.Size, error) {
	if sample < 0 || sample >= p.Count {
		return draw.Size{}, errs.New(errs.ErrIndex, "batches", fmt.Sprintf("there are %d pictures", p.Count)).AtIndex(sample)
	}
	size, err := p.program.Size(sample)
	if e, ok := err.(*errs.Error); ok {
		err = e.At(p.path(sample)).AtIndex(sample)
	}
	return size, err
}

func (p *pictures) failure(slot engine.Slot, indices []int64) error {
	faults := slot.Faults()
	if len(faults) == 0 {
		return outOfRange(slot, "pictures", p.Count)
	}
	first := faults[0]
	index := indices[first.Position]
	if index < 0 {
		index += p.Count
	}
	return fault.Error(first.Code, "image", first.Offset, first.Text).At(p.path(index)).AtIndex(index)
}
