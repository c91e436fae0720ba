// Package hdf5 decodes chunked datasets of HDF5 files. It reads no structure of the file: the caller's HDF5 library says
// where the chunks lie and which filters they went through, and nothing of it is believed. So no lock of that library is
// held, and chunks are decoded by all threads. A part of a dataset, some runs of its rows end to end, is decoded in the
// same way: the caller gives the chunks of these runs.
//
//	dataset.go  what the library said, checked; all chunks into one memory
//	filters.go  a chunk's filters, undone
//	place.go    a chunk's values to their places in the array
package hdf5

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/internal/store"
	"github.com/gofast-org/gofast/gofast/source"
	"golang.org/x/sys/unix"
)

// maxRank is HDF5's.
const maxRank = 32

// Dataset is where a chunked dataset's values lie in a file, as the caller's library says.
type Dataset struct {
	Path    string       `json:"path"`
	Stamp   source.Stamp `json:"stamp"` // of the file that the library read
	Name    string       `json:"name"`
	Shape   []int64      `json:"shape"`
	Chunk   []int64      `json:"chunk"`   // the shape of a chunk; those at the edges are stored whole
	Element int64        `json:"element"` // bytes of a value
	Fill    []byte       `json:"fill"`    // the value where there is no chunk
	Filters []Filter     `json:"filters"` // in the order in which they were applied
	// Index has for each chunk little-endian int64s: where it begins in every dimension, its offset in the file, its
	// bytes there, and a bit for each filter that it did not go through.
	Index []byte `json:"index"`
	// Rows has for each chunk the row where it begins in the file, where that is not the row of the array: errors name it.
	Rows []int64 `json:"rows"`
	// Into is the caller's memory for the array, whatever is in it; nil: new memory.
	Into []byte `json:"-"`

	Threads  int                     `json:"threads"`
	Limits   limits.Limits           `json:"limits"`
	Progress func(done, total int64) `json:"-"` // in chunks; may be nil
}

// Decoded is an array in memory that processes share, in C order. The caller owns the descriptor, if the memory is new.
type Decoded struct {
	FD int `json:"fd"`
}

// chunk is one of them, checked.
type chunk struct {
	at             []int64
	row            int64 // in the file
	offset, stored int64
	skipped        uint32
}

// decoding is one call of Decode.
type decoding struct {
	*Dataset
	file    *source.File
	bytes   int64 // of a chunk
	axes    []axis
	missing bool // some chunks are not in the file
}

// Decode decodes all chunks into new memory.
func Decode(ctx context.Context, d Dataset) (made Decoded, err error) {
	defer pool.Recover(&err, "open", d.Path)
	if err := d.Limits.Validate(); err != nil {
		return made, err
	}
	file, err := source.Open(d.Path)
	if err != nil {
		return made, err
	}
	defer file.Close()
	if file.Stamp() != d.Stamp {
		return made, errs.New(errs.ErrChanged, "open", "the file changed since h5py opened it").At(d.Path)
	}
	w := &decoding{Dataset: &d, file: file}
	total, err := w.check()
	if err != nil {
		return made, err
	}
	budget := limits.NewBudget(d.Limits.WithDefaults().Memory)
	budget.Hint = func(int64) string {
		return "store the dataset without chunks, which is read where it lies (h5repack -l NAME:CONTI old.h5 new.h5), or "
	}
	if d.Into == nil {
		err = budget.Reserve(total, fmt.Sprintf("the decoded dataset %q", errs.Cut(d.Name)))
	} else if int64(len(d.Into)) < total {
		err = w.fail(errs.ErrLimit, "it has %s, and there are %s for it", errs.Bytes(int64(total)), errs.Bytes(int64(len(d.Into))))
	}
	if err != nil {
		return made, err
	}
	chunks, largest, err := w.chunks(budget)
	if err != nil {
		return made, err
	}
	if d.Into != nil {
		return made, w.decode(ctx, chunks, largest, d.Into[:total], budget)
	}
	memory, err := store.NewMemory("buffer", "gofast-hdf5")
	if err != nil {
		return made, err
	}
	defer memory.Close()
	data, err := memory.Map(max(total, 1))
	if err != nil {
		return made, err
	}
	err = w.decode(ctx, chunks, largest, data[:total], budget)
	_ = unix.Munmap(data) // cannot fail for a mapping of ours
	if err == nil {
		made.FD, err = memory.Seal()
	}
	return made, err
}

// fail is an error that names the dataset.
func (w *decoding) fail(kind error, format string, args ...any) *errs.Error {
	return errs.New(kind, "open", fmt.Sprintf(format, args...)).At(w.Path).InColumn(w.Name)
}

// damaged names the chunk too.
func (w *decoding) damaged(c *chunk, format string, args ...any) *errs.Error {
	at := append([]int64{c.row}, c.at[1:]...)
	return w.fail(errs.ErrDamaged, "chunk %v: "+format, append([]any{at}, args...)...).AtOffset(c.offset)
}

