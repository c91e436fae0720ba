package folder

import (
	"context"
	"encoding/binary"

	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/internal/store"
)

// Version is the version of the index's layout.
const Version = 4

// section is a part of the index.
type section struct{ At, Bytes int64 }

func (s section) end() int64 { return s.At + s.Bytes }

// header comes first, behind the store's.
type header struct {
	Count, ClassCount, PlaceCount int64
	ScanNs                        int64
	Root, ClassNames              section
	ClassSamples                  section
	PathOffsets, SampleClasses    section
	Places, PlacePaths            section
	Paths                         section
}

// placeRecord is a path that the index depends on.
type placeRecord struct {
	Path uint64
	Kind place
	identity
}

var (
	native      = binary.NativeEndian
	headerBytes = store.HeadBytes + int64(binary.Size(header{})) // both
	recordBytes = int64(binary.Size(placeRecord{}))
)

// sections are in the order of the file.
func (h *header) sections() []*section {
	return []*section{&h.Root, &h.ClassNames, &h.ClassSamples, &h.PathOffsets, &h.SampleClasses, &h.Places, &h.PlacePaths, &h.Paths}
}

// header says where everything will lie, and how large it will be.
func (t *tree) header() (h header, size int64) {
	h = header{Count: t.count, ClassCount: int64(len(t.classes)), PlaceCount: int64(len(t.places)), ScanNs: t.scanNs}
	h.Root.Bytes = int64(len(t.options.prefix())) + 1
	for _, class := range t.classes {
		h.ClassNames.Bytes += int64(len(class)) + 1
	}
	h.ClassSamples.Bytes = h.ClassCount * 8
	h.PathOffsets.Bytes = (h.Count + 1) * 8
	h.SampleClasses.Bytes = h.Count * 4
	h.Places.Bytes = h.PlaceCount * recordBytes
	h.PlacePaths.Bytes = t.placeBytes
	h.Paths.Bytes = t.pathBytes
	at := headerBytes
	for _, s := range h.sections() {
		s.At = at
		at = (s.end() + 7) &^ 7
	}
	return h, at
}

// encode is the whole index.
func (t *tree) encode(ctx context.Context) ([]byte, error) {
	h, size := t.header()
	data := make([]byte, size)
	view := func(s section) []byte { return data[s.At:s.end()] }
	copy(view(h.Root), t.options.prefix())
	names := view(h.ClassNames)
	for i, class := range t.classes {
		names = names[copy(names, class)+1:]
		native.PutUint64(view(h.ClassSamples)[8*i:], uint64(t.samples[i]))
	}
	at := 0
	for i, d := range t.places {
		if _, err := binary.Encode(view(h.Places)[int64(i)*recordBytes:], native, placeRecord{uint64(at), d.place, d.identity}); err != nil {
			return nil, err
		}
		at += copy(view(h.PlacePaths)[at:], d.path) + 1
	}
	if err := t.encodeSamples(ctx, view(h.PathOffsets), view(h.SampleClasses), view(h.Paths)); err != nil {
		return nil, err
	}
	_, err := binary.Encode(data[store.HeadBytes:], native, &h)
	return data, err
}

// encodeSamples writes the runs in parallel. The start of each run is the sum of
// the sizes before it.
func (t *tree) encodeSamples(ctx context.Context, offsets, classes, paths []byte) error {
	type start struct{ sample, at int }
	starts := make([]start, len(t.runs)+1)
	for i, r := range t.runs {
		starts[i+1] = start{starts[i].sample + len(r.files), starts[i].at + r.pathBytes()}
	}
	const together = 64 // runs in a job: many folders hold one file each
	err := pool.Each(ctx, t.options.Threads, (len(t.runs)+together-1)/together, func(_ context.Context, job int) error {
		for i := job * together; i < min((job+1)*together, len(t.runs)); i++ {
			r, sample, at := t.runs[i], starts[i].sample, starts[i].at
			for _, name := range r.files {
				native.PutUint64(offsets[8*sample:], uint64(at))
				native.PutUint32(classes[4*sample:], uint32(t.label(r.directory, sample)))
				if r.directory.path != "" {
					at += copy(paths[at:], r.directory.path)
					paths[at] = '/'
					at++
				}
				at += copy(paths[at:], name) + 1
				sample++
			}
		}
		return nil
	})
	native.PutUint64(offsets[8*t.count:], uint64(t.pathBytes))
	return err
}

func (t *tree) label(d *directory, sample int) int32 {
	switch {
	case d.class >= 0:
		return t.ids[d.class]
	case t.options.Labels != nil:
		return t.options.Labels[sample]
	default:
		return Unlabelled
	}
}
