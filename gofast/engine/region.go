package engine

import (
	"fmt"
	"os"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/memfd"
	"golang.org/x/sys/unix"
)

// Region is memory with a descriptor. It holds a decoded table. Forked processes inherit
// the descriptor, and other processes can receive it. A region is a memfd, because
// containers give /dev/shm only 64 MB, and sealed, because a sealed mapping cannot fault.
type Region struct {
	file *os.File
	data []byte
}

// NewRegion maps size bytes, which are committed when they are first written.
func NewRegion(name string, size int64) (*Region, error) {
	fail := func(what string, err error) (*Region, error) {
		return nil, errs.New(errs.ErrLimit, "buffer", fmt.Sprintf("cannot %s %s of shared memory", what, errs.Bytes(int64(size)))).Because(err)
	}
	f, err := memfd.New(name)
	if err != nil {
		return fail("create", err)
	}
	if err := f.Truncate(size); err != nil {
		f.Close()
		return fail("size", err)
	}
	if size == 0 {
		return &Region{file: f}, nil
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		f.Close()
		return fail("map", err)
	}
	return &Region{file: f, data: data}, nil
}

// Bytes is the mapped memory; valid until Finish or Close.
func (r *Region) Bytes() []byte { return r.data }

// Finish unmaps the region, cuts it to size, and seals it. From then on nobody
// can write or shrink it, so reading a mapping of it cannot fault. It returns a
// descriptor, which the caller owns.
func (r *Region) Finish(size int64) (fd int, err error) {
	r.unmap()
	fail := func(err error) (int, error) {
		r.Close()
		return -1, errs.New(errs.ErrRead, "buffer", "cannot seal shared memory").Because(err)
	}
	if err := r.file.Truncate(size); err != nil {
		return fail(err)
	}
	if fd, err = unix.FcntlInt(r.file.Fd(), unix.F_DUPFD_CLOEXEC, 3); err != nil {
		return fail(err)
	}
	if err := memfd.Seal(r.file.Fd()); err != nil {
		unix.Close(fd)
		return fail(err)
	}
	r.file.Close()
	return fd, nil
}

// Close drops a region that was not finished.
func (r *Region) Close() {
	r.unmap()
	r.file.Close()
}

func (r *Region) unmap() {
	if r.data != nil {
		_ = unix.Munmap(r.data) // cannot fail for a mapping of ours
		r.data = nil
	}
}
