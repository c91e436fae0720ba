// Package source is where bytes come from: files, opened read-only and read
// with pread. A mapped file that shrinks kills the process with SIGBUS. A pread
// of such a file returns fewer bytes, and becomes an error here.
package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// File is one regular file. It is safe for concurrent ReadAt and owns its
// descriptor until Close, or gives it back meanwhile with Rest.
type File struct {
	path  string
	stamp Stamp
	begin int64 // of what is read
	size  int64 // of that

	mu   sync.RWMutex // held by who reads
	f    *os.File     // nil while it rests
	full string       // the path to open again, once it has rested
}

// Open opens a regular file. Pipes, devices and folders are refused: their size
// cannot be checked before reading.
func Open(path string) (*File, error) {
	// O_NONBLOCK keeps the open of a pipe without a writer from hanging.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, notOpened(path, err)
	}
	return fileOf(f, path)
}

// OpenRange opens n bytes of a regular file as if they were one.
func OpenRange(path string, begin, n int64) (*File, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	if begin < 0 || n < 0 || begin > f.size || n > f.size-begin {
		f.Close()
		return nil, errs.New(errs.ErrDamaged, "open", fmt.Sprintf("%d bytes of %d", n, f.size)).At(path).AtOffset(begin)
	}
	f.begin, f.size = begin, n
	return f, nil
}

func notOpened(path string, err error) error {
	kind := errs.ErrRead
	if errors.Is(err, fs.ErrNotExist) {
		kind = errs.ErrNotFound
	}
	return errs.New(kind, "open", "cannot open the file").At(path).Because(cause(err))
}

func notRegular(path string) error {
	return errs.New(errs.ErrRead, "open", "not a regular file").At(path)
}

// fileOf takes a descriptor over.
func fileOf(f *os.File, path string) (*File, error) {
	stamp, regular, err := stampOf(f)
	if err != nil {
		f.Close()
		return nil, errs.New(errs.ErrRead, "open", "cannot stat the file").At(path).Because(cause(err))
	}
	if !regular {
		f.Close()
		return nil, notRegular(path)
	}
	return &File{path: path, f: f, stamp: stamp, size: stamp.Size}, nil
}

// Rest closes the descriptor until the file is read again: a table may have more files than a process may open. Only for a
// file that Open has opened.
func (f *File) Rest() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.full == "" {
		full, err := filepath.Abs(f.path)
		if err != nil {
			return
		}
		f.full = full
	}
	if f.f != nil {
		f.f.Close()
		f.f = nil
	}
}

// use calls a function with the open file. One that has rested must be the same still.
func (f *File) use(do func(*os.File) error) error {
	for {
		f.mu.RLock()
		if f.f != nil {
			defer f.mu.RUnlock()
			return do(f.f)
		}
		f.mu.RUnlock()
		if err := f.wake(); err != nil {
			return err
		}
	}
}

func (f *File) wake() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.f != nil {
		return nil
	}
	again, err := Open(f.full)
	if err != nil {
		return errs.New(errs.ErrChanged, "read", "the file cannot be opened again").At(f.path).Because(err)
	}
	if again.stamp != f.stamp {
		again.f.Close()
		return f.changed(again.stamp)
	}
	f.f = again.f
	return nil
}

func (f *File) changed(now Stamp) error {
	return errs.New(errs.ErrChanged, "read", fmt.Sprintf(
		"the file changed while it was read (%d bytes before, %d now)", f.stamp.Size, now.Size)).At(f.path)
}

// cause drops the path that os errors repeat.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Path is the name that the file was opened by.
func (f *File) Path() string { return f.path }

// Size is how much is read of it: the size at opening, or of a range. If the file has become shorter, reading past its end
// is ErrChanged.
func (f *File) Size() int64 { return f.size }

// Stamp is that of the file at opening.
func (f *File) Stamp() Stamp { return f.stamp }

// Fd is the descriptor, for a mapping, of a file that never rests; File still owns it.
func (f *File) Fd() int { return int(f.f.Fd()) }

// ReadAt implements io.ReaderAt within the size at opening.
func (f *File) ReadAt(p []byte, offset int64) (int, error) {
	if offset < 0 || offset > f.size {
		return 0, errs.New(errs.ErrDamaged, "read", "offset outside the file").At(f.path).AtOffset(offset)
	}
	want := min(int64(len(p)), f.size-offset)
	n := 0
	err := f.use(func(of *os.File) (err error) {
		n, err = of.ReadAt(p[:want], f.begin+offset)
		return err
	})
	switch {
	case int64(n) == want:
		if want < int64(len(p)) {
			return n, io.EOF
		}
		return n, nil
	case errors.Is(err, io.EOF):
		return n, f.shrunk(offset + int64(n))
	case errors.As(err, new(*errs.Error)):
		return n, err
	default:
		return n, errs.New(errs.ErrRead, "read", "cannot read").At(f.path).AtOffset(offset).Because(cause(err))
	}
}

func (f *File) shrunk(at int64) error {
	return errs.New(errs.ErrChanged, "read", fmt.Sprintf(
		"the file was cut to %d bytes while it was read (it had %d)", at, f.stamp.Size)).At(f.path).AtOffset(at)
}

// ReadFull fills p from offset or returns an error. An early end of the file is
// damage, because the caller's sizes come from the file's own headers.
func (f *File) ReadFull(p []byte, offset int64) error {
	n, err := f.ReadAt(p, offset)
	if n == len(p) {
		return nil
	}
	if err == io.EOF {
		return errs.New(errs.ErrDamaged, "read", fmt.Sprintf("needs %d bytes, the file ends after %d", len(p), n)).
			At(f.path).AtOffset(offset)
	}
	return err
}

// CheckUnchanged compares the file with its state at opening.
func (f *File) CheckUnchanged() error {
	return f.use(func(of *os.File) error {
		now, _, err := stampOf(of)
		if err != nil {
			return errs.New(errs.ErrRead, "stat", "cannot stat the file").At(f.path).Because(cause(err))
		}
		if now != f.stamp {
			return f.changed(now)
		}
		return nil
	})
}

// Close closes the descriptor.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.f == nil {
		return nil
	}
	return f.f.Close()
}
