package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// far stands for an object on another machine. Each request calls it first.
type far struct {
	Bytes
	request func(ctx context.Context, offset int64) error
	flying  atomic.Int32
	most    atomic.Int32 // in flight at once
	count   atomic.Int32
}

func (f *far) ReadAt(ctx context.Context, p []byte, offset int64) (int, error) {
	f.count.Add(1)
	for now := f.flying.Add(1); ; {
		if most := f.most.Load(); now <= most || f.most.CompareAndSwap(most, now) {
			break
		}
	}
	defer f.flying.Add(-1)
	if f.request != nil {
		if err := f.request(ctx, offset); err != nil {
			return 0, err
		}
	}
	return f.Bytes.ReadAt(ctx, p, offset)
}

// sleep is a request of some time that ends with its context.
func sleep(d time.Duration) func(context.Context, int64) error {
	return func(ctx context.Context, _ int64) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

const each = 5000 // bytes of a sample

// fetching is a fetcher of samples in one object. Its goroutines are gone after the test.
func fetching(t *testing.T, samples int, options FetchOptions, request func(context.Context, int64) error) (*Fetcher, *far) {
	t.Helper()
	object := &far{Bytes: Bytes{Name: "far", Data: make([]byte, each*samples)}, request: request}
	extents := make([]Extent, samples)
	for i := range extents {
		extents[i] = Extent{Offset: int64(i * each), Length: each}
		copy(object.Data[i*each:], fmt.Sprintf("sample %d", i))
	}
	before := runtime.NumGoroutine()
	f, err := NewFetcher([]Object{object}, extents, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for end := time.Now().Add(5 * time.Second); !idle(f); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Errorf("the leases are released, and not all of the %d bytes are free", f.blocks.held)
				break
			}
		}
		f.Close()
		for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d goroutines, and there were %d", runtime.NumGoroutine(), before)
			}
		}
	})
	return f, object
}

// idle says that all of its blocks are free; or it is closed, and has none.
func idle(f *Fetcher) bool {
	f.lock.Lock()
	defer f.lock.Unlock()
	free := int64(0)
	for size, blocks := range f.blocks.free {
		free += size * int64(len(blocks))
	}
	return f.closed || f.flying == 0 && free == f.blocks.held
}

