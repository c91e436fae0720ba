package cache

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// Lock is the right to build the cache at one path. It is held by a flock on
// PATH.part; Release gives it back, and so does the death of the process.
type Lock struct {
	path    string
	part    *os.File
	renamed bool
}

// Acquire waits until no other process builds the cache at path. The caller
// should look again whether the cache is there now: who held the lock built it.
func Acquire(ctx context.Context, path string) (*Lock, error) {
	wait := time.Millisecond
	for {
		part, err := tryLock(path + ".part")
		switch {
		case err != nil:
			return nil, fail(errs.ErrRead, path, "cannot write the cache: is the folder there and writable?").Because(err)
		case part != nil:
			return &Lock{path: path, part: part}, nil
		}
		select {
		case <-ctx.Done():
			return nil, fail(errs.ErrCanceled, path, "canceled while another process builds the cache").Because(ctx.Err())
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
	// The previous holder may have renamed or removed the file that we opened.
	mine, err := part.Stat()
	if err == nil {
		var there os.FileInfo
		if there, err = os.Lstat(path); err == nil && os.SameFile(mine, there) && mine.Mode().IsRegular() {
			return part, nil
		}
	}
	part.Close()
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return nil, err
}

// Release gives the lock back and removes what was not finished. It may be
// called twice.
func (l *Lock) Release() {
	if l.part == nil {
		return
	}
	if !l.renamed {
		os.Remove(l.path + ".part")
	}
	// Closing is not enough: a forked child may still hold the descriptor.
	_ = unix.Flock(int(l.part.Fd()), unix.LOCK_UN)
	l.part.Close()
	l.part = nil
}
