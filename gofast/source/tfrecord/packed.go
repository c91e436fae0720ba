package tfrecord

import (
	"context"
	"io"
	"os"
	"sync/atomic"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/source"
)

// Packed says how a tar file is compressed as a whole.
type Packed struct {
	Compression string       `json:"compression"` // "": it is not
	Stamp       source.Stamp `json:"stamp"`
	Bytes       int64        `json:"bytes"` // that it may unpack to: a guess
}

// Pack says how a file that begins so is compressed: "" for a tar file. A compression's name is one that Unpack knows.
func Pack(head []byte) string {
	if c := source.CompressionOf(head); c != source.Plain && !IsTar(head) {
		return c.String()
	}
	return ""
}

// Packs says it of files.
func Packs(ctx context.Context, paths []string, threads int) (made []Packed, err error) {
	defer func() { err = errs.Ended(err, op) }()
	made = make([]Packed, len(paths))
	return made, pool.Each(ctx, threads, len(paths), func(_ context.Context, i int) error {
		f, err := source.Open(paths[i])
		if err != nil {
			return err
		}
		defer f.Close()
		head := make([]byte, min(tarBlock, f.Size()))
		if err := f.ReadFull(head, 0); err != nil {
			return err
		}
		made[i] = Packed{Compression: Pack(head), Stamp: f.Stamp()}
		switch made[i].Compression {
		case "":
		case source.Gzip.String():
			made[i].Bytes = source.UnpackedSize(f, source.Gzip)
		default: // pictures are hardly smaller
			made[i].Bytes = f.Size() + f.Size()/4
		}
		return nil
	})
}

// Unpacking is a compressed file, and where its content is to lie.
type Unpacking struct {
	From  string `json:"from"`
	Part  string `json:"part"`  // exists; it is written to
	Path  string `json:"path"`  // what the part is called when it is complete
	Bytes int64  `json:"bytes"` // at most
}

// Unpack writes what files hold. It says which ones have more than their bytes: these get no path, and their
// parts are the caller's.
func Unpack(ctx context.Context, files []Unpacking, threads int, progress func(done, total int64)) (larger []bool, err error) {
	defer func() { err = errs.Ended(err, op) }()
	total, done := int64(0), atomic.Int64{}
	for _, one := range files {
		if info, err := os.Stat(one.From); err == nil {
			total += info.Size()
		}
	}
	larger = make([]bool, len(files))
	return larger, pool.Each(ctx, threads, len(files), func(ctx context.Context, i int) (err error) {
		larger[i], err = files[i].unpack(ctx, limits.Available()/4/int64(max(threads, 1)), func(n int64) { progress(done.Add(n), total) })
		return err
	})
}

func (u *Unpacking) unpack(ctx context.Context, memory int64, read func(n int64)) (larger bool, err error) {
	defer pool.Recover(&err, op, u.From)
	f, err := source.Open(u.From)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head := make([]byte, min(tarBlock, f.Size()))
	if err := f.ReadFull(head, 0); err != nil {
		return false, err
	}
	s, err := source.OpenStream(f, source.CompressionOf(head), memory)
	if err != nil {
		return false, err
	}
	defer s.Close()
	to, err := os.OpenFile(u.Part, os.O_WRONLY, 0)
	if err != nil {
		return false, u.unwritten(err)
	}
	defer to.Close()
	buffer := make([]byte, 1<<20)
	size, consumed := int64(0), int64(0)
	for end := false; !end; {
		if ctx.Err() != nil {
			return false, errs.Ended(ctx.Err(), op)
		}
		n, err := io.ReadFull(s, buffer)
		if end = err == io.EOF || err == io.ErrUnexpectedEOF; err != nil && !end {
			return false, err
		}
		if size+int64(n) > u.Bytes {
			return true, nil
		}
		if _, err := to.WriteAt(buffer[:n], size); err != nil {
			return false, u.unwritten(err)
		}
		size += int64(n)
		read(s.Consumed() - consumed)
		consumed = s.Consumed()
	}
	if err := f.CheckUnchanged(); err != nil {
		return false, err
	}
	if err = to.Truncate(size); err == nil {
		err = to.Sync() // a loss of power must not leave a file of zeros with its name
	}
	if err == nil {
		err = os.Rename(u.Part, u.Path)
	}
	if err != nil {
		return false, u.unwritten(err)
	}
	return false, nil
}

func (u *Unpacking) unwritten(err error) error {
	return fail(errs.ErrRead, "cannot write what %s unpacks to", u.From).At(u.Part).Because(err)
}