// check gives the bytes of the whole array.
func (w *decoding) check() (total int64, err error) {
	rank := len(w.Shape)
	if rank == 0 || rank > maxRank || len(w.Chunk) != rank || w.Element < 1 || int64(len(w.Fill)) != w.Element {
		return 0, w.fail(errs.ErrDamaged, "%d dimensions in chunks of %d, values of %d bytes", rank, len(w.Chunk), w.Element)
	}
	for i, c := range w.Chunk {
		if c < 1 || w.Shape[i] < 0 {
			return 0, w.fail(errs.ErrDamaged, "the shape %v in chunks of %v", w.Shape, w.Chunk)
		}
	}
	total, fits := limits.Mul(append([]int64{w.Element}, w.Shape...)...)
	if w.bytes, _ = limits.Mul(append([]int64{w.Element}, w.Chunk...)...); w.bytes < 1 || w.bytes > 1<<32 {
		return 0, w.fail(errs.ErrDamaged, "chunks of the shape %v, which is more than HDF5 allows", w.Chunk)
	}
	if !fits {
		return 0, w.fail(errs.ErrLimit, "the shape %v is too large", w.Shape)
	}
	w.axes = axesOf(w.Shape, w.Chunk, w.Element)
	return total, w.checkFilters()
}

// chunks are those of the index, and the bytes of the largest in the file.
func (w *decoding) chunks(budget *limits.Budget) (list []chunk, largest int64, err error) {
	rank := len(w.Shape)
	entry := 8 * (rank + 3)
	if len(w.Index)%entry != 0 || (w.Rows != nil && len(w.Rows) != len(w.Index)/entry) {
		return nil, 0, w.fail(errs.ErrDamaged, "an index of %d bytes", len(w.Index))
	}
	count, most := int64(len(w.Index)/entry), int64(1)
	for i, n := range w.Shape { // fits, since each chunk that there may be has a value of the array
		most *= (n + w.Chunk[i] - 1) / w.Chunk[i]
	}
	if count > most {
		return nil, 0, w.fail(errs.ErrDamaged, "%d chunks, where there is room for %d", count, most)
	}
	w.missing = count < most
	if err := budget.Reserve(count*int64(entry+64)+most/8+1, "the index of chunks"); err != nil {
		return nil, 0, err
	}
	list, seen, numbers := make([]chunk, count), make([]byte, most/8+1), make([]int64, count*int64(rank))
	for k := range list {
		value := func(i int) int64 { return int64(binary.LittleEndian.Uint64(w.Index[k*entry+8*i:])) }
		at := numbers[k*rank : (k+1)*rank]
		for i := range at {
			at[i] = value(i)
		}
		c := chunk{at, at[0], value(rank), value(rank + 1), uint32(value(rank + 2))}
		if w.Rows != nil {
			c.row = w.Rows[k]
		}
		number := int64(0)
		for i := range at {
			if at[i] < 0 || at[i] >= w.Shape[i] || at[i]%w.Chunk[i] != 0 {
				return nil, 0, w.damaged(&c, "no chunk of an array %v begins there", w.Shape)
			}
			number = number*((w.Shape[i]+w.Chunk[i]-1)/w.Chunk[i]) + at[i]/w.Chunk[i]
		}
		if seen[number/8]&(1<<(number%8)) != 0 {
			return nil, 0, w.damaged(&c, "it is in the file twice")
		}
		seen[number/8] |= 1 << (number % 8)
		if c.offset < 0 || c.stored < 1 || c.offset > w.file.Size() || c.stored > w.file.Size()-c.offset {
			return nil, 0, w.damaged(&c, "%d bytes, but the file has %d", c.stored, w.file.Size())
		}
		list[k], largest = c, max(largest, c.stored)
	}
	return list, largest, nil
}

// idle has what decodes into memory of the caller's have worked with: such a caller comes again.
var idle sync.Pool // of *undoing

func (w *decoding) undoing() *undoing {
	u, ok := idle.Get().(*undoing)
	if !ok {
		u = &undoing{}
	}
	u.decoding = w
	return u
}

// decode brings all chunks to their places.
func (w *decoding) decode(ctx context.Context, chunks []chunk, largest int64, into []byte, budget *limits.Budget) error {
	if w.missing && (w.Into != nil || len(bytes.Trim(w.Fill, "\x00")) > 0) {
		for n := copy(into, w.Fill); n < len(into); n *= 2 {
			copy(into[n:], into[:n])
		}
	}
	free := make(chan *undoing, max(w.Threads, 1)) // what a thread works with
	for i := range cap(free) {
		err := budget.Reserve(largest+2*max(largest, w.bytes+checksumBytes), "a chunk that is decoded")
		if err == nil {
			free <- w.undoing()
		} else if i == 0 {
			return err
		}
	}
	defer func() {
		for w.Into != nil && len(free) > 0 {
			u := <-free
			u.decoding = nil
			idle.Put(u)
		}
	}()
	var done atomic.Int64
	err := pool.Each(ctx, len(free), len(chunks), func(_ context.Context, i int) error {
		u := <-free
		defer func() { free <- u }()
		values, err := u.values(&chunks[i])
		if err != nil {
			return err
		}
		put(into, values, w.axes, chunks[i].at)
		if n := done.Add(1); w.Progress != nil {
			w.Progress(n, int64(len(chunks)))
		}
		return nil
	})
	if err != nil {
		return errs.Ended(err, "open")
	}
	return w.file.CheckUnchanged()
}
