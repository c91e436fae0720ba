package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"time"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"golang.org/x/sys/unix"
)

// FetchOptions bound a Fetcher. They have nothing to do with the number of threads.
//
// Memory within the budget is used again for samples of about the same size. For others it
// goes back to the system, but where that has huge pages it may make it resident again, as
// part of a huge page that is in use.
type FetchOptions struct {
	Budget   int64 // bytes in memory and on their way, of all that is wanted; 0: 256 MiB
	Requests int   // in flight; 0: 256, which at 50 ms each bring 5,000 pictures a second
}

// Fetcher brings samples of objects into memory ahead of their use, a request each. A
// sample is there from the moment that its Lease says so until the last Lease of it is
// released. Samples are begun in the order in which they are wanted, as far as the budget
// goes. So whoever releases leases in that order never waits for memory that he holds.
type Fetcher struct {
	objects  []Object
	extents  []Extent
	requests int
	arrays   []byte // addresses and lengths of the samples that are in memory, for C
	starts   []uintptr
	lengths  []uint64

	ctx    context.Context // of all requests
	cancel context.CancelFunc
	lock   sync.Mutex // over what follows, and the arrays
	blocks blocks
	wanted map[int64]*fetched // by sample
	queue  []*fetched         // those that are not begun, and some that nobody wants any more
	flying int
	landed chan struct{} // closed with the last request after Close
	closed bool
}

// fetched is a sample that is wanted, on its way, or in memory.
type fetched struct {
	sample int64
	leases int
	block  []byte             // from the beginning of its request on
	cancel context.CancelFunc // of its request
	done   chan struct{}      // closed when it is there, or err says why not
	err    *errs.Error
}

// Lease is the right to some samples' memory.
type Lease struct {
	fetcher *Fetcher
	samples []*fetched
}

// closeWait is how long Close waits for requests that do not end when they are told to.
const closeWait = time.Second

// NewFetcher is a fetcher of ranges that Within has checked. The objects are the caller's
// to close, after it.
func NewFetcher(objects []Object, extents []Extent, options FetchOptions) (*Fetcher, error) {
	if options.Budget <= 0 {
		options.Budget = 256 << 20
	}
	if options.Requests <= 0 {
		options.Requests = 256
	}
	n := len(extents)
	arrays, err := unix.Mmap(-1, 0, max(16*n, 1), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, errs.New(errs.ErrLimit, "fetch", "no memory for the list of samples").Because(err)
	}
	f := &Fetcher{objects: objects, extents: extents, requests: options.Requests, arrays: arrays, blocks: newBlocks(options.Budget),
		wanted: map[int64]*fetched{}, landed: make(chan struct{})}
	base := unsafe.Pointer(unsafe.SliceData(arrays))
	f.starts, f.lengths = unsafe.Slice((*uintptr)(base), n), unsafe.Slice((*uint64)(unsafe.Add(base, 8*n)), n)
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f, nil
}

// Arrays are the addresses of uint64[samples], twice: where each sample lies, and its
// bytes; 0 while it is not in memory.
func (f *Fetcher) Arrays() (starts, lengths uintptr) {
	base := uintptr(unsafe.Pointer(unsafe.SliceData(f.arrays)))
	return base, base + 8*uintptr(len(f.extents))
}

// Want begins to fetch samples. It does not wait, and ErrLimit says that the budget is too
// small for all of them together. One that is too large for it alone is that sample's Err. A sample that is wanted already is fetched once.
func (f *Fetcher) Want(samples []int64) (*Lease, error) {
	f.lock.Lock()
	defer f.lock.Unlock()
	if f.closed {
		return nil, errs.New(errs.ErrClosed, "fetch", "the dataset was closed")
	}
	l := &Lease{f, make([]*fetched, 0, len(samples))}
	all, budget, over := int64(0), f.blocks.budget, false
	mine := make(map[int64]bool, len(samples))
	for _, sample := range samples {
		if mine[sample] {
			continue
		}
		mine[sample] = true
		w := f.wanted[sample]
		if w == nil {
			w = &fetched{sample: sample, done: make(chan struct{})}
			f.wanted[sample] = w
			if f.fits(sample) {
				f.queue = append(f.queue, w)
			} else {
				w.err = errs.New(errs.ErrLimit, "fetch", fmt.Sprintf("%s are more than the budget of %s: raise FetchOptions.Budget",
					errs.Bytes(f.extents[sample].Length), errs.Bytes(budget))).At(f.object(sample).Path())
				close(w.done)
			}
		}
		w.leases++
		l.samples = append(l.samples, w)
		if f.fits(sample) { // others take no memory
			size := f.blocks.size(f.extents[sample].Length)
			over = over || all > budget-size // before the sum, which is not to pass the largest int64
			all += size
		}
	}
	if over {
		f.release(l)
		return nil, errs.New(errs.ErrLimit, "fetch", fmt.Sprintf(
			"a batch of %d samples is more than the budget of %s: raise FetchOptions.Budget, or take smaller batches", len(samples), errs.Bytes(budget)))
	}
	f.begin()
	return l, nil
}

// begin starts the next requests, as far as budget and requests allow. The lock is held.
func (f *Fetcher) begin() {
	for len(f.queue) > 0 && f.flying < f.requests && !f.closed {
		w := f.queue[0]
		if w.leases > 0 {
			block, err := f.blocks.take(f.extents[w.sample].Length)
			if err == nil && block == nil {
				return // until something is released
			}
			if err != nil {
				w.err = errs.New(errs.ErrLimit, "fetch", "no memory").At(f.object(w.sample).Path()).Because(err)
				close(w.done)
			} else {
				ctx, cancel := context.WithCancel(f.ctx)
				w.block, w.cancel = block, cancel
				f.flying++
				go f.request(ctx, w)
			}
		}
		f.queue[0] = nil
		f.queue = f.queue[1:]
	}
}

