package cache

import (
	"context"

	"github.com/gofast-org/gofast/gofast/internal/atomicfile"
	"github.com/gofast-org/gofast/gofast/internal/store"
)

// Lock is the right to build the cache at one path. The death of the process gives
// it back too.
type Lock struct{ file *atomicfile.File }

// Build has one process at a time build the cache at path. Others wait, and build it
// too only if force is set or what was built is of another fingerprint.
func Build(ctx context.Context, path, fingerprint string, force bool, build func(*Lock) error) error {
	there := func() bool {
		c, err := Open(path, fingerprint)
		if err == nil {
			c.Close()
		}
		return err == nil && !force
	}
	return store.Once(ctx, op, path, there, func(file *atomicfile.File) error { return build(&Lock{file}) })
}
