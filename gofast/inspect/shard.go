package inspect

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/source/folder"
	"github.com/gofast-org/gofast/gofast/source/tfrecord"
	"github.com/gofast-org/gofast/gofast/table/arrow"
)

// Shards are those of MDS or litData that an index.json lists.
type Shards struct {
	Form        string          `json:"form"`
	Paths       []folder.Name   `json:"paths"` // absolute ones
	Samples     []int64         `json:"samples"`
	Leaves      []tfrecord.Leaf `json:"leaves"`
	Compression string          `json:"compression"`
	Unpacked    []int64         `json:"unpacked"`
}

// The report of a small compressed tar could take more memory than there is.
var mostWrong int64 = 100_000 // pictures of a shard, also those that Pillow is asked about; behind so many, it is left

const mostName = 1 << 10 // bytes of a member's name that are reported; a tar may have names of a megabyte

// shard is a tar file, or one that an index lists: a file by its number, with many pictures.
type shard struct {
	file    int
	bytes   int64
	samples int64 // that it must have; below 0: any number
	options tfrecord.Options
}

func (o *Options) listed() map[string]shard {
	found := map[string]shard{}
	for _, s := range o.Shards {
		for i, path := range s.Paths {
			made := shard{samples: s.Samples[i], options: tfrecord.Options{Form: s.Form, Leaves: s.Leaves, Compression: s.Compression}}
			if i < len(s.Unpacked) {
				made.options.Unpacked = s.Unpacked[i : i+1]
			}
			found[string(path)] = made
		}
	}
	return found
}

// shard reads all that a shard says of its samples, as in training, and decodes its pictures. A compressed one is unpacked into
// memory.
func (v *verifier) shard(ctx context.Context, of shard, threads int) error {
	read, wrong := int64(0), atomic.Int64{}
	o := of.options
	o.Paths, o.Features, o.Threads, o.Rows = []string{v.list[of.file]}, []string{}, 1, arrow.Values
	if o.Memory = limits.Available() / 4; threads == 1 { // as many others are read meanwhile
		o.Memory /= int64(v.options.Threads)
	}
	o.Members = func(ctx context.Context, content io.ReaderAt, members []tfrecord.Member) error {
		err := pool.Each(ctx, threads, len(members), func(_ context.Context, n int) error {
			r := v.readers.Get().(*reader)
			if !r.member(&of, content, &members[n]) {
				wrong.Add(1)
			}
			if cap(r.file) > mostKept {
				r.file = nil
			}
			v.readers.Put(r)
			return nil
		})
		last := members[len(members)-1]
		if to := last.At + last.Size; o.Compression == "" && err == nil && to > read { // columns of rows begin anew
			v.add(to - read)
			read = to
		}
		if n := wrong.Load(); err == nil && n >= mostWrong {
			err = errs.New(errs.ErrLimit, o.Form, fmt.Sprintf("%d pictures are damaged or not decoded here: what stands behind them was not looked at", n)).AtOffset(last.At)
		}
		return err
	}
	records, err := tfrecord.Count(ctx, o)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil && of.samples >= 0 && of.samples != records {
		err = errs.New(errs.ErrDamaged, o.Form, fmt.Sprintf("it has %d samples, and index.json says %d", records, of.samples))
	}
	v.found(of.file, err, false)
	v.add(of.bytes - read)
	return nil
}

// member decodes a picture in a shard, and says whether nothing is wrong with it. Any other member is not looked at.
func (r *reader) member(of *shard, content io.ReaderAt, m *tfrecord.Member) bool {
	section := io.NewSectionReader(content, m.At, m.Size)
	read := func(p []byte, offset int64) error {
		if n, err := section.ReadAt(p, offset); n < len(p) {
			return errs.New(errs.ErrRead, op, "cannot read it").Because(err)
		}
		return nil
	}
	if cap(r.file) < headBytes {
		r.file = make([]byte, headBytes)
	}
	head := r.file[:min(headBytes, m.Size)]
	named := m.Picture || slices.Contains(pictureEndings, strings.ToLower(filepath.Ext(m.Name)))
	err, format := error(nil), (*format)(nil)
	switch {
	case m.Sparse && !named:
		return true
	case m.Pixels: // nothing is left to be decoded
	case m.Sparse:
		err = errs.New(errs.ErrUnsupported, tfrecord.Tar, "it is sparse")
	default:
		if err = read(head, 0); err != nil {
			break
		}
		if format = pictureOf(head); format == nil && !named {
			return true
		}
		err = r.picture(format, head, m.Size, read)
	}
	r.lock.Lock()
	r.report.Pictures++
	r.lock.Unlock()
	if err == nil {
		return true
	}
	p, name := problemOf(of.file, r.list[of.file], err), m.Name[:min(mostName, len(m.Name))]
	p.Reason = fmt.Sprintf("%s at offset %d: %s", name, m.At, p.Reason)
	p.Member, p.Offset, p.Bytes = folder.Name(name), m.At, m.Size
	inFrames := of.options.Compression == tfrecord.Batches || of.options.Compression == tfrecord.Samples
	p.Picture = !m.Sparse && !inFrames // else nobody but us finds it
	r.note(p, err)
	return false
}