// fits says whether the budget has room for a sample, alone.
func (f *Fetcher) fits(sample int64) bool {
	n := f.extents[sample].Length
	return n <= f.blocks.budget && f.blocks.size(n) <= f.blocks.budget
}

func (f *Fetcher) object(sample int64) Object { return f.objects[f.extents[sample].Object] }

// request is the goroutine of a sample.
func (f *Fetcher) request(ctx context.Context, w *fetched) {
	e := f.extents[w.sample]
	err := f.read(ctx, w.block[:e.Length], e)
	w.cancel()
	f.lock.Lock()
	defer f.lock.Unlock()
	f.flying--
	switch w.err = err; {
	case f.closed: // the arrays are gone, and the memory goes with the last request
	case err != nil || w.leases == 0:
		f.give(w)
	default:
		f.starts[w.sample], f.lengths[w.sample] = uintptr(unsafe.Pointer(unsafe.SliceData(w.block))), uint64(e.Length)
	}
	close(w.done)
	if f.closed && f.flying == 0 {
		f.blocks.unmap()
		close(f.landed)
	}
	f.begin()
}

// read fills p. Its errors have the object and the offset.
func (f *Fetcher) read(ctx context.Context, p []byte, e Extent) (failed *errs.Error) {
	object := f.objects[e.Object]
	defer func() {
		if r := recover(); r != nil {
			bug := errs.New(errs.ErrInternal, "fetch", fmt.Sprintf("panic: %v", r)).At(object.Path()).AtOffset(e.Offset)
			bug.Debug = string(debug.Stack())
			failed = bug
		}
	}()
	n, err := object.ReadAt(ctx, p, e.Offset)
	if n == len(p) && (n > 0 || err == nil || err == io.EOF) {
		return nil
	}
	var known *errs.Error
	switch at := e.Offset + int64(n); {
	case ctx.Err() != nil:
		return errs.New(errs.ErrCanceled, "fetch", "canceled").At(object.Path()).AtOffset(at).Because(ctx.Err())
	case errors.As(err, &known):
		own := *known
		own.Path, own.Offset = object.Path(), at
		return &own
	default:
		return errs.New(errs.ErrRead, "fetch", fmt.Sprintf("%d of %d bytes came", n, len(p))).At(object.Path()).AtOffset(at).Because(err)
	}
}

// give takes the memory of a sample back. The lock is held.
func (f *Fetcher) give(w *fetched) {
	f.blocks.put(w.block)
	w.block = nil
}

// release ends a lease. The lock is held.
func (f *Fetcher) release(l *Lease) {
	for _, w := range l.samples {
		if w.leases--; w.leases > 0 {
			continue
		}
		delete(f.wanted, w.sample) // whoever wants it now gets another
		if w.block == nil || f.closed {
			continue // not begun, or failed; or all went with Close
		}
		select {
		case <-w.done:
			f.starts[w.sample], f.lengths[w.sample] = 0, 0
			f.give(w)
		default:
			w.cancel() // its request gives the memory back
		}
	}
	l.samples = nil
	f.begin()
}

// Err says why a sample that a lease holds is not in memory, in an error of the caller's
// own; nil if it is, or is on its way.
func (f *Fetcher) Err(sample int64) *errs.Error {
	f.lock.Lock()
	defer f.lock.Unlock()
	if w := f.wanted[sample]; w != nil && w.err != nil {
		own := *w.err
		return &own
	}
	return nil
}

// Hungry says that more should be wanted, lest the requests run short before the next call.
func (f *Fetcher) Hungry() bool {
	f.lock.Lock()
	defer f.lock.Unlock()
	return len(f.queue) < f.requests
}

// Close ends all requests, and waits a second at most for those that do not end with their
// context. C reads no sample after it; a Wait that runs gives ErrClosed.
func (f *Fetcher) Close() {
	f.lock.Lock()
	if f.closed {
		f.lock.Unlock()
		return
	}
	f.closed, f.queue = true, nil
	f.cancel()
	_ = unix.Munmap(f.arrays) // cannot fail for a mapping of ours
	flying := f.flying
	if flying == 0 {
		f.blocks.unmap()
	}
	f.lock.Unlock()
	if flying == 0 {
		return
	}
	timer := time.NewTimer(closeWait)
	defer timer.Stop()
	select {
	case <-f.landed:
	case <-timer.C:
	}
}

// Wait returns when all samples are in memory, or it is known why they are not:
// Fetcher.Err says so for each. Its own error is that of ctx, or ErrClosed.
func (l *Lease) Wait(ctx context.Context) error {
	for _, w := range l.samples {
		select {
		case <-w.done:
		case <-ctx.Done():
			return errs.New(errs.ErrCanceled, "fetch", "canceled").Because(ctx.Err())
		case <-l.fetcher.ctx.Done():
			return errs.New(errs.ErrClosed, "fetch", "the dataset was closed")
		}
	}
	return nil
}

// Ready says whether Wait would return at once.
func (l *Lease) Ready() bool {
	for _, w := range l.samples {
		select {
		case <-w.done:
		default:
			return false
		}
	}
	return true
}

// Release gives the memory back, and ends requests that no other lease waits for. It may
// be called again.
func (l *Lease) Release() {
	if l == nil {
		return // nothing is fetched
	}
	l.fetcher.lock.Lock()
	defer l.fetcher.lock.Unlock()
	l.fetcher.release(l)
}
