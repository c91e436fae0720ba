package source

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"golang.org/x/sys/unix"
)

// OpenIn opens a file of a file system. What is no file of the operating system is read into memory, within the budget.
func OpenIn(ctx context.Context, fsys fs.FS, name string, budget *limits.Budget) (*File, error) {
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

// Spool is a file of what a reader gives until its end, in memory, within the budget.
func Spool(ctx context.Context, r io.Reader, name string, budget *limits.Budget) (*File, error) {
	fd, err := unix.MemfdCreate("gofast-source", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, errs.New(errs.ErrLimit, "open", "no memory for the file").At(name).Because(err)
	}
	s := spool{ctx, os.NewFile(uintptr(fd), name), name, budget}
	if _, err = io.Copy(s, r); err != nil {
		s.file.Close()
		if known := (*errs.Error)(nil); errors.As(err, &known) || ctx.Err() != nil {
			return nil, err
		}
		return nil, errs.New(errs.ErrRead, "open", "cannot read").At(name).Because(cause(err))
	}
	return fileOf(s.file, name)
}

type spool struct {
	ctx    context.Context
	file   *os.File
	name   string
	budget *limits.Budget
}

// Write implements io.Writer.
func (s spool) Write(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	if err := s.budget.Reserve(int64(len(p)), "the content of "+s.name); err != nil {
		return 0, err
	}
	return s.file.Write(p)
}

// InFS is a file of a file system. It is opened for each range: there may be many.
type InFS struct {
	fsys  fs.FS
	name  string
	stamp Stamp
}

// ObjectIn looks at a file of a file system.
func ObjectIn(fsys fs.FS, name string) (*InFS, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, notOpened(name, err)
	}
	return &InFS{fsys, name, stampOfInfo(info)}, nil
}

func stampOfInfo(info fs.FileInfo) Stamp {
	return Stamp{Size: info.Size(), MtimeNs: info.ModTime().UnixNano()}
}

// ReadAt implements Object.
func (o *InFS) ReadAt(ctx context.Context, p []byte, offset int64) (int, error) {
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
