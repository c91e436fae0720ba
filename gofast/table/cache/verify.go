package cache

import (
	"context"
	"errors"
	"runtime"

	"github.com/gofast-org/gofast/gofast/internal/crc"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/npy"
)

// Verify reads the whole file and compares every byte with its checksums, or
// with the value that follows from the header. ErrDamaged names the array.
func Verify(ctx context.Context, path string) (err error) {
	defer pool.Recover(&err, op, path)
	f, err := source.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h, text, err := readHeader(f)
	if err != nil {
		return err
	}
	members, err := h.members(f)
	if err != nil {
		return err
	}
	var entries []npy.Entry
	for i, m := range append(members, headerMember(len(text), members[len(members)-1].end())) {
		sum, err := crc.Parallel(ctx, runtime.GOMAXPROCS(0), m.bytes, func(from, to int64) ([]byte, error) {
			data := make([]byte, to-from)
			return data, f.ReadFull(data, m.values+from)
		})
		if err != nil {
			if errors.Is(err, context.Canceled) {
				return fail(errs.ErrCanceled, path, "canceled").Because(err)
			}
			return err
		}
		m.withSum(sum)
		if i < len(members) && m.stored() != h.Arrays[i] {
			return fail(errs.ErrDamaged, path, "the checksum of the array is %s, the header says %s: delete the cache, or let it be built again",
				m.stored().Sum, h.Arrays[i].Sum).InColumn(m.name)
		}
		if err := same(f, m.prefix(), m.at, m.name); err != nil {
			return err
		}
		entries = append(entries, m.entry())
	}
	at := entries[len(entries)-1].PayloadAt + entries[len(entries)-1].Payload
	directory := npy.Directory(entries, at)
	if at+int64(len(directory)) != f.Size() {
		return fail(errs.ErrDamaged, path, "the file has %d bytes, the header says %d", f.Size(), at+int64(len(directory)))
	}
	return same(f, directory, at, "directory")
}

// members rebuilds the layout from the header alone.
func (h *header) members(f *source.File) ([]member, error) {
	var kinds []string
	for _, l := range h.Labels {
		kinds = append(kinds, l.Kind)
	}
	kinds = append(kinds, textKinds(len(h.Texts))...)
	members := tables(h.Rows, h.Width, table.TypeNamed(h.DType), h.Bool, kinds)
	for i, l := range h.Labels {
		if l.Kind == "text" {
			a := h.array(classesName(i, len(h.Labels)))
			members = append(members, place(a.Name, a.DType, []int64{int64(l.Classes)}, a.Bytes, members[len(members)-1].end(), align))
		}
	}
	for i := range h.Texts {
		kinds := h.Texts[i].types()
		for j, name := range h.Texts[i].arrays(i) {
			members = append(members, after(members, name, kinds[j], h.array(name).Bytes))
		}
	}
	for i, m := range members {
		if m.values != h.Arrays[i].Offset || m.descr != h.Arrays[i].DType {
			return nil, fail(errs.ErrDamaged, f.Path(), "the array is not where the header must put it").InColumn(m.name)
		}
	}
	return members, nil
}

// same compares the file's bytes from at on with want.
func same(f *source.File, want []byte, at int64, name string) error {
	got := make([]byte, len(want))
	if err := f.ReadFull(got, at); err != nil {
		return err
	}
	for i := range got {
		if got[i] != want[i] {
			return fail(errs.ErrDamaged, f.Path(), "a header byte is %#02x, it must be %#02x: delete the cache, or let it be built again", got[i], want[i]).
				InColumn(name).AtOffset(at + int64(i))
		}
	}
	return nil
}
