package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/internal/pool"
	"golang.org/x/sys/unix"
)

// OpenIn opens a file of a file system. What is no file of the operating system is read into memory, within the budget.
func OpenIn(ctx context.Context, fsys fs.FS, name string, budget *limits.Budget) (*File, error) {
	// Before Open, which waits at a pipe. The kind of what has no Stat shows when it is read.
	if info, err := fs.Stat(fsys, name); err == nil && !info.Mode().IsRegular() {
		return nil, notRegular(name)
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, notOpened(name, err)
	}
	if of, ok := f.(*os.File); ok {
		return fileOf(of, name)
	}
	defer f.Close()
	return Spool(ctx, f, name, budget)
}

// Spool is a file of what a reader gives until its end, in memory, within the budget. It asks ctx before each Read; one
// that blocks is the reader's to end.
func Spool(ctx context.Context, r io.Reader, name string, budget *limits.Budget) (*File, error) {
	fd, err := unix.MemfdCreate("gofast-source", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, errs.New(errs.ErrLimit, "open", "no memory for the file").At(name).Because(err)
	}
	file := os.NewFile(uintptr(fd), name)
	if err := spool(ctx, r, file, budget); err != nil {
		file.Close()
		if known := (*errs.Error)(nil); errors.As(err, &known) || ctx.Err() != nil {
			return nil, err
		}
		return nil, errs.New(errs.ErrRead, "open", "cannot read").At(name).Because(cause(err))
	}
	return fileOf(file, name)
}

// emptyReads in a row are no progress, as for package bufio.
const emptyReads = 100

func spool(ctx context.Context, r io.Reader, file *os.File, budget *limits.Budget) (err error) {
	defer pool.Recover(&err, "open", file.Name()) // the reader is not ours
	buffer := make([]byte, 64<<10)
	for empty := 0; empty < emptyReads; empty++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, failed := r.Read(buffer)
		if n < 0 || n > len(buffer) {
			return fmt.Errorf("the reader says that it read %d of %d bytes", n, len(buffer))
		}
		if n > 0 {
			empty = -1
			if err := budget.Reserve(int64(n), "the content of "+file.Name()); err != nil {
				return err
			}
			if _, err := file.Write(buffer[:n]); err != nil {
				return err
			}
		}
		if failed == io.EOF {
			return nil
		} else if failed != nil {
			return failed
		}
	}
	return io.ErrNoProgress
}
