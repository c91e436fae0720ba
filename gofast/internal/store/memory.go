package store

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/memfd"
)

// Memory is shared memory that is being written, for what is not kept on disk.
type Memory struct {
	File *os.File

	op string
}

// NewMemory is memory without content. Its maker closes it.
func NewMemory(op, name string) (*Memory, error) {
	file, err := memfd.New(name)
	if err != nil {
		return nil, errs.New(errs.ErrLimit, op, "cannot create shared memory").Because(err)
	}
	return &Memory{file, op}, nil
}

// Put writes data at an offset.
func (m *Memory) Put(data []byte, at int64) error {
	if _, err := m.File.WriteAt(data, at); err != nil {
		return errs.New(errs.ErrLimit, m.op, fmt.Sprintf("cannot fill %s of shared memory", errs.Bytes(int64(len(data))))).Because(err)
	}
	return nil
}

// Map gives it a size, and maps it for writing.
func (m *Memory) Map(size int64) ([]byte, error) {
	err := m.File.Truncate(size)
	if err == nil {
		var data []byte
		if data, err = unix.Mmap(int(m.File.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
			return data, nil
		}
	}
	return nil, errs.New(errs.ErrLimit, m.op, fmt.Sprintf("cannot map %s of shared memory", errs.Bytes(int64(size)))).Because(err)
}

// Seal lets nobody write to it any more; it must not be mapped for that. The descriptor is the caller's.
func (m *Memory) Seal() (int, error) {
	if err := memfd.Seal(m.File.Fd()); err != nil {
		return -1, errs.New(errs.ErrRead, m.op, "cannot seal shared memory").Because(err)
	}
	return Keep(m.File)
}

// Close gives up what nobody has a descriptor of.
func (m *Memory) Close() error { return m.File.Close() }

// InMemory is the descriptor of sealed memory with a content. The caller owns it.
func InMemory(op, name string, data []byte) (int, error) {
	m, err := NewMemory(op, name)
	if err != nil {
		return -1, err
	}
	defer m.Close()
	if err := m.Put(data, 0); err != nil {
		return -1, err
	}
	return m.Seal()
}

// Keep makes a second descriptor of a file, which Go does not know about.
func Keep(file *os.File) (int, error) {
	fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return -1, errs.New(errs.ErrRead, "open", "cannot duplicate the descriptor").At(file.Name()).Because(err)
	}
	return fd, nil
}
