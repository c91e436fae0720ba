package folder

import (
	"context"
	"math"
	"runtime/debug"
	"time"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/internal/store"
	"github.com/gofast-org/gofast/gofast/source"
)

// racy is a safe distance. A directory's times show its state at the scan only if the
// last change is at least so old: file systems count time in steps of up to 2 s.
const racy = 2 * time.Second

// artefact is the index file of these options.
func artefact(options *Options, path string) (*store.Artefact, error) {
	sum, err := options.sum()
	return &store.Artefact{Op: op, Kind: "index", Version: Version, Path: path, Of: sum}, err
}

// load maps an index file and compares every directory with its state at the scan.
// Nobody truncates the file: a new index is a new file. A scan that began at since or
// later counts as one that begins now. ErrDamaged: it is not an index, or broken.
// ErrChanged: a directory changed, or had just been changed when it was read, or the
// options differ. The caller then scans again.
//
// load does not notice if the target of a link turns from a file into a directory,
// or back.
func load(ctx context.Context, options *Options, path string, since int64) (x *Index, err error) {
	defer pool.Recover(&err, op, path)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	a, err := artefact(options, path)
	if err != nil {
		return nil, err
	}
	record, err := a.Open(ctx)
	if err != nil {
		return nil, err
	}
	if x, err = parse(ctx, record.Data, path, options.Threads); err == nil {
		x.record = record
		err = x.check(ctx, path, options, since)
	}
	if err != nil {
		record.Close()
		return nil, err
	}
	return x, nil
}

// check compares the directories.
func (x *Index) check(ctx context.Context, path string, options *Options, since int64) error {
	oldest := x.header.ScanNs - int64(racy)
	if x.header.ScanNs >= since {
		oldest = math.MaxInt64
	}
	const together = 32
	places := int(x.header.PlaceCount)
	err := pool.Each(ctx, options.Threads, (places+together-1)/together, func(_ context.Context, job int) error {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		for i := job * together; i < min((job+1)*together, places); i++ {
			was, name := x.place(i)
			full := options.prefix() + name
			state, err := stat(full)
			// Not the device: a network drive has another number on each host, and after each mount. What is not there
			// has the stamp of zeros.
			same := source.StampOf(&state) == was.Stamp && (err != nil || isDirectory(&state))
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
