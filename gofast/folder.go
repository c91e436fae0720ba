package gofast

import (
	"cmp"
	"context"
	"fmt"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/image"
	"github.com/gofast-org/gofast/gofast/image/jpeg"
	"github.com/gofast-org/gofast/gofast/image/png"
	"github.com/gofast-org/gofast/gofast/image/steps"
	"github.com/gofast-org/gofast/gofast/image/webp"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/fault"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/source/folder"
	"github.com/gofast-org/gofast/gofast/table/gather"
	"golang.org/x/sys/unix"
)

// Folder is a folder of pictures, one sub-folder a class, with what is made of
// them, for Go callers. Close it when no iteration over it is running.
type Folder struct {
	folder.Schema
	index, sizes []byte
	program      image.Program
	view         engine.View
	seed, epoch  uint64
	dtype        string // of a batch
}

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
func OpenFolder(ctx context.Context, root string, plan image.Plan, options FolderOptions) (*Folder, error) {
	options.complete()
	if plan.Output.Height == 0 {
		return nil, errs.New(errs.ErrConfig, "open", "the plan does not end in a tensor").At(root)
	}
	// A library that is missing is an error of the files that need it.
	_, _, _ = jpeg.Load(""), png.Load(""), webp.Load("")
	scan := folder.Options{Kind: folder.Classes, Root: folder.Name(root), Threads: options.Threads, Limits: options.Limits}
	for _, extension := range options.Extensions {
		scan.Extensions = append(scan.Extensions, folder.Name(extension))
	}
	fd, schema, err := folder.Build(ctx, scan, options.Index)
	if err != nil {
		return nil, err
	}
	f := &Folder{Schema: schema, seed: options.Seed}
	f.index, err = unix.Mmap(fd, 0, int(schema.Size), unix.PROT_READ, unix.MAP_SHARED)
	unix.Close(fd)
	if err == nil {
		f.sizes, err = unix.Mmap(-1, 0, int(8*max(schema.Count, 1)), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	}
	if err != nil {
		f.Close()
		return nil, errs.New(errs.ErrRead, "open", "cannot map the list of files").At(root).Because(err)
	}
	if err := f.compile(plan, options.Options); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (f *Folder) compile(plan image.Plan, options image.Options) error {
	base := uintptr(unsafe.Pointer(unsafe.SliceData(f.index)))
	out, err := gather.OutNamed(plan.Output.DType)
	if err != nil {
		return err
	}
	f.program, err = image.NewProgram(plan, image.Files{
		Count: f.Count, Root: string(f.Root),
		Paths: base + uintptr(f.PathsOffset), Offsets: base + uintptr(f.PathOffsetsOffset), Targets: base + uintptr(f.SampleClassesOffset),
		Sizes: uintptr(unsafe.Pointer(unsafe.SliceData(f.sizes))),
	}, options)
	if err != nil {
		return err
	}
	o := plan.Output
	f.dtype = cmp.Or(o.DType, "float32")
	shape := []int{o.Channels, o.Height, o.Width}
	if o.ChannelsLast {
		shape = []int{o.Height, o.Width, o.Channels}
	}
	f.view, err = image.NewView([]image.Part{{Program: f.program, Count: f.Count}}, 0, 0, out, shape, true)
	return err
}

// Close releases the folder's memory.
func (f *Folder) Close() {
	if f.view != (engine.View{}) {
		f.view.Free()
		f.view = engine.View{}
	}
	if f.program != (image.Program{}) {
		f.program.Free()
		f.program = image.Program{}
	}
	for _, m := range []*[]byte{&f.index, &f.sizes} {
		if *m != nil {
			_ = unix.Munmap(*m) // cannot fail for a mapping of ours
			*m = nil
		}
	}
}

// SetEpoch changes what is drawn from the next batch on.
func (f *Folder) SetEpoch(epoch uint64) { f.epoch = epoch }

// Path is the path of a sample's file.
func (f *Folder) Path(sample int64) string {
	base := unsafe.Pointer(unsafe.SliceData(f.index))
	offsets := unsafe.Slice((*uint64)(unsafe.Add(base, f.PathOffsetsOffset)), f.Count+1)
	paths := f.index[f.PathsOffset:][:f.PathsSize]
	return string(f.Root) + string(paths[offsets[sample]:offsets[sample+1]-1])
}

func (f *Folder) samples() engine.View { return f.view }

func (f *Folder) types() (features, labels string) { return f.dtype, "int64" }

func (f *Folder) draw(indices []int64) ([]byte, error) {
	if f.program.RecordWords() == 0 {
		return nil, nil
	}
	samples, before := make([]steps.Sample, len(indices)), map[int64]int32{}
	for i, index := range indices {
		if index < 0 {
			index += f.Count
		}
		size, err := f.size(index)
		if err != nil {
			return nil, err
		}
		samples[i] = steps.Sample{Index: index, Occurrence: before[index], Size: size}
		before[index]++
	}
	records, err := f.program.Draw(f.seed, f.epoch, samples)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(records))), 4*len(records)), nil
}

func (f *Folder) size(sample int64) (steps.Size, error) {
	if sample < 0 || sample >= f.Count {
		return steps.Size{}, errs.New(errs.ErrIndex, "batches", fmt.Sprintf("there are %d pictures", f.Count)).AtIndex(sample)
	}
	size, err := f.program.Size(sample)
	if e, ok := err.(*errs.Error); ok {
		err = e.At(f.Path(sample)).AtIndex(sample)
	}
	return size, err
}

func (f *Folder) failure(slot engine.Slot, indices []int64) error {
	faults := slot.Faults()
	if len(faults) == 0 {
		return outOfRange(slot, "pictures", f.Count)
	}
	first := faults[0]
	index := indices[first.Position]
	if index < 0 {
		index += f.Count
	}
	return fault.Error(first.Code, "image", first.Offset, first.Text).At(f.Path(index)).AtIndex(index)
}
