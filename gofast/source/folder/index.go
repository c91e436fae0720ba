package folder

import (
	"bytes"
	"context"
	"encoding/binary"
	"runtime/debug"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/internal/store"
)

// Index is the list of samples that a scan found. It is safe for concurrent use
// until Close.
type Index struct {
	header  header
	data    []byte
	record  *store.Record // which data is; nil for an index in memory
	classes []string
}

func encoded(ctx context.Context, options *Options) ([]byte, error) {
	t, err := scan(ctx, options)
	if err != nil {
		return nil, err
	}
	data, err := t.encode(ctx)
	return data, canceled(err, string(options.Root))
}

// Count is the number of samples.
func (x *Index) Count() int { return int(x.header.Count) }

// Samples is the number of samples of a class.
func (x *Index) Samples(class int) int {
	return int(native.Uint64(x.view(x.header.ClassSamples)[8*class:]))
}

// Root comes before every path: it is empty or ends with a slash.
func (x *Index) Root() string { return string(bytes.TrimSuffix(x.view(x.header.Root), []byte{0})) }

// Close unmaps the memory.
func (x *Index) Close() error {
	x.data = nil
	if x.record == nil {
		return nil
	}
	return x.record.Close()
}

func (x *Index) view(s section) []byte { return x.data[s.At:s.end()] }

func (x *Index) offset(i int) uint64 { return native.Uint64(x.view(x.header.PathOffsets)[8*i:]) }

// place is a path that the index depends on.
func (x *Index) place(i int) (record placeRecord, path string) {
	_, _ = binary.Decode(x.view(x.header.Places)[int64(i)*recordBytes:], native, &record) // long enough, as parse has checked
	paths := x.view(x.header.PlacePaths)[record.Path:]
	return record, string(paths[:bytes.IndexByte(paths, 0)])
}

// parse checks every number of an index that is used to address memory. Any failure
// is ErrDamaged, or ErrCanceled.
func parse(ctx context.Context, data []byte, path string, threads int) (*Index, error) {
	bad := func(what string) (*Index, error) {
		return nil, fail(errs.ErrDamaged, path, "not a complete index of this version of gofast (%s): delete it, or let it be built again", what)
	}
	x := &Index{data: data}
	h := &x.header
	if int64(len(data)) < headerBytes {
		return bad("too short")
	}
	_, _ = binary.Decode(data[store.HeadBytes:], native, h)
	if !h.consistent(int64(len(data))) {
		return bad("the header contradicts itself")
	}
	if !x.stringsEnd() {
		return bad("a path has no end")
	}
	const together = 1 << 16
	err := pool.Each(ctx, threads, (x.Count()+together-1)/together, func(_ context.Context, job int) error {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		if !x.pathsEnd(job*together, min((job+1)*together, x.Count())) {
			_, err := bad("a path has no end")
			return err
		}
		return nil
	})
	if err != nil {
		return nil, canceled(err, path)
	}
	return x, nil
}

// consistent reports whether the sections fill an index of this size, one after the
// other, and have the lengths that the counts require.
func (h *header) consistent(size int64) bool {
	at := headerBytes
	for _, s := range h.sections() {
		if s.At != at || s.Bytes < 0 || s.Bytes > size-at {
			return false
		}
		at = (s.end() + 7) &^ 7
	}
	if at != size {
		return false
	}
	is := func(s section, count, each int64) bool {
		n, ok := limits.Mul(count, each)
		return ok && n == s.Bytes
	}
	return h.Count >= 0 && h.Count < 1<<60 && is(h.PathOffsets, h.Count+1, 8) && is(h.SampleClasses, h.Count, 4) &&
		is(h.ClassSamples, h.ClassCount, 8) && is(h.Places, h.PlaceCount, recordBytes)
}

// stringsEnd checks all strings except the samples' paths, and makes the class names.
func (x *Index) stringsEnd() bool {
	root := x.view(x.header.Root)
	if bytes.IndexByte(root, 0) != len(root)-1 {
		return false
	}
	rest := x.view(x.header.ClassNames)
	for range x.header.ClassCount {
		end := bytes.IndexByte(rest, 0)
		if end < 0 {
			return false
		}
		x.classes = append(x.classes, string(rest[:end]))
		rest = rest[end+1:]
	}
	paths := x.view(x.header.PlacePaths)
	if len(rest) > 0 || len(paths) > 0 && paths[len(paths)-1] != 0 {
		return false
	}
	for i := range x.header.PlaceCount {
		if native.Uint64(x.view(x.header.Places)[i*recordBytes:]) >= uint64(len(paths)) {
			return false
		}
	}
	return true
}

// pathsEnd checks samples from:to.
func (x *Index) pathsEnd(from, to int) bool {
	paths := x.view(x.header.Paths)
	last := x.offset(from)
	if from == 0 && last != 0 {
		return false
	}
	for i := from; i < to; i++ {
		next := x.offset(i + 1)
		if next <= last || next > uint64(len(paths)) || paths[next-1] != 0 {
			return false
		}
		last = next
	}
	return to < x.Count() || last == uint64(len(paths))
}