func want(t *testing.T, f *Fetcher, samples ...int64) *Lease {
	t.Helper()
	l, err := f.Want(samples)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// memory is what C reads of a sample.
func memory(f *Fetcher, sample int64) []byte {
	f.lock.Lock()
	defer f.lock.Unlock()
	if f.starts[sample] == 0 {
		return nil
	}
	w := f.wanted[sample]
	if f.starts[sample] != uintptr(unsafe.Pointer(unsafe.SliceData(w.block))) {
		return nil
	}
	return w.block[:f.lengths[sample]]
}

func TestFetcherBringsSamples(t *testing.T) {
	f, object := fetching(t, 20, FetchOptions{Requests: 3}, sleep(time.Millisecond))
	all := make([]int64, 20)
	for i := range all {
		all[i] = int64(i)
	}
	first, second := want(t, f, all...), want(t, f, 3, 3, 4)
	for _, l := range []*Lease{first, second} {
		if err := l.Wait(context.Background()); err != nil || !l.Ready() {
			t.Fatal(err)
		}
	}
	for _, sample := range all {
		if got := memory(f, sample); !bytes.Equal(got, object.Data[sample*each:][:each]) {
			t.Errorf("sample %d: %.20q", sample, got)
		}
	}
	if object.count.Load() != 20 || object.most.Load() != 3 {
		t.Errorf("%d requests, %d at once", object.count.Load(), object.most.Load())
	}
	first.Release()
	first.Release()
	if memory(f, 3) == nil || memory(f, 5) != nil {
		t.Error("a sample is there as long as a lease of it, and no longer")
	}
	second.Release()
}

func TestFetcherKeepsItsBudget(t *testing.T) {
	b := newBlocks(0)
	budget := 6 * b.size(each)
	var f *Fetcher
	over := atomic.Bool{}
	f, object := fetching(t, 60, FetchOptions{Budget: budget}, func(ctx context.Context, _ int64) error {
		f.lock.Lock()
		over.CompareAndSwap(false, f.blocks.held > budget)
		f.lock.Unlock()
		return sleep(time.Millisecond)(ctx, 0)
	})
	var leases []*Lease
	for i := int64(0); i < 60; i += 2 {
		leases = append(leases, want(t, f, i, i+1))
	}
	for _, l := range leases {
		if err := l.Wait(context.Background()); err != nil {
			t.Fatal(err)
		}
		l.Release()
	}
	if over.Load() || object.most.Load() > 6 {
		t.Errorf("over the budget: %v, %d requests at once", over.Load(), object.most.Load())
	}
	if _, err := f.Want([]int64{0, 1, 2, 3, 4, 5, 6}); !errors.Is(err, errs.ErrLimit) {
		t.Errorf("more than the budget: %v", err)
	}
	want(t, f, 0, 1, 2, 3, 4, 5, 5).Release() // all of it, and one twice
}

// Pictures are of all sizes: the blocks that are kept for others of their size give way.
func TestBlocksGiveWay(t *testing.T) {
	b := newBlocks(1 << 20)
	for n := int64(1); n < 1<<20; n = n*3/2 + 1 {
		block, err := b.take(n)
		if err != nil || int64(len(block)) < n || int64(len(block)) > n+n/8+2*b.page || b.held > b.budget {
			t.Fatalf("%d bytes in a block of %d, %d held: %v", n, len(block), b.held, err)
		}
		b.put(block)
	}
	slabs := len(b.slabs)
	for range 100 { // what gave way is found again
		for n := int64(1); n < 1<<20; n = n*3/2 + 1 {
			block, err := b.take(n)
			if err != nil || block == nil {
				t.Fatal(block, err)
			}
			block[0], block[len(block)-1] = 1, 1
			b.put(block)
		}
	}
	if len(b.slabs) != slabs {
		t.Errorf("%d slabs, and there were %d", len(b.slabs), slabs)
	}
	b.unmap()
}

// The system takes whole pages back, of 64 KiB on some: no block begins or ends within one.
func TestBlocksAreWholePages(t *testing.T) {
	b := newBlocks(64 << 20)
	b.page = 64 << 10
	for n := int64(1); n < 900_000; n = n*3/2 + 1 {
		block, err := b.take(n)
		if err != nil {
			t.Fatal(err)
		}
		begin := int64(uintptr(unsafe.Pointer(&block[0])) - uintptr(unsafe.Pointer(&b.slabs[len(b.slabs)-1][0])))
		if begin%b.page != 0 || int64(len(block))%b.page != 0 {
			t.Errorf("%d bytes are a block of %d, at %d of its slab", n, len(block), begin)
		}
	}
	b.unmap()
}

// What is mapped is what the budget allows, and one slab: of large blocks, and of small ones between them.
func TestBlocksFillTheirSlabs(t *testing.T) {
	for name, sizes := range map[string][]int64{"2.1 MiB": {2_200_000}, "3.9 MiB": {4_089_446}, "mixed": {950_000, 700_000, 2_200_000, 20_000, 400_000}} {
		b := newBlocks(64 << 20)
		for i, full := 0, false; !full; i++ {
			block, err := b.take(sizes[i%len(sizes)])
			if err != nil {
				t.Fatal(err)
			}
			full = block == nil
		}
		mapped := int64(0)
		for _, slab := range b.slabs {
			mapped += int64(len(slab))
		}
		if mapped > b.budget+slabBytes {
			t.Errorf("%s: %d bytes are mapped, of a budget of %d", name, mapped, b.budget)
		}
		b.unmap()
	}
}

func TestFetcherErrors(t *testing.T) {
	f, object := fetching(t, 6, FetchOptions{}, func(_ context.Context, offset int64) error {
		switch offset / each {
		case 1:
			return errors.New("503")
		case 2:
			panic("a bug")
		case 3:
			return errs.New(errs.ErrChanged, "read", "another ETag")
		}
		return nil
	})
	l := want(t, f, 0, 1, 2, 3)
	defer l.Release()
	if err := l.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	for sample, c := range []struct {
		kind error
		says string
	}{{nil, ""}, {errs.ErrRead, "503"}, {errs.ErrInternal, "a bug"}, {errs.ErrChanged, "ETag"}} {
		err := f.Err(int64(sample))
		if (err == nil) != (c.kind == nil) {
			t.Errorf("sample %d: %v", sample, err)
		}
		if err != nil && (!errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) || err.Path != "far" || err.Offset != int64(sample*each)) {
			t.Errorf("sample %d: %v, want %v", sample, err, c.kind)
		}
	}
	l.Release()
	again := want(t, f, 1) // an error is not kept
	defer again.Release()
	if err := again.Wait(context.Background()); err != nil || object.count.Load() != 5 {
		t.Errorf("%d requests, %v", object.count.Load(), err)
	}
}

