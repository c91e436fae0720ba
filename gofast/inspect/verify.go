package inspect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofast-org/gofast/gofast/image/picture"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/foreign"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/source/folder"
	"github.com/gofast-org/gofast/gofast/source/kept"
	"github.com/gofast-org/gofast/gofast/source/tfrecord"
	"github.com/gofast-org/gofast/gofast/table/load"
)

const (
	op = "verify"
	// headBytes of a file tell what it is.
	headBytes = 16 << 10
	// mostFileBytes is the largest picture that is decoded here, as in training.
	mostFileBytes = 1 << 30
	// mostKept is how much memory for a file a thread keeps for the next one.
	mostKept = 64 << 20
	// smallTable is the largest table that one thread reads; the threads share the larger ones, one after the other.
	smallTable = 16 << 20
)

// Verify reads all files: pictures are decoded to the last row by the decoders that training uses, and tables
// are read whole. Libraries that [image.LoadFormats] has not found before are the system's. What is damaged is part of the report; an
// error is returned for paths that do not exist, and when ctx ends.
func Verify(ctx context.Context, paths []string, o Options) (report *Verification, err error) {
	defer pool.Recover(&err, op, "")
	start := time.Now()
	if err := o.complete(); err != nil {
		return nil, err
	}
	all, err := list(ctx, paths, &o)
	if err != nil {
		return nil, errs.Ended(err, op)
	}
	v := &verifier{files: all, options: &o, listed: o.listed(),
		report: &Verification{Files: int64(len(all.list)), HDF5: []folder.Name{}, Damaged: []Problem{}, Unchecked: []Problem{}, Unreadable: all.unreadable}}
	v.readers.New = func() any { return &reader{verifier: v, decoders: map[string]*picture.Decoder{}} }
	if err := v.run(ctx); err != nil {
		return nil, errs.Ended(err, op)
	}
	slices.Sort(v.report.HDF5)
	v.report.Damaged = inOrder(append(v.report.Damaged, all.circles...))
	v.report.Unchecked = inOrder(v.report.Unchecked)
	v.report.Seconds = time.Since(start).Seconds()
	return v.report, nil
}

// verifier is a verification at work.
type verifier struct {
	*files
	options *Options
	total   int64 // bytes of all files, for the progress
	done    atomic.Int64
	readers sync.Pool

	lock   sync.Mutex
	report *Verification
	large  []large // tables that all threads read together
	shards []shard
	listed map[string]shard // those of an index.json, by their paths
}

// large is a table of one file, or of several.
type large struct {
	files []int
	bytes int64
}

func (l *large) add(file int, bytes int64) {
	l.files = append(l.files, file)
	l.bytes += bytes
}

// reader is what one thread reads with. Decoders free what they hold when the garbage collector finds them.
type reader struct {
	*verifier
	file     []byte
	decoders map[string]*picture.Decoder
}

func (v *verifier) run(ctx context.Context) error {
	var total atomic.Int64
	err := v.each(ctx, v.options.Threads, func(i int) error {
		if info, err := os.Stat(v.list[i]); err == nil && info.Mode().IsRegular() {
			total.Add(info.Size())
		}
		return nil
	})
	v.total = total.Load()
	if err == nil {
		err = pool.Each(ctx, v.options.Threads, len(v.list), func(ctx context.Context, i int) error {
			r := v.readers.Get().(*reader)
			err := r.verify(ctx, i)
			if cap(r.file) > mostKept {
				r.file = nil
			}
			v.readers.Put(r)
			return err
		})
	}
	for _, of := range v.large {
		if err != nil {
			break
		}
		slices.Sort(of.files) // in their order
		err = v.table(ctx, of.files, of.bytes, v.options.Threads)
	}
	for _, of := range v.shards {
		if err != nil {
			break
		}
		err = v.shard(ctx, of, v.options.Threads)
	}
	return err
}

// absolute is a path that others may have written otherwise.
func absolute(path string) string {
	if made, err := filepath.Abs(path); err == nil {
		return made
	}
	return path
}

// found notes the verdict on a file.
func (v *verifier) found(i int, err error, isPicture bool) {
	if err == nil {
		return
	}
	p := problemOf(i, v.list[i], err)
	p.Picture = isPicture
	v.note(p, err)
}

func (v *verifier) note(p Problem, err error) {
	v.lock.Lock()
	defer v.lock.Unlock()
	if isDamage(err) {
		v.report.Damaged = append(v.report.Damaged, p)
	} else {
		v.report.Unchecked = append(v.report.Unchecked, p)
	}
}

// add counts bytes that were read.
func (v *verifier) add(n int64) { v.options.Progress(v.done.Add(n), v.total) }

