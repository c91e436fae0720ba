package cache

import (
	"context"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/internal/atomicfile"
	"github.com/gofast-org/gofast/gofast/internal/crc"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/npy"
)

// Writer is a cache that is being built. Features and Labels are a shared mapping
// of PATH.part. They may be larger than memory, and must not be used after Finish
// or Abort.
type Writer struct {
	Features []byte // Bound.Rows rows
	Labels   []byte // Bound.Rows rows of Bound.Labels 8-byte values

	file    *atomicfile.File
	bound   Bound
	mapping []byte
}

// labelGap is room for the headers between features and labels.
const labelGap = 1024

// Create maps the file that Build began, large enough for bound. It allocates all blocks first,
// so that a full disk is an error here and not a SIGBUS in a decoder.
func Create(file *atomicfile.File, bound Bound) (*Writer, error) {
	features, ok := limits.Mul(bound.Rows, int64(bound.Width), int64(bound.Type.Size()))
	labels, ok2 := limits.Mul(bound.Rows, int64(bound.Labels), 8)
	const most = 1 << 60
	if !file.Open() {
		return nil, fail(errs.ErrClosed, file.Path(), "the lock was released, or its cache is finished")
	}
	if !ok || !ok2 || features > most || labels > most || features < 0 || bound.Type == table.Invalid || bound.Width < 0 || bound.Width == 0 && bound.Labels == 0 {
		return nil, fail(errs.ErrLimit, file.Path(), "%d rows of %d values do not fit a file", bound.Rows, bound.Width)
	}
	labelsAt := (featureAlign + features + labelGap + align - 1) / align * align
	size := labelsAt + labels
	if err := allocate(file.Part, size); err != nil {
		return nil, fail(errs.ErrRead, file.Path(), "cannot allocate %s for the cache: is the disk full?", errs.Bytes(int64(size))).Because(err)
	}
	mapping, err := unix.Mmap(int(file.Part.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fail(errs.ErrRead, file.Path(), "cannot map %s of the cache", errs.Bytes(int64(size))).Because(err)
	}
	return &Writer{
		Features: mapping[featureAlign : featureAlign+features : featureAlign+features],
		Labels:   mapping[labelsAt:],
		file:     file, bound: bound, mapping: mapping,
	}, nil
}

// allocate makes f exactly size bytes, all of them on disk.
func allocate(f *os.File, size int64) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	for {
		err := unix.Fallocate(int(f.Fd()), 0, 0, size)
		switch err {
		case unix.EINTR:
		case unix.EOPNOTSUPP: // NFS and others: writing allocates too
			zeros := make([]byte, 1<<20)
			for at := int64(0); at < size; at += int64(len(zeros)) {
				if _, err := f.WriteAt(zeros[:min(int64(len(zeros)), size-at)], at); err != nil {
					return err
				}
			}
			return nil
		default:
			return err
		}
	}
}

// Abort unmaps the memory and gives the disk space back. The lock stays held, so
// Create may be called again. Abort does nothing after Finish.
func (w *Writer) Abort() {
	if w.mapping == nil {
		return
	}
	w.unmap()
	_ = w.file.Part.Truncate(0) // if it fails, the holder of the lock overwrites or removes the file
}

func (w *Writer) unmap() {
	_ = unix.Munmap(w.mapping)
	w.mapping, w.Features, w.Labels = nil, nil, nil
}

// Finish makes a cache of the first m.Rows rows. It writes headers and checksums,
// syncs the file and renames it to its path. The features stay where they are; the
// labels move down to them. The memory is unmapped in any case.
func (w *Writer) Finish(ctx context.Context, m Meta) error {
	if w.mapping == nil {
		return fail(errs.ErrClosed, w.file.Path(), "the cache was finished or aborted before")
	}
	defer w.Abort()
	h, members, beside, err := w.layout(m)
	if err != nil {
		return err
	}
	if len(members) > 1 {
		copy(w.mapping[members[1].values:], w.Labels[:members[1].bytes])
	}
	for i := range members {
		mem := &members[i]
		values, apart := beside[mem.name]
		if !apart {
			values = w.mapping[mem.values:mem.end()]
		}
		sum, err := crc.Parallel(ctx, runtime.GOMAXPROCS(0), mem.bytes, func(from, to int64) ([]byte, error) { return values[from:to], nil })
		if err != nil {
			return fail(errs.ErrCanceled, w.file.Path(), "canceled").Because(err)
		}
		mem.withSum(sum)
		h.Arrays = append(h.Arrays, mem.stored())
	}
	if err := w.write(h, members, beside); err != nil {
		return fail(errs.ErrRead, w.file.Path(), "cannot write the cache").Because(err)
	}
	w.unmap()
	return w.file.Commit()
}

