package inspect

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofast-org/gofast/gofast/image/picture"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/source/folder"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/cache"
	"github.com/gofast-org/gofast/gofast/table/formats"
)

// Verification is what Verify found. Lists are in the order of the files, and empty rather than nil.
type Verification struct {
	Files    int64   `json:"files"`
	Bytes    int64   `json:"bytes"`
	Seconds  float64 `json:"seconds"`
	Pictures int64   `json:"pictures"` // all of them, also damaged ones and those that were not checked
	Tables   int64   `json:"tables"`
	Others   int64   `json:"others"` // files that are neither: they were not read
	// Damaged are files that training would fail on, and links that lead back to a folder that they lie in, at most 100
	// of each folder given.
	Damaged []Problem `json:"damaged"`
	// Unchecked are files that gofast does not decode: Pillow's pictures, tables that it cannot use, and whatever is
	// beyond a limit.
	Unchecked []Problem `json:"unchecked"`
	// Missing says which libraries that decode pictures were not found, by the format's name: nothing is known of these
	// pictures, which are among the unchecked ones.
	Missing map[string]string `json:"missing_libraries,omitempty"`
	// Unreadable are folders that could not be listed, at most 100 of each folder given.
	Unreadable []folder.Name `json:"unreadable_folders"`
}

const (
	opVerify = "verify"
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
	defer pool.Recover(&err, opVerify, "")
	start := time.Now()
	if err := o.complete(); err != nil {
		return nil, err
	}
	all, err := list(ctx, paths, &o)
	if err != nil {
		return nil, canceled(err, opVerify)
	}
	defer all.close()
	v := &verifier{files: all, options: &o, budget: limits.NewBudget(o.Limits.WithDefaults().Memory),
		report: &Verification{Files: int64(all.count), Damaged: []Problem{}, Unchecked: []Problem{}, Unreadable: all.unreadable}}
	if err := v.measure(ctx); err != nil {
		return nil, canceled(err, opVerify)
	}
	if err := v.run(ctx); err != nil {
		return nil, canceled(err, opVerify)
	}
	v.report.Damaged = inOrder(append(v.report.Damaged, all.circles...))
	v.report.Unchecked = inOrder(v.report.Unchecked)
	v.report.Seconds = time.Since(start).Seconds()
	return v.report, nil
}

// verifier is a verification at work.
type verifier struct {
	*files
	options *Options
	budget  *limits.Budget
	total   int64
	done    atomic.Int64

	lock   sync.Mutex
	report *Verification
	large  []int // tables that all threads read together
	idle   []*reader
}

// reader is what one thread reads with.
type reader struct {
	*verifier
	file     []byte
	decoders map[string]*picture.Decoder
}

// measure adds up the sizes, for the progress.
func (v *verifier) measure(ctx context.Context) error {
	var total atomic.Int64
	err := pool.Each(ctx, v.options.Threads, (v.count+together-1)/together, func(ctx context.Context, job int) error {
		for i := job * together; i < min((job+1)*together, v.count) && ctx.Err() == nil; i++ {
			total.Add(sizeOf(v.path(i)))
		}
		return ctx.Err()
	})
	v.total = total.Load()
	return err
}

func (v *verifier) run(ctx context.Context) error {
	defer func() {
		for _, r := range v.idle {
			r.close()
		}
	}()
	err := pool.Each(ctx, v.options.Threads, v.count, func(ctx context.Context, i int) error {
		r := v.take()
		defer v.give(r)
		return r.verify(ctx, i)
	})
	for _, i := range v.large {
		if err != nil {
			break
		}
		err = v.table(ctx, i, v.options.Threads)
	}
	return err
}

func (v *verifier) take() *reader {
	v.lock.Lock()
	defer v.lock.Unlock()
	if n := len(v.idle); n > 0 {
		r := v.idle[n-1]
		v.idle = v.idle[:n-1]
		return r
	}
	return &reader{verifier: v, decoders: map[string]*picture.Decoder{}}
}

func (v *verifier) give(r *reader) {
	if cap(r.file) > mostKept {
		r.file = nil
	}
	v.lock.Lock()
	defer v.lock.Unlock()
	v.idle = append(v.idle, r)
}

func (r *reader) close() {
	for _, d := range r.decoders {
		d.Close()
	}
}

// found notes the verdict on a file.
func (v *verifier) found(i int, err error, isPicture bool) {
	if err == nil {
		return
	}
	p := problemOf(i, v.path(i), err)
	p.Picture = isPicture
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
	path := r.path(i)
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
	r.tell(what, f.Size())
	switch {
	case what == pictureKind:
		r.found(i, r.picture(f, format, head), true)
		r.add(f.Size())
	case what == tableKind && f.Size() > smallTable:
		r.lock.Lock()
		r.large = append(r.large, i)
		r.lock.Unlock()
	case what == tableKind:
		return r.table(ctx, i, 1)
	default:
		r.add(f.Size())
	}
	return nil
}

// tell counts a file.
func (v *verifier) tell(what kind, size int64) {
	v.lock.Lock()
	defer v.lock.Unlock()
	v.report.Bytes += size
	switch what {
	case pictureKind:
		v.report.Pictures++
	case tableKind:
		v.report.Tables++
	default:
		v.report.Others++
	}
}

// picture decodes a picture whole.
func (r *reader) picture(f *source.File, format *format, head []byte) error {
	if format == nil {
		return notAPicture(head)
	}
	decoder, here := native[format.name]
	if !here {
		return errs.New(errs.ErrUnsupported, format.name, "Pillow decodes this format")
	}
	if f.Size() > mostFileBytes {
		return errs.New(errs.ErrLimit, format.name, "the file is larger than 1 GiB: Pillow decodes it")
	}
	if int64(cap(r.file)) < f.Size() {
		r.file = make([]byte, f.Size()+f.Size()/4)
	}
	whole := r.file[:f.Size()]
	if err := f.ReadFull(whole, 0); err != nil {
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

// table reads a table whole.
func (v *verifier) table(ctx context.Context, i, threads int) error {
	path := v.path(i)
	f, err := source.Open(path)
	if err != nil {
		v.found(i, err, false)
		return nil
	}
	before := v.done.Load()
	err = v.readTable(ctx, f, threads)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	v.found(i, err, false)
	if threads > 1 { // nobody else counts meanwhile
		v.add(f.Size() - (v.done.Load() - before))
	} else {
		v.add(f.Size())
	}
	return nil
}

// readTable closes f.
func (v *verifier) readTable(ctx context.Context, f *source.File, threads int) error {
	head := make([]byte, min(64, f.Size()))
	if err := f.ReadFull(head, 0); err != nil || isCache(f, head) {
		f.Close()
		if err != nil {
			return err
		}
		return cache.Verify(ctx, f.Path())
	}
	options := table.Options{Threads: threads, Limits: v.options.Limits, Budget: v.budget, Uncounted: true}
	if threads > 1 {
		options.Progress = v.add
	}
	r, err := formats.Open(f, options)
	if err != nil {
		f.Close()
		return err
	}
	defer r.Close()
	whole, ok := r.(table.Verifier)
	if !ok {
		return errs.New(errs.ErrUnsupported, opVerify, "tables of this format cannot be verified")
	}
	return whole.Verify(ctx)
}
