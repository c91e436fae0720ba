package cache

import (
	"encoding/binary"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
)

// File is an open cache. Features and Labels are read-only mapped memory, valid
// until Close.
type File struct {
	Meta
	Type     table.Type
	Width    int
	Features []byte
	Labels   []byte // [rows, labels], 8 bytes a value

	mapping []byte
}

// Open maps the cache at path. ErrNotFound: there is none. ErrChanged: it was
// built from other sources or options. ErrDamaged: it is not a complete cache.
// Open does not read the values; Verify does.
func Open(path, fingerprint string) (c *File, err error) {
	defer pool.Recover(&err, op, path)
	f, err := source.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h, _, err := readHeader(f)
	if err != nil {
		return nil, err
	}
	if h.Fingerprint != fingerprint {
		return nil, fail(errs.ErrChanged, path, "the cache was built from other sources, other options or by another version")
	}
	c = &File{Type: table.TypeNamed(h.DType), Width: h.Width}
	if c.Meta, err = h.meta(f); err != nil {
		return nil, err
	}
	if f.CheckUnchanged() != nil {
		return nil, fail(errs.ErrChanged, path, "the cache was replaced while it was opened: open it again")
	}
	if c.mapping, err = unix.Mmap(f.Fd(), 0, int(h.Size), unix.PROT_READ, unix.MAP_SHARED); err != nil {
		return nil, fail(errs.ErrRead, path, "cannot map the cache").Because(err)
	}
	view := func(a stored) []byte { return c.mapping[a.Offset : a.Offset+a.Bytes : a.Offset+a.Bytes] }
	c.Features = view(h.Arrays[0])
	if len(h.Labels) > 0 {
		c.Labels = view(h.Arrays[1])
	}
	return c, nil
}

// Close unmaps the memory.
func (c *File) Close() error {
	if c.mapping == nil {
		return nil
	}
	mapping := c.mapping
	c.mapping, c.Features, c.Labels = nil, nil, nil
	return unix.Munmap(mapping)
}

// meta reads the classes and puts the description together.
func (h *header) meta(f *source.File) (Meta, error) {
	m := Meta{Fingerprint: h.Fingerprint, Rows: h.Rows, Shape: h.Shape, Bool: h.Bool, Names: h.Names, Dropped: h.Dropped}
	for i, l := range h.Labels {
		out := Label{Name: l.Name}
		for kind, name := range kindNames {
			if name == l.Kind {
				out.Kind = table.LabelKind(kind)
			}
		}
		if out.Kind == table.TextLabel {
			a := h.array(classesName(i, len(h.Labels)))
			data := make([]byte, a.Bytes) // inside the file, as consistent has checked
			if err := f.ReadFull(data, a.Offset); err != nil {
				return m, err
			}
			if l.Classes < 0 || l.Classes > len(data) || l.Classes > 0 && len(data)%(4*l.Classes) != 0 {
				return m, fail(errs.ErrDamaged, f.Path(), "the classes do not fit their array").InColumn(l.Name)
			}
			for i := range l.Classes {
				room := len(data) / l.Classes
				out.Classes = append(out.Classes, word(data[i*room:(i+1)*room]))
			}
		}
		m.Labels = append(m.Labels, out)
	}
	return m, nil
}

func (h *header) array(name string) stored {
	for _, a := range h.Arrays {
		if a.Name == name {
			return a
		}
	}
	return stored{}
}

func word(cell []byte) string {
	var b strings.Builder
	for ; len(cell) > 0; cell = cell[4:] {
		b.WriteRune(rune(binary.NativeEndian.Uint32(cell)))
	}
	return strings.TrimRight(b.String(), "\x00")
}
