package cache

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/internal/atomicfile"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/table"
)

// Folder is a cache that is to be built, and the only right to build it. Release ends that.
type Folder struct {
	path    string
	file    *atomicfile.File // the description
	cleared bool             // what lay there is removed
}

// Begin waits until nobody else builds the cache at path, a folder, or what will be one. nil: it is there, of one of these
// fingerprints, and force is not set.
func Begin(ctx context.Context, path string, force bool, fingerprints ...string) (*Folder, error) {
	for {
		if err := os.Mkdir(path, 0o777); err == nil || errors.Is(err, os.ErrExist) {
			if err := ours(path); err != nil {
				return nil, err
			}
		} else {
			return nil, fail(errs.ErrRead, path, "cannot make the folder: is the one that it lies in there and writable?").Because(err)
		}
		file, err := atomicfile.Begin(ctx, op, filepath.Join(path, descriptionName))
		if errors.Is(err, os.ErrNotExist) {
			continue // who built it before us failed, and has just removed the folder
		}
		if err != nil {
			return nil, err
		}
		f := &Folder{path: path, file: file}
		there, err := fingerprintAt(path)
		for _, fingerprint := range fingerprints {
			if err == nil && there == fingerprint && there != "" && !force {
				f.Release()
				return nil, nil
			}
		}
		if err != nil {
			f.file.Leave()
			return nil, fail(errs.ErrConfig, path, "cannot keep a cache there: give another path").Because(err)
		}
		return f, nil
	}
}

// ours refuses a folder that holds somebody's files, and neither a cache nor the beginning of one.
func ours(path string) error {
	names, err := os.ReadDir(path)
	if err != nil {
		return fail(errs.ErrConfig, path, "this is there and is not a folder: a cache is one, so give another path").Because(err)
	}
	for _, name := range names {
		if name.Name() == descriptionName || name.Name() == descriptionName+".part" {
			return nil
		}
	}
	if len(names) > 0 {
		return fail(errs.ErrConfig, path, "the folder holds other files, such as %s: a cache has a folder of its own, so give another path", names[0].Name())
	}
	return nil
}

// escaped is a path as filepath.Glob takes it literally.
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// Release lets others build it. If it was not finished, nothing of it is left. It may be called twice.
func (f *Folder) Release() {
	if !f.file.Open() {
		f.file.Release()
		return
	}
	if f.cleared {
		_ = removeArrays(f.path) // what stays is overwritten by the next builder
	}
	f.file.Release()
	os.Remove(f.path) // if it is empty
}

// Writer is a cache that is being built. Features and Labels are mapped from its files. They may be larger than memory, and
// must not be used after Finish or Abort.
type Writer struct {
	Features []byte // Bound.Rows rows
	Labels   []byte // Bound.Rows rows of Bound.Labels 8-byte values

	folder *Folder
	bound  Bound
	arrays []*mappedArray
}

// mappedArray is an array whose values are decoded into its file.
type mappedArray struct {
	array
	file    *os.File
	mapping []byte
	head    int // bytes before the values
}

// Create maps files that are large enough for bound. It allocates all blocks first, so that a full disk is an error here and
// not a SIGBUS in a decoder. A cache that lay there is gone then: whoever opens one looks whether its description is still
// there behind its arrays.
func (f *Folder) Create(bound Bound) (*Writer, error) {
	features, ok := limits.Mul(bound.Rows, int64(bound.Width), int64(bound.Type.Size()))
	labels, ok2 := limits.Mul(bound.Rows, int64(bound.Labels), 8)
	const most = 1 << 60
	if !f.file.Open() {
		return nil, fail(errs.ErrClosed, f.path, "the lock was released, or its cache is finished")
	}
	if !ok || !ok2 || features > most || labels > most || features < 0 || bound.Type == table.Invalid || bound.Width < 0 || bound.Width == 0 && bound.Labels == 0 {
		return nil, fail(errs.ErrLimit, f.path, "%d rows of %d values do not fit a file", bound.Rows, bound.Width)
	}
	f.cleared = true
	if err := removeArrays(f.path); err != nil {
		return nil, fail(errs.ErrRead, f.path, "cannot remove the cache that is there").Because(err)
	}
	w := &Writer{folder: f, bound: bound}
	var err error
	w.Features, err = w.room("features", bound.Type, bound.Width, features)
	if err == nil && bound.Labels > 0 {
		w.Labels, err = w.room("labels", table.Int64, bound.Labels, labels)
	}
	if err != nil {
		w.Abort()
		return nil, err
	}
	return w, nil
}