// layout checks m and places the members. What does not lie in the mapping is given by name.
func (w *Writer) layout(m Meta) (*header, []member, map[string][]byte, error) {
	width := table.Elements(m.Shape)
	if m.Rows < 0 || m.Rows > w.bound.Rows || width != w.bound.Width || len(m.Labels)+len(m.Texts) != w.bound.Labels ||
		m.Bool && w.bound.Type != table.Uint8 {
		return nil, nil, nil, fail(errs.ErrInternal, w.file.Path(), "%d rows of shape %v with %d labels and %d texts do not fit %+v", m.Rows, m.Shape, len(m.Labels), len(m.Texts), w.bound)
	}
	h := &header{
		Format: Format, ByteOrder: byteOrder(), Fingerprint: m.Fingerprint, Rows: m.Rows, Width: width,
		DType: w.bound.Type.String(), Bool: m.Bool, Shape: m.Shape, Names: m.Names, Dropped: m.Dropped, Labels: []label{},
	}
	var kinds []string
	for _, l := range m.Labels {
		kinds = append(kinds, kindNames[l.Kind])
		h.Labels = append(h.Labels, label{l.Name, kindNames[l.Kind], len(l.Classes)})
	}
	members := tables(m.Rows, width, w.bound.Type, m.Bool, append(kinds, textKinds(len(m.Texts))...))
	beside := map[string][]byte{}
	for i, l := range m.Labels {
		if l.Kind != table.TextLabel {
			continue
		}
		descr, data, err := npy.Words(l.Classes)
		if err != nil {
			return nil, nil, nil, fail(errs.ErrValue, w.file.Path(), "the classes cannot be stored").InColumn(l.Name).Because(err)
		}
		name := classesName(i, len(m.Labels))
		beside[name] = data
		members = append(members, place(name, descr, []int64{int64(len(l.Classes))}, int64(len(data)), members[len(members)-1].end(), align))
	}
	for i := range m.Texts {
		t, data := m.Texts[i].described()
		kinds := t.types()
		for j, name := range t.arrays(i) {
			beside[name] = data[j]
			members = append(members, after(members, name, kinds[j], int64(len(data[j]))))
		}
		h.Texts = append(h.Texts, t)
	}
	return h, members, beside, nil
}

// write writes everything but features and labels.
func (w *Writer) write(h *header, members []member, beside map[string][]byte) error {
	text, err := h.seal() // only for its length, which gives the size of the file
	if err != nil {
		return err
	}
	last := headerMember(len(text), members[len(members)-1].end())
	var entries []npy.Entry
	for _, m := range append(members, last) {
		entries = append(entries, m.entry())
	}
	h.Size = last.end() + int64(len(npy.Directory(entries, last.end())))
	if text, err = h.seal(); err != nil {
		return err
	}
	last.withSum(crc.Of(text))
	entries[len(entries)-1] = last.entry()

	part := w.file.Part
	if err := part.Truncate(members[len(members)-1].end()); err != nil {
		return err
	}
	for _, m := range append(members, last) {
		if _, err := part.WriteAt(m.prefix(), m.at); err != nil {
			return err
		}
		if values := beside[m.name]; len(values) > 0 {
			if _, err := part.WriteAt(values, m.values); err != nil {
				return err
			}
		}
	}
	_, err = part.WriteAt(append(text, npy.Directory(entries, last.end())...), last.values)
	return err
}

// Begin waits until nobody else builds the cache at path. nil: it is there, of this fingerprint, and force is not set.
func Begin(ctx context.Context, path string, force bool, fingerprints ...string) (*atomicfile.File, error) {
	file, err := atomicfile.Begin(ctx, op, path)
	if err != nil {
		return nil, err
	}
	for _, fingerprint := range fingerprints {
		if c, err := Open(path, fingerprint); err == nil {
			c.Close()
			if !force {
				file.Release()
				return nil, nil
			}
		}
	}
	return file, nil
}
