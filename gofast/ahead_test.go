package gofast

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/engine"
	images "github.com/gofast-org/gofast/gofast/image"
	"github.com/gofast-org/gofast/gofast/numbers"
)

// coldFolder has pictures with 512 KiB of nothing behind them, none of which is in the page cache, and where the last
// page of each is.
func coldFolder(t *testing.T, count int, options images.Options, steps ...images.Step) (*Dataset, []string) {
	t.Helper()
	root := t.TempDir()
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewNRGBA(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	content := append(picture.Bytes(), make([]byte, 512<<10)...)
	var paths []string
	for i := range count {
		path := filepath.Join(root, "class", strconv.Itoa(1000+i)+".png")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		evict(t, path)
		paths = append(paths, path)
	}
	plan := images.Plan{
		Steps:  append(steps, images.Step{"op": "resize", "size": []int{8, 8}, "filter": "box"}, images.Step{"op": "to_uint8"}),
		Output: images.Output{DType: numbers.Uint8, Height: 8, Width: 8, Channels: 3},
	}
	f := openFolder(t, root, plan, FolderOptions{Options: options})
	return f, paths
}

// evict drops a file from the page cache.
func evict(t *testing.T, path string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
	if cached(t, path) {
		t.Skip("this file system keeps its files in memory")
	}
}

// cached tells whether the last page of a file lies in the page cache.
func cached(t *testing.T, path string) bool {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	m, err := unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(m)
	pages := make([]byte, (len(m)+os.Getpagesize()-1)/os.Getpagesize())
	if _, _, code := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&m[0])), uintptr(len(m)), uintptr(unsafe.Pointer(&pages[0]))); code != 0 {
		t.Fatal(code)
	}
	return pages[len(pages)-1]&1 == 1
}

// becomesCached waits: the kernel fetches in the background.
func becomesCached(t *testing.T, path string) bool {
	t.Helper()
	for until := time.Now().Add(5 * time.Second); time.Now().Before(until); time.Sleep(time.Millisecond) {
		if cached(t, path) {
			return true
		}
	}
	return false
}

const hintsAhead = 16 // view.h's GF_VIEW_AHEAD

// Who makes the samples of a list, as forked workers do, hints at the next files, and not at all of them. The files are
// larger than the limit, and so never read; an index that is none ends the list after the first.
func TestHintsWithinAList(t *testing.T) {
	f, paths := coldFolder(t, hintsAhead+3, images.Options{MaxFileBytes: 1})
	indices := Sequential(f.Len())
	indices[1] = f.Len()
	x, labels := cMemory(t, f.view.RowBytes()*f.Len()), cMemory(t, 8*f.Len())
	if bad := f.view.Fill(indices, 0, len(indices), x.Data(), labels.Data()); bad != 1 {
		t.Fatalf("index %d is bad", bad)
	}
	for i := 2; i <= hintsAhead; i++ {
		if !becomesCached(t, paths[i]) {
			t.Errorf("nobody hinted at file %d", i)
		}
	}
	for _, i := range []int{0, 1, hintsAhead + 1, hintsAhead + 2} {
		if cached(t, paths[i]) {
			t.Errorf("file %d was fetched", i)
		}
	}
}

// Headers that draws need are hinted at as whole files, since the pictures are made next, and once: neither headers that
// are known nor their pictures are hinted at again.
func TestHintsForHeaders(t *testing.T) {
	f, paths := coldFolder(t, 4, images.Options{}, images.Step{"op": "random_crop", "size": []int{2, 2}, "mode": "constant", "fill": []int{0, 0, 0}})
	e := engineOf(t, 1)
	draw := func() {
		if _, err := f.draw(e, []int64{0, 1, 2}); err != nil {
			t.Fatal(err)
		}
	}
	draw()
	if !becomesCached(t, paths[2]) {
		t.Error("nobody hinted at a file whose header was needed")
	}
	evict(t, paths[2])
	draw()
	x, labels := cMemory(t, 3*f.view.RowBytes()), cMemory(t, 3*8)
	// File 3 is hinted at behind file 2; the index that is none ends the list before either is read.
	f.view.Fill([]int64{0, f.Len(), 2, 3}, 0, 4, x.Data(), labels.Data())
	if !becomesCached(t, paths[3]) || cached(t, paths[2]) {
		t.Error("a file was hinted at twice, or the one behind it not at all")
	}
}

// The engine hints at files of its next tickets too. The files are larger than the limit, and so never read: what is in
// the page cache was hinted at. The second ticket's first file only the first ticket can have hinted at.
func TestHintsAcrossTickets(t *testing.T) {
	f, paths := coldFolder(t, 3, images.Options{MaxFileBytes: 1})
	e := engineOf(t, 2)
	submit := func(indices []int64) *engine.Ticket {
		n := int64(len(indices))
		slot, labels := cMemory(t, f.view.RowBytes()*n), cMemory(t, 8*n)
		slot.Describe(n, []int64{3, 8, 8}, 1, 8)
		ticket, err := e.engine.Submit(engine.Request{View: f.view, Indices: indices, BatchRows: len(indices), Slots: []engine.Slot{slot}, Labels: labels.Data()})
		if err != nil {
			t.Fatal(err)
		}
		return ticket
	}
	first := submit(slices.Repeat([]int64{0}, 20_000)) // long enough for the second to come in time
	second := submit([]int64{1, 2})
	for _, ticket := range []*engine.Ticket{first, second} {
		if err := ticket.Wait(context.Background()); err != nil {
			t.Fatal(err)
		}
		ticket.Release()
	}
	for i, path := range paths {
		if !becomesCached(t, path) {
			t.Errorf("nobody hinted at file %d", i)
		}
	}
}
