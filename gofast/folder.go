package gofast

import (
	"context"
	"slices"
	"strings"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/image"
	"github.com/gofast-org/gofast/gofast/image/jpeg"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/source/folder"
	"github.com/gofast-org/gofast/gofast/source/reader"
	"golang.org/x/sys/unix"
)

// FolderOptions are the options of OpenFolder. The zero value means a class for each
// sub-folder, torchvision's extensions, and Pillow 13's arithmetic and limit.
type FolderOptions struct {
	Kind       folder.Kind // folder.Classes, or folder.Flat and folder.Tree, which have no labels
	Extensions []string    // ends of file names, in either case; empty, but not nil: any
	Index      string      // file that keeps the list of files; "" for memory
	Threads    int         // of the scan; 0: one for each processor of this process.
	Seed       uint64      // of all random draws
	Limits     Limits      // Memory bounds the list of files
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
	o.Extensions = slices.Clone(o.Extensions)
	for i, extension := range o.Extensions {
		o.Extensions[i] = strings.ToLower(extension)
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

// OpenFolder scans a folder and compiles the plan, which must end in a tensor.
// Pictures are read when a batch needs them. The draws for a sample depend on the
// seed, the epoch, its index, and how many times that index came before in the
// batch. Python's rng="stateless" makes the same draws.
func OpenFolder(ctx context.Context, root string, plan image.Plan, options FolderOptions) (d *Dataset, err error) {
	defer leave(&err, "open")
	if options.Kind == "" {
		options.Kind = folder.Classes
	}
	return openPictures(ctx, folder.Options{Kind: options.Kind, Root: folder.Name(root)}, plan, options)
}

// OpenFiles is OpenFolder for files that are named one by one, whatever their names end in.
// They have no labels.
func OpenFiles(ctx context.Context, paths []string, plan image.Plan, options FolderOptions) (d *Dataset, err error) {
	defer leave(&err, "open")
	scan := folder.Options{Kind: folder.List}
	for _, file := range paths {
		scan.Paths = append(scan.Paths, folder.Name(file))
	}
	return openPictures(ctx, scan, plan, options)
}

func openPictures(ctx context.Context, scan folder.Options, plan image.Plan, options FolderOptions) (*Dataset, error) {
	options.complete()
	root := string(scan.Root)
	if plan.Output.Height == 0 {
		return nil, errs.New(errs.ErrConfig, "open", "the plan does not end in a tensor").At(root)
	}
	jpeg.KeepMarks()
	// A missing library is an error only for the files that need it.
	_ = image.LoadFormats(nil)
	scan.Threads, scan.Limits = options.Threads, options.Limits
	for _, extension := range options.Extensions {
		scan.Extensions = append(scan.Extensions, folder.Name(extension))
	}
	fd, schema, err := folder.Build(ctx, scan, options.Index)
	if err != nil {
		return nil, err
	}
	index, err := unix.Mmap(fd, 0, int(schema.Size), unix.PROT_READ, unix.MAP_SHARED)
	unix.Close(fd)
	if err != nil {
		return nil, errs.New(errs.ErrRead, "open", "cannot map the list of files").At(root).Because(err)
	}
	own, err := unix.Mmap(-1, 0, 8+int(schema.Count)*int(unsafe.Sizeof(source.Facts{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		_ = unix.Munmap(index)
		return nil, errs.New(errs.ErrLimit, "open", "no memory for what is found out about the pictures").At(root).Because(err)
	}
	unmap := func() { _, _ = unix.Munmap(index), unix.Munmap(own) } // cannot fail for mappings of ours
	base, epoch := uintptr(unsafe.Pointer(unsafe.SliceData(index))), unsafe.Pointer(unsafe.SliceData(own))
	targets := uintptr(0)
	if scan.Kind == folder.Classes {
		targets = base + uintptr(schema.SampleClassesOffset)
	}
	d, err := newPictures(plan, image.Files{
		Count: schema.Count, Targets: targets,
		Config: reader.Config{File: &reader.File{
			Root: string(schema.Root), Paths: base + uintptr(schema.PathsOffset), Offsets: base + uintptr(schema.PathOffsetsOffset)}},
		Seed: options.Seed, Epoch: uintptr(epoch), Facts: uintptr(epoch) + 8, Lasting: 1,
	}, options.Options)
	if err != nil {
		unmap()
		return nil, err
	}
	d.epoch, d.unmap = (*uint64)(epoch), unmap
	if schema.ClassNames != "" {
		d.Classes = strings.Split(strings.TrimSuffix(string(schema.ClassNames), "\x00"), "\x00")
	}
	for _, place := range schema.Unreadable {
		d.Unreadable = append(d.Unreadable, string(place))
	}
	return d, nil
}