// A short object is an error, and no picture of what happened to come.
func TestFetcherTellsAShortObject(t *testing.T) {
	f, object := fetching(t, 2, FetchOptions{}, nil)
	object.Data = object.Data[:each+10]
	l := want(t, f, 1)
	defer l.Release()
	if err := l.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := f.Err(1); !errors.Is(err, errs.ErrRead) || err.Offset != each+10 || memory(f, 1) != nil {
		t.Errorf("%v", err)
	}
}

func TestFetcherEndsWithItsContext(t *testing.T) {
	f, object := fetching(t, 4, FetchOptions{Requests: 2}, sleep(time.Hour))
	l := want(t, f, 0, 1, 2, 3)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := l.Wait(ctx); !errors.Is(err, errs.ErrCanceled) || l.Ready() {
		t.Errorf("%v", err)
	}
	l.Release() // ends the two, and the others never begin
	for end := time.Now().Add(5 * time.Second); object.flying.Load() > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if object.flying.Load() != 0 || object.count.Load() != 2 {
		t.Errorf("%d requests run, of %d", object.flying.Load(), object.count.Load())
	}
}

// Close waits neither for a request that does not end, nor with those who wait for it.
func TestFetcherCloses(t *testing.T) {
	hung := make(chan struct{})
	f, _ := fetching(t, 2, FetchOptions{}, func(context.Context, int64) error { <-hung; return nil })
	defer close(hung)
	l := want(t, f, 0)
	waited := make(chan error)
	go func() { waited <- l.Wait(context.Background()) }()
	began := time.Now()
	f.Close()
	f.Close()
	if took := time.Since(began); took > 3*closeWait {
		t.Errorf("Close took %v", took)
	}
	if err := <-waited; !errors.Is(err, errs.ErrClosed) {
		t.Errorf("%v", err)
	}
	l.Release()
	if _, err := f.Want([]int64{1}); !errors.Is(err, errs.ErrClosed) {
		t.Errorf("%v", err)
	}
}

// A fetcher that is closed keeps nothing of its 16 bytes a sample, nor what it fetched.
func TestFetcherLeavesNothing(t *testing.T) {
	extents := make([]Extent, 1<<16)
	mapped := func() (pages int64) {
		text, err := os.ReadFile("/proc/self/statm")
		if _, failed := fmt.Sscan(string(text), &pages); errors.Join(err, failed) != nil {
			t.Fatal(err, failed)
		}
		return pages
	}
	before := mapped()
	for range 512 {
		f, err := NewFetcher([]Object{&Bytes{}}, extents, FetchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := want(t, f, 0).Wait(context.Background()); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	if grown := (mapped() - before) * int64(os.Getpagesize()); grown > 512<<20 {
		t.Errorf("%d bytes are left of 512 fetchers of 5 MiB", grown)
	}
}

func TestExtentsWithinObjects(t *testing.T) {
	objects := []Object{&Bytes{Name: "b", Data: make([]byte, 10)}}
	made, err := Within(objects, []Extent{{Length: -1}, {Offset: 10, Length: -1}, {Offset: 3, Length: 7}})
	if err != nil || made[0].Length != 10 || made[1].Length != 0 || made[2].Length != 7 {
		t.Errorf("%v, %v", made, err)
	}
	objects = append(objects, nil)
	for _, bad := range []Extent{{Offset: -1, Length: 1}, {Offset: 11, Length: -1}, {Offset: 1 << 62, Length: 1 << 62}, {Object: 1}, {Object: 2}} {
		if _, err := Within(objects, []Extent{bad}); !errors.Is(err, errs.ErrConfig) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

func TestLocalObjects(t *testing.T) {
	path := filepath.Join(t.TempDir(), "local")
	if err := os.WriteFile(path, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := OpenLocal(path)
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 3)
	if n, err := l.ReadAt(context.Background(), p, 4); n != 3 || err != nil || string(p) != "456" || l.Stamp().Size != 10 {
		t.Errorf("%q, %v", p[:n], err)
	}
	if err := os.WriteFile(path, []byte("0123456789!"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := l.ReadAt(context.Background(), p, 4); !errors.Is(err, errs.ErrChanged) {
		t.Errorf("%v", err)
	}
	if _, err := OpenLocal(path + "?"); !errors.Is(err, errs.ErrNotFound) {
		t.Errorf("%v", err)
	}
}
