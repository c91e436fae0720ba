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

// InFS is a file of a file system. It is opened for each range: there may be many.
type InFS struct {
	fsys   fs.FS
	name   string
	stamp  Stamp
	failed error // that it cannot be read
}

// ObjectIn looks at a file of a file system. What cannot be read fails in ReadAt, so that it is no fault of the others.
func ObjectIn(fsys fs.FS, name string, most int64) *InFS {
	info, err := fs.Stat(fsys, name)
	switch {
	case err != nil:
		err = notOpened(name, err)
	case !info.Mode().IsRegular(): // and before Open, which waits at a pipe
		err = notRegular(name)
	case info.Size() < 0 || info.Size() > most:
		err = errs.New(errs.ErrLimit, "open", fmt.Sprintf("the file has %s, the limit is %s", errs.Bytes(info.Size()), errs.Bytes(most))).At(name)
	default:
		return &InFS{fsys, name, stampOfInfo(info), nil}
	}
	return &InFS{fsys, name, Stamp{}, err}
}

func stampOfInfo(info fs.FileInfo) Stamp {
	return Stamp{Size: info.Size(), MtimeNs: info.ModTime().UnixNano()}
}

// ReadAt implements Object.
func (o *InFS) ReadAt(ctx context.Context, p []byte, offset int64) (int, error) {
	if o.failed != nil {
		return 0, o.failed
	}
	f, err := o.fsys.Open(o.name)
	if err != nil {
		return 0, notOpened(o.name, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || stampOfInfo(info) != o.stamp {
		return 0, errs.New(errs.ErrChanged, "read", "the file changed since it was opened").At(o.name).Because(err)
	}
	if at, ok := f.(io.ReaderAt); ok {
		return at.ReadAt(p, offset)
	}
	if n, err := io.CopyN(io.Discard, f, offset); n < offset { // a member of a zip has no ReadAt
		return 0, err
	}
	return io.ReadFull(f, p)
}

// Stamp implements Object.
func (o *InFS) Stamp() Stamp { return o.stamp }

// Path implements Object.
func (o *InFS) Path() string { return o.name }

// Close implements Object.
func (o *InFS) Close() error { return nil }