// room maps a new file for an array of the bound's rows.
func (w *Writer) room(name string, kind table.Type, width int, bytes int64) ([]byte, error) {
	cannot := func(err error) ([]byte, error) {
		return nil, fail(errs.ErrRead, w.folder.path, "cannot allocate %s for the cache: is the disk full?", errs.Bytes(bytes)).Because(err)
	}
	file, err := w.folder.create(name)
	if err != nil {
		return cannot(err)
	}
	a := array{Name: name, DType: kind.String(), Shape: []int64{w.bound.Rows, int64(width)}, kind: kind}
	m := &mappedArray{array: a, file: file, head: len(a.header())}
	w.arrays = append(w.arrays, m)
	size := int64(m.head) + bytes
	if err := allocate(file, size); err != nil {
		return cannot(err)
	}
	if m.mapping, err = unix.Mmap(int(file.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return cannot(err)
	}
	return m.mapping[m.head:], nil
}

func (f *Folder) create(name string) (*os.File, error) {
	return os.OpenFile(filepath.Join(f.path, name+".npy"), os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o666)
}

// allocate makes f exactly size bytes, all of them on disk.
func allocate(f *os.File, size int64) error {
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

// Abort unmaps the memory and gives the disk space back. The lock stays held, so Create may be called again. Abort does
// nothing after Finish.
func (w *Writer) Abort() {
	for _, m := range w.arrays {
		m.close()
		os.Remove(m.file.Name())
	}
	w.arrays, w.Features, w.Labels = nil, nil, nil
}

func (m *mappedArray) close() {
	if m.mapping != nil {
		_ = unix.Munmap(m.mapping)
		m.mapping, m.values = nil, nil
	}
	m.file.Close()
}

// Finish makes a cache of the first m.Rows rows. It writes headers and checksums, syncs the files, and names the description.
// The memory is unmapped in any case.
func (w *Writer) Finish(ctx context.Context, m Meta) error {
	path := w.folder.path
	if w.arrays == nil {
		return fail(errs.ErrClosed, path, "the cache was finished or aborted before")
	}
	defer w.Abort()
	width := table.Elements(m.Shape)
	if m.Rows < 0 || m.Rows > w.bound.Rows || width != w.bound.Width || len(m.Labels)+len(m.Texts) != w.bound.Labels ||
		m.Bool && w.bound.Type != table.Uint8 {
		return fail(errs.ErrInternal, path, "%d rows of shape %v with %d labels and %d texts do not fit %+v", m.Rows, m.Shape, len(m.Labels), len(m.Texts), w.bound)
	}
	d, apart := w.describe(m)
	content, err := d.content(ctx)
	if err != nil {
		return fail(errs.ErrCanceled, path, "canceled").Because(err)
	}
	if err := w.write(apart, content); err != nil {
		return fail(errs.ErrRead, path, "cannot write the cache").Because(err)
	}
	for _, m := range w.arrays {
		m.close()
	}
	w.arrays, w.Features, w.Labels = nil, nil, nil
	return w.folder.file.Commit()
}

// describe says what the first rows are. The arrays that do not lie in the mapped files are given apart.
func (w *Writer) describe(m Meta) (d *description, apart []*array) {
	d = &description{
		Gofast: Format, Kind: kind, Fingerprint: m.Fingerprint, Shape: m.Shape, Names: m.Names, Dropped: m.Dropped, Labels: []label{},
	}
	floats := len(m.Labels) > 0 && len(m.Texts) == 0
	for _, l := range m.Labels {
		floats = floats && l.Kind == table.FloatLabel
		d.Labels = append(d.Labels, label{l.Name, kindNames[l.Kind], l.Classes})
	}
	for _, a := range w.arrays {
		a.Shape[0] = m.Rows
		if a.Name == "features" && m.Bool {
			a.DType = "bool"
		}
		if a.Name == "labels" && floats { // labels of several kinds are integers to numpy; the description has the real kinds
			a.kind, a.DType = table.Float64, table.Float64.String()
		}
		a.values = a.mapping[a.head : int64(a.head)+m.Rows*int64(a.Shape[1]*int64(a.kind.Size()))]
		d.Arrays = append(d.Arrays, &a.array)
	}
	for i := range m.Texts {
		in, arrays := m.Texts[i].described(i)
		d.Texts, apart = append(d.Texts, in), append(apart, arrays...)
	}
	d.Arrays = append(d.Arrays, apart...)
	return d, apart
}

// write completes all files but for the description's name.
func (w *Writer) write(apart []*array, content []byte) error {
	for _, a := range w.arrays {
		copy(a.mapping, a.header()) // as long as the bound's was: headers have room for any number of rows
		if err := a.file.Truncate(int64(a.head + len(a.values))); err != nil {
			return err
		}
		if err := a.file.Sync(); err != nil {
			return err
		}
	}
	for _, a := range apart {
		file, err := w.folder.create(a.Name)
		if err == nil {
			_, err = file.Write(append(a.header(), a.values...))
			err = errors.Join(err, file.Sync(), file.Close())
		}
		if err != nil {
			return err
		}
	}
	part := w.folder.file.Part
	if err := part.Truncate(0); err != nil {
		return err
	}
	_, err := part.WriteAt(content, 0)
	return err
}