// verify reads one file. Its error is not the file's, but the end of the work.
func (r *reader) verify(ctx context.Context, i int) error {
	path := r.list[i]
	f, err := source.Open(path)
	if err != nil {
		r.found(i, err, false)
		return nil
	}
	defer f.Close()
	if cap(r.file) < headBytes {
		r.file = make([]byte, headBytes)
	}
	head := r.file[:min(headBytes, f.Size())]
	if err := f.ReadFull(head, 0); err != nil {
		r.found(i, err, false)
		return nil
	}
	what, format := kindOf(path, head)
	of, isListed := r.listed[absolute(path)]
	if isListed {
		what = shardKind
	}
	r.tell(what, path, f.Size())
	switch {
	case what == pictureKind:
		r.found(i, r.picture(format, head, f.Size(), f.ReadFull), true)
		r.add(f.Size())
	case what == tableKind && (r.options.OneTable || f.Size() > smallTable):
		r.lock.Lock()
		if len(r.large) == 0 || !r.options.OneTable {
			r.large = append(r.large, large{})
		}
		r.large[len(r.large)-1].add(i, f.Size())
		r.lock.Unlock()
	case what == tableKind:
		return r.table(ctx, []int{i}, f.Size(), 1)
	case what == tarKind || what == shardKind:
		if what == tarKind {
			of = shard{samples: -1, options: tfrecord.Options{Form: tfrecord.Tar, Compression: tfrecord.Pack(head)}}
		}
		of.file, of.bytes = i, f.Size()
		if f.Size() <= smallTable {
			return r.shard(ctx, of, 1)
		}
		r.lock.Lock()
		r.shards = append(r.shards, of)
		r.lock.Unlock()
	case what == cacheKind || what == tfrecordKind:
		err := error(nil)
		if what == cacheKind {
			err = kept.Verify(ctx, f)
		} else {
			compression, _ := tfrecord.Recognize(path, head)
			err = tfrecord.Verify(ctx, tfrecord.Options{Paths: []string{path}, Compression: compression, Threads: 1,
				Memory: limits.Available() / 4 / int64(r.options.Threads)})
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.found(i, err, false)
		r.add(f.Size())
	default:
		r.add(f.Size())
	}
	return nil
}

// tell counts a file.
func (v *verifier) tell(what kind, path string, size int64) {
	v.lock.Lock()
	defer v.lock.Unlock()
	v.report.Bytes += size
	switch what {
	case pictureKind:
		v.report.Pictures++
	case tableKind:
		v.report.Tables++
	case cacheKind:
		v.report.Records++
	case tfrecordKind:
		v.report.TFRecords++
	case tarKind:
		v.report.Tars++
	case shardKind:
		v.report.Shards++
	case hdf5Kind:
		v.report.HDF5 = append(v.report.HDF5, folder.Name(path))
	default:
		v.report.Others++
	}
}

// picture decodes a picture whole, of so many bytes.
func (r *reader) picture(format *format, head []byte, size int64, read func(p []byte, offset int64) error) error {
	if format == nil {
		return notAPicture(head)
	}
	decoder, here := native[format.name]
	if !here {
		return errs.New(errs.ErrUnsupported, format.name, "Pillow decodes this format")
	}
	if size > mostFileBytes {
		return errs.New(errs.ErrLimit, format.name, "the file is larger than 1 GiB: Pillow decodes it")
	}
	if int64(cap(r.file)) < size {
		r.file = make([]byte, size+size/4)
	}
	whole := r.file[:size]
	if err := read(whole, 0); err != nil {
		return err
	}
	d := r.decoders[format.name]
	if d == nil {
		if err := decoder.Load(""); err != nil { // a library that was found stays
			r.lock.Lock()
			defer r.lock.Unlock()
			if r.report.Missing == nil {
				r.report.Missing = map[string]string{}
			}
			r.report.Missing[format.name] = err.Error()
			return err
		}
		d = decoder.NewDecoder()
		r.decoders[format.name] = d
	}
	return d.Check(whole)
}

// notAPicture is the error of a file whose name promises a picture.
func notAPicture(head []byte) error {
	text := "the file is empty"
	if len(head) > 0 {
		text = fmt.Sprintf("the content is no known format of pictures, it begins with % x", head[:min(len(head), 8)])
		if advice := foreign.Advice(head); advice != "" {
			text = "the content is no picture: " + advice
		}
	}
	return errs.New(errs.ErrFormat, "picture", text)
}

// table reads a table whole, as opening it would.
func (v *verifier) table(ctx context.Context, files []int, size int64, threads int) error {
	paths := make([]string, len(files))
	for n, i := range files {
		paths[n] = v.list[i]
	}
	before := v.done.Load()
	options := v.options.Table
	options.Threads, options.Limits = threads, v.options.Limits
	if threads > 1 { // alone: the other threads read it too
		options.Progress = func(done, _ int64) { v.options.Progress(min(before+done, before+size), v.total) }
	}
	left, err := load.VerifyUsable(ctx, paths, options)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		err = left
	}
	at := files[0]
	if in := (*errs.Error)(nil); errors.As(err, &in) && slices.Contains(paths, in.Path) {
		at = files[slices.Index(paths, in.Path)]
	}
	v.found(at, err, false)
	v.add(size)
	return nil
}

// Whole reads what makes one dataset, as opening it would: files of TFRecord, or else a table. Its error is that of opening.
func Whole(ctx context.Context, paths []string, o load.Options) error {
	head := [16]byte{}
	if f, err := source.Open(paths[0]); err == nil {
		n, _ := f.ReadAt(head[:], 0)
		f.Close()
		if compression, is := tfrecord.Recognize(paths[0], head[:n]); is {
			return tfrecord.Verify(ctx, tfrecord.Options{Paths: paths, Compression: compression, Threads: o.Threads, Progress: o.Progress})
		}
	}
	return load.Verify(ctx, paths, o)
}
