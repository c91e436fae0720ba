package folder

import (
	"context"
	"errors"
	"math"

	"github.com/gofast-org/gofast/gofast/internal/atomicfile"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/internal/store"
)

// Schema describes an index and says where its arrays lie.
type Schema struct {
	Count        int64  `json:"count"`
	ClassNames   Name   `json:"class_names"`   // sorted, each ends with a zero; none in kinds without classes
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
		Count: h.Count, ClassNames: Name(x.view(h.ClassNames)), EmptyClasses: []Name{}, Unreadable: []Name{}, Root: Name(x.Root()), Size: int64(len(x.data)),
		PathOffsetsOffset: h.PathOffsets.At, SampleClassesOffset: h.SampleClasses.At, PathsOffset: h.Paths.At, PathsSize: h.Paths.Bytes,
	}
	for i, class := range x.classes {
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
	since, reused := options.now().UnixNano(), true
	x, err := load(ctx, &options, path, math.MaxInt64)
	if err != nil && !errors.Is(err, errs.ErrCanceled) {
		there := func() bool { // built while we waited
			x, err = load(ctx, &options, path, since)
			return err == nil || errors.Is(err, errs.ErrCanceled)
		}
		began := store.Once(ctx, op, path, there, func(file *atomicfile.File) error {
			reused = false
			x, err = build(ctx, &options, path, file)
			return err
		})
		if began != nil {
			err = began
		}
	}
	if err != nil {
		return -1, Schema{}, err
	}
	defer x.Close()
	schema = x.Schema()
	schema.Reused = reused
	fd, err = store.Keep(x.record.File)
	return fd, schema, err
}

// build scans, and writes the index file.
func build(ctx context.Context, options *Options, path string, file *atomicfile.File) (*Index, error) {
	data, err := encoded(ctx, options)
	if err != nil {
		return nil, err
	}
	a, err := artefact(options, path)
	if err != nil {
		return nil, err
	}
	record, err := a.Write(ctx, file, data)
	if err != nil {
		return nil, err
	}
	x, err := parse(ctx, record.Data, path, options.Threads)
	if err != nil {
		record.Close()
		return nil, err
	}
	x.record = record
	return x, nil
}

func inMemory(ctx context.Context, options *Options) (int, Schema, error) {
	data, err := encoded(ctx, options)
	if err != nil {
		return -1, Schema{}, err
	}
	const name = "gofast-index"
	x, err := parse(ctx, data, name, options.Threads)
	if err != nil {
		return -1, Schema{}, err
	}
	fd, err := store.InMemory(op, name, data)
	return fd, x.Schema(), err
}
