package engine

import (
	"fmt"
	"os"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"golang.org/x/sys/unix"
)

// Region is private memory that holds a decoded table. Forked processes have it too, and Python shares it when it
// spawns one. Its pages are huge where the system has them: the page faults of a fresh table of 47 MB take 5 ms of
// processor time, in shared memory 39 ms.
type Region struct{ data []byte }

// NewRegion maps size bytes, which are committed when they are first written.
func NewRegion(size int64) (*Region, error) {
	const flags = unix.MAP_PRIVATE | unix.MAP_ANON | unix.MAP_NORESERVE
	at, err := unix.MmapPtr(-1, 0, nil, uintptr(size), unix.PROT_READ|unix.PROT_WRITE, flags)
	if err != nil {
		return nil, errs.New(errs.ErrLimit, "buffer", fmt.Sprintf("cannot map %s of memory", errs.Bytes(size))).Because(err)
	}
	r := &Region{unsafe.Slice((*byte)(at), size)}
	_ = unix.Madvise(r.data, unix.MADV_HUGEPAGE) // a kernel without them has small ones
	return r, nil
}

// Bytes is the memory; valid until Give or Close.
func (r *Region) Bytes() []byte { return r.data }

// Finish gives back what lies behind the first size bytes, of which there is one at least, and lets nobody write to the rest.
func (r *Region) Finish(size int64) error {
	page := int64(os.Getpagesize())
	if end := min((size+page-1)&^(page-1), int64(len(r.data))); end < int64(len(r.data)) {
		unmap(r.data[end:])
	}
	r.data = r.data[:size]
	if err := unix.Mprotect(r.data, unix.PROT_READ); err != nil {
		r.Close()
		return errs.New(errs.ErrRead, "buffer", "cannot protect memory").Because(err)
	}
	return nil
}

// Give is where a finished region lies. The caller unmaps it.
func (r *Region) Give() uintptr {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(r.data)))
	r.data = nil
	return at
}

// Close drops it.
func (r *Region) Close() {
	if r.data != nil {
		unmap(r.data)
		r.data = nil
	}
}

func unmap(data []byte) {
	_ = unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(data)), uintptr(len(data))) // cannot fail for a mapping of ours
}
