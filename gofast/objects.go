package gofast

import (
	"sync/atomic"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/image"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/source/reader"
	"golang.org/x/sys/unix"
)

// ObjectOptions are the options of OpenObjects. The zero value means pictures without
// labels, and Pillow 13's arithmetic and limit.
type ObjectOptions struct {
	Labels              []int32 // one for each picture
	Seed                uint64  // of all random draws
	source.FetchOptions         // of objects that are not local files
	image.Options
}

// objects are what the pictures of a dataset are ranges of.
type objects struct {
	all     []source.Object
	extents []source.Extent
	fetcher *source.Fetcher // nil: all are local files, which the engine's threads read
	running atomic.Bool     // an iteration that fetches: two could each hold memory that the other waits for
}

// OpenObjects is OpenFolder for pictures that are ranges of objects, such as the members of
// a tar. What lies in local files is read by the engine's threads. Anything else is fetched
// into memory before a batch is drawn and submitted, and then one iteration at a time may
// run. The draws are OpenFolder's. Close closes the objects too.
func OpenObjects(all []source.Object, extents []source.Extent, plan image.Plan, options ObjectOptions) (d *Dataset, err error) {
	defer leave(&err, "open")
	completed := FolderOptions{Options: options.Options}
	completed.complete()
	switch {
	case plan.Output.Height == 0:
		return nil, errs.New(errs.ErrConfig, "open", "the plan does not end in a tensor")
	case options.Labels != nil && len(options.Labels) != len(extents):
		return nil, errs.New(errs.ErrConfig, "open", "there is not one label for each picture")
	}
	// A missing library is an error only for the files that need it.
	_ = image.LoadFormats(nil)
	extents, err = source.Within(all, extents)
	if err != nil {
		return nil, err
	}
	o := &objects{all: all, extents: extents}
	files := image.Files{Count: int64(len(extents)), Seed: options.Seed}
	own, err := o.layOut(&files, options)
	if err != nil {
		return nil, err
	}
	d, err = newPictures(plan, files, completed.Options)
	if err != nil {
		_ = unix.Munmap(own)
		o.stop()
		return nil, err
	}
	d.objects, d.epoch, d.maps = o, (*uint64)(unsafe.Pointer(unsafe.SliceData(own))), [][]byte{own}
	return d, nil
}

// layOut puts into memory what C reads of files or of samples that will be fetched.
func (o *objects) layOut(files *image.Files, options ObjectOptions) (own []byte, err error) {
	paths, offsets, stamps, local := o.local()
	found := make([]source.Facts, len(o.extents))
	own, at, err := mapped(bytesOf([]uint64{0}), bytesOf(found), bytesOf(options.Labels), bytesOf(o.extents), bytesOf(offsets), bytesOf(stamps), paths)
	if err != nil {
		return nil, err
	}
	files.Epoch, files.Facts = at[0], at[1]
	if options.Labels != nil {
		files.Targets = at[2]
	}
	if local {
		files.Extents = at[3]
		files.File = &reader.File{Offsets: at[4], Stamps: at[5], Paths: at[6]}
		return own, nil
	}
	if o.fetcher, err = source.NewFetcher(o.all, o.extents, options.FetchOptions); err != nil {
		_ = unix.Munmap(own)
		return nil, err
	}
	starts, lengths := o.fetcher.Arrays()
	files.Memory = &reader.Memory{Starts: starts, Lengths: lengths}
	return own, nil
}

// local describes objects that are all local files.
func (o *objects) local() (paths []byte, offsets []uint64, stamps []source.Stamp, ok bool) {
	for _, object := range o.all {
		file, ok := object.(*source.Local)
		if !ok {
			return nil, nil, nil, false
		}
		offsets, stamps = append(offsets, uint64(len(paths))), append(stamps, file.Stamp())
		paths = append(append(paths, file.Path()...), 0)
	}
	return paths, offsets, stamps, true
}

// path is that of a sample's object.
func (o *objects) path(sample int64) string { return o.all[o.extents[sample].Object].Path() }

// missing says why a sample was not fetched; nil if it was.
func (o *objects) missing(sample int64) *errs.Error {
	if o.fetcher == nil {
		return nil
	}
	return o.fetcher.Err(sample)
}

// stop ends what is on its way.
func (o *objects) stop() {
	if o.fetcher != nil {
		o.fetcher.Close()
	}
}

func (o *objects) close() {
	o.stop()
	for _, object := range o.all {
		_ = object.Close() // nothing was written
	}
}

// mapped lays arrays one behind the other in memory outside of Go's heap, where C may point
// to them.
func mapped(arrays ...[]byte) (memory []byte, at []uintptr, err error) {
	size := 0
	for _, a := range arrays {
		size += (len(a) + 7) &^ 7
	}
	memory, err = unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, nil, errs.New(errs.ErrLimit, "open", "no memory for the list of pictures").Because(err)
	}
	rest := memory
	for _, a := range arrays {
		at = append(at, uintptr(unsafe.Pointer(unsafe.SliceData(rest))))
		rest = rest[(copy(rest, a)+7)&^7:]
	}
	return memory, at, nil
}

func bytesOf[T any](values []T) []byte {
	var one T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*int(unsafe.Sizeof(one)))
}
