package cache

import (
	"context"

	"github.com/gofast-org/gofast/gofast/internal/atomicfile"
)

// Lock is the right to build the cache at one path. Release gives it back, and
// so does the death of the process.
type Lock struct{ file *atomicfile.File }

// Acquire waits until no other process builds the cache at path. The caller should
// then look again whether the cache exists: the process that held the lock built it.
func Acquire(ctx context.Context, path string) (*Lock, error) {
	file, err := atomicfile.Begin(ctx, op, path)
	if err != nil {
		return nil, err
	}
	return &Lock{file}, nil
}

// Release gives the lock back and removes an unfinished file. It may be called
// twice.
func (l *Lock) Release() { l.file.Release() }
