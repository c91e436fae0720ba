// Package atomicfile writes files that exist completely or not at all, with one
// writer at a time.
//
// A file is written as PATH.part and renamed at the end. A flock on PATH.part
// keeps other writers of the same path waiting. The kernel drops the lock when a
// writer dies, and the next writer overwrites the rest of its file. So there is
// neither a stale lock nor a temporary file that nobody removes.
package atomicfile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// File is a file that is being written, and the only right to write it. Part is open
// for reading and writing; at first it may have any content. Commit or Release ends
// the writing.
type File struct {
	Part *os.File

	op, path  string
	committed bool
}

// Begin waits until nobody else writes path.
func Begin(ctx context.Context, op, path string) (*File, error) {
	wait := time.Millisecond
	for {
		part, err := tryLock(path + ".part")
		switch {
		case err != nil:
			return nil, errs.New(errs.ErrRead, op, "cannot write the file: is the folder there and writable?").At(path).Because(err)
		case part != nil:
			return &File{Part: part, op: op, path: path}, nil
		}
		select {
		case <-ctx.Done():
			return nil, errs.New(errs.ErrCanceled, op, "canceled while another process writes the same file").At(path).Because(ctx.Err())
		case <-time.After(wait):
		}
		wait = min(2*wait, 50*time.Millisecond)
	}
}

// tryLock returns nil, nil while somebody else has the lock.
func tryLock(path string) (*os.File, error) {
	part, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o666)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(part.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		part.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, nil
		}
		return nil, err
	}
	// The previous holder may have renamed or removed the file that is open here.
	mine, err := part.Stat()
	if err == nil && !mine.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err == nil {
		var there os.FileInfo
		if there, err = os.Lstat(path); err == nil && os.SameFile(mine, there) {
			return part, nil
		}
	}
	part.Close()
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return nil, err
}

// Path is where the file will be.
func (f *File) Path() string { return f.path }

// Open reports whether neither Commit nor Release was called.
func (f *File) Open() bool { return f.Part != nil && !f.committed }

// Commit makes the content durable and gives the file its name. Release must still be
// called.
func (f *File) Commit() error {
	err := f.Part.Sync()
	if err == nil {
		err = os.Rename(f.path+".part", f.path)
	}
	if err == nil {
		f.committed = true
		err = syncFolder(filepath.Dir(f.path))
	}
	if err != nil {
		return errs.New(errs.ErrRead, f.op, "cannot write the file").At(f.path).Because(err)
	}
	return nil
}

// syncFolder makes a rename durable, if the file system can.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := folder.Sync(); err != nil && !errors.Is(err, unix.EINVAL) {
		return err
	}
	return nil
}

// Release lets others write, and removes a file that was not committed. It may be
// called twice.
func (f *File) Release() { f.end(!f.committed) }

// Leave is Release for who found that another has begun this file and may go on: what it wrote stays.
func (f *File) Leave() {
	if f.Part != nil {
		info, err := f.Part.Stat()
		f.end(err == nil && info.Size() == 0)
	}
}

func (f *File) end(remove bool) {
	if f.Part == nil {
		return
	}
	if remove {
		os.Remove(f.path + ".part")
	}
	// Closing is not enough: a forked child may still hold the descriptor.
	_ = unix.Flock(int(f.Part.Fd()), unix.LOCK_UN)
	f.Part.Close()
	f.Part = nil
}
