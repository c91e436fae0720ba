package folder

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/pool"
)

// racy is a safe distance. A directory's times show its state at the scan only if the
// last change is at least so old: file systems count time in steps of up to 2 s.
const racy = 2 * time.Second

func openFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fail(errs.ErrNotFound, path, "no index file").Because(err)
	case err != nil:
		return nil, fail(errs.ErrRead, path, "cannot open the index file").Because(err)
	}
	return file, nil
}

// load maps an index file and compares every directory with its state at the scan.
// Nobody truncates the file: a new index is a new file. A scan that began at since or
// later counts as one that begins now. ErrDamaged: it is not an index, or broken.
// ErrChanged: a directory changed, or had just been changed when it was read, or the
// options differ. The caller then scans again.
//
// load does not notice if the target of a link turns from a file into a directory,
// or back.
func load(ctx context.Context, file *os.File, options *Options, since int64) (x *Index, err error) {
	path := file.Name()
	defer pool.Recover(&err, op, path)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	info, err := file.Stat()
	if err != nil {
		return nil, fail(errs.ErrRead, path, "cannot stat the index file").Because(err)
	}
	if !info.Mode().IsRegular() || info.Size() < headerBytes || info.Size() > math.MaxInt {
		return nil, fail(errs.ErrDamaged, path, "not an index file")
	}
	data, err := unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fail(errs.ErrRead, path, "cannot map the index file").Because(err)
	}
	if x, err = parse(ctx, data, path, options.Threads); err == nil {
		x.mapped = true
		err = x.check(ctx, path, options, since)
	}
	if err != nil {
		_ = unix.Munmap(data) // cannot fail for a mapping of ours
		return nil, err
	}
	return x, nil
}

// check compares the options and the directories.
func (x *Index) check(ctx context.Context, path string, options *Options, since int64) error {
	sum, err := options.sum()
	if err != nil {
		return err
	}
	if sum != x.header.OptionsSum || options.Kind == List {
		return fail(errs.ErrChanged, path, "the index was made with other options")
	}
	oldest := x.header.ScanNs - int64(racy)
	if x.header.ScanNs >= since {
		oldest = math.MaxInt64
	}
	const together = 32
	places := int(x.header.PlaceCount)
	err = pool.Each(ctx, options.Threads, (places+together-1)/together, func(_ context.Context, job int) error {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		for i := job * together; i < min((job+1)*together, places); i++ {
			was, name := x.place(i)
			full := options.prefix() + name
			state, err := stat(full)
			now := identity{}
			if err == nil {
				now = identityOf(&state)
			}
			same := now == was.identity && (err != nil || isDirectory(&state))
			if was.Kind == noDirectory {
				same = err != nil || !isDirectory(&state)
			}
			if !same || was.CtimeNs >= oldest || was.MtimeNs >= oldest && was.MtimeNs <= x.header.ScanNs {
				return fail(errs.ErrChanged, full, "the folder changed since it was scanned")
			}
		}
		return nil
	})
	return canceled(err, path)
}
