package folder

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/internal/atomicfile"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/pool"
)

// Schema describes an index and says where its arrays lie.
type Schema struct {
	Count        int64  `json:"count"`
	Classes      []Name `json:"classes"`       // sorted; none in kinds without classes
	EmptyClasses []Name `json:"empty_classes"` // those without a sample
	Root         Name   `json:"root"`          // comes before every path
	// Unreadable are the directories that could not be read, at most 100 of them.
	Unreadable []Name `json:"unreadable"`
	Circles    []Name `json:"-"`      // what Options.LeaveCircles left out, at most 100 of them
	Reused     bool   `json:"reused"` // the index file existed and is valid

	Size                int64 `json:"size"`
	PathOffsetsOffset   int64 `json:"path_offsets_offset"`   // uint64[count + 1], offsets in the paths
	SampleClassesOffset int64 `json:"sample_classes_offset"` // int32[count]
	PathsOffset         int64 `json:"paths_offset"`          // strings that end with a zero
	PathsSize           int64 `json:"paths_size"`
}

// mostNamed are the directories that a list of a Schema names.
const mostNamed = 100

// Schema describes the index.
func (x *Index) Schema() Schema {
	h := &x.header
	s := Schema{
		Count: h.Count, Classes: []Name{}, EmptyClasses: []Name{}, Unreadable: []Name{}, Root: Name(x.Root()), Size: h.Size,
		PathOffsetsOffset: h.PathOffsets.At, SampleClassesOffset: h.SampleClasses.At, PathsOffset: h.Paths.At, PathsSize: h.Paths.Bytes,
	}
	for i, class := range x.classes {
		s.Classes = append(s.Classes, Name(class))
		if x.Samples(i) == 0 {
			s.EmptyClasses = append(s.EmptyClasses, Name(class))
		}
	}
	for i := 0; i < int(h.PlaceCount); i++ {
		switch record, path := x.place(i); {
		case record.Kind == unreadable && len(s.Unreadable) < mostNamed:
			s.Unreadable = append(s.Unreadable, Name(path))
		case record.Kind == circle && len(s.Circles) < mostNamed:
			s.Circles = append(s.Circles, Name(path))
		}
	}
	return s
}

// Build returns the descriptor of an index. The caller owns it and can map it. With
// a path, it is the descriptor of that file: the existing file if nothing changed, or
// a new one in its place. If several processes build it, one scans and the others
// wait. Without a path, it is the descriptor of sealed memory.
//
// A folder without a class, or with classes without a sample, is not an error here.
func Build(ctx context.Context, options Options, path string) (fd int, schema Schema, err error) {
	defer pool.Recover(&err, op, path)
	if err := options.check(); err != nil {
		return -1, Schema{}, err
	}
	if path == "" {
		return inMemory(ctx, &options)
	}
	if options.Kind == List {
		return -1, Schema{}, fail(errs.ErrConfig, path, "a list of paths has no index file")
	}
	since := options.now().UnixNano()
	fd, schema, err = reuse(ctx, &options, path, 1<<63-1)
	if err == nil || errors.Is(err, errs.ErrCanceled) {
		return fd, schema, err
	}
	file, err := atomicfile.Begin(ctx, op, path)
	if err != nil {
		return -1, Schema{}, err
	}
	defer file.Release()
	fd, schema, err = reuse(ctx, &options, path, since) // built while we waited
	if err == nil || errors.Is(err, errs.ErrCanceled) {
		return fd, schema, err
	}
	data, err := encoded(ctx, &options)
	if err != nil {
		return -1, Schema{}, err
	}
	if err := write(file.Part, data); err != nil {
		return -1, Schema{}, fail(errs.ErrRead, path, "cannot write the index: is the disk full?").Because(err)
	}
	// Opened under its first name, which only the holder of the lock may replace.
	own, err := openFile(file.Part.Name())
	if err != nil {
		return -1, Schema{}, err
	}
	defer own.Close()
	if err := file.Commit(); err != nil {
		return -1, Schema{}, err
	}
	return describe(ctx, &options, data, own)
}

// reuse takes the existing file.
func reuse(ctx context.Context, options *Options, path string, since int64) (int, Schema, error) {
	file, err := openFile(path)
	if err != nil {
		return -1, Schema{}, err
	}
	defer file.Close()
	x, err := load(ctx, file, options, since)
	if err != nil {
		return -1, Schema{}, err
	}
	defer x.Close()
	schema := x.Schema()
	schema.Reused = true
	fd, err := keep(file)
	return fd, schema, err
}

func inMemory(ctx context.Context, options *Options) (int, Schema, error) {
	data, err := encoded(ctx, options)
	if err != nil {
		return -1, Schema{}, err
	}
	memory, err := unix.MemfdCreate("gofast-index", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return -1, Schema{}, fail(errs.ErrLimit, string(options.Root), "cannot create shared memory").Because(err)
	}
	file := os.NewFile(uintptr(memory), "gofast-index")
	defer file.Close()
	if err := write(file, data); err != nil {
		return -1, Schema{}, fail(errs.ErrLimit, string(options.Root), "cannot fill %d bytes of shared memory", len(data)).Because(err)
	}
	seals := unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		return -1, Schema{}, fail(errs.ErrRead, string(options.Root), "cannot seal shared memory").Because(err)
	}
	return describe(ctx, options, data, file)
}

func write(file *os.File, data []byte) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt(data, 0)
	return err
}

// describe is the result for an index that was just written.
func describe(ctx context.Context, options *Options, data []byte, file *os.File) (int, Schema, error) {
	x, err := parse(ctx, data, file.Name(), options.Threads)
	if err != nil {
		return -1, Schema{}, err
	}
	fd, err := keep(file)
	return fd, x.Schema(), err
}

// keep makes a second descriptor that Go does not know about.
func keep(file *os.File) (int, error) {
	fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return -1, fail(errs.ErrRead, file.Name(), "cannot duplicate the descriptor").Because(err)
	}
	return fd, nil
}
