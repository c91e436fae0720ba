package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/pool"
)

// State is what a server says of a file: as long as it says the same, the file is the same.
type State struct {
	Size     int64  `json:"size"`
	Tag      string `json:"tag"`      // ETag, or ""
	Modified string `json:"modified"` // Last-Modified, or ""
	Whole    bool   `json:"whole"`    // one request for all of it
	Told     string `json:"told"`     // what Upload.Told was, or ""
}

// unknown says that nobody sees whether two answers are of the same file: all of it must come in one.
func (s State) unknown() bool { return s.Tag == "" && s.Modified == "" }

// Target is a file, or a part of it, and where that is to lie.
type Target struct {
	File  `json:"file"`
	State `json:"state"`
	From  int64  `json:"begin"` // the bytes from..to-1; all of them, if the state is Whole
	To    int64  `json:"end"`
	Part  string `json:"part"` // exists; it is written to
	Path  string `json:"path"` // what the part is called when it is complete
	Read  bool   `json:"read"` // its part is read while it comes
}

const (
	pieceSize  = 8 << 20
	firstSize  = 1 << 20 // of the first ones where somebody reads: few others take the line of what he waits for
	bufferSize = 256 << 10
)

// Probe asks for the state of each file: for its first byte, because a signed URL is for GET alone.
func Probe(ctx context.Context, files []*File, options Options) ([]State, error) {
	c := newClient(options)
	states := make([]State, len(files))
	return states, each(ctx, inSmall, len(files), func(ctx context.Context, i int) error {
		f := files[i]
		return c.repeat(ctx, func() (int64, error) {
			empty := false
			err := c.get(ctx, f, 0, 1, "", func(answer *http.Response, body *stalling) (err error) {
				if empty = answer.StatusCode == http.StatusRequestedRangeNotSatisfiable; empty {
					return nil
				}
				states[i], err = f.state(answer)
				if answer.StatusCode == http.StatusPartialContent {
					_, _ = io.Copy(io.Discard, io.LimitReader(body, 1)) // the connection can be used again
				}
				return err
			})
			if err == nil && empty { // it has no first byte, and that answer no ETag
				err = c.get(ctx, f, 0, 0, "", func(answer *http.Response, _ *stalling) (err error) {
					states[i], err = f.state(answer)
					return err
				})
			}
			return 0, err
		})
	})
}

func (f *File) state(answer *http.Response) (State, error) {
	s := State{Tag: answer.Header.Get("ETag"), Modified: answer.Header.Get("Last-Modified"), Told: answer.Header.Get(told)}
	s.Whole = answer.StatusCode == http.StatusOK || s.unknown()
	given := answer.Header.Get("Content-Range")
	var from, to int64
	switch answer.StatusCode {
	case http.StatusOK:
		s.Size = answer.ContentLength
		if s.Size < 0 {
			return s, f.errorf(errs.ErrUnsupported, "the server does not say how long the file is: download it first")
		}
		return s, nil
	default:
		if n, _ := fmt.Sscanf(given, "bytes %d-%d/%d", &from, &to, &s.Size); n == 3 && from == 0 && to == 0 && s.Size > 0 {
			return s, nil
		}
	}
	return s, f.errorf(errs.ErrRead, "asked for the first byte, the server says %s, Content-Range %.60q", f.status(answer), given)
}

// Download brings files to their places. Where one fails, all parts lose their names: others would wait for ever for a part
// whose lock the caller has until it asks how this went. The progress of one that is read while it comes is what can be
// read: the bytes from its start on, without those behind a gap. It is the only target.
func Download(ctx context.Context, targets []*Target, options Options) (err error) {
	var total int64
	var all []*download
	for _, t := range targets {
		if t.From < 0 || t.From > t.To || t.To > t.Size || t.From == t.To && t.Size > 0 {
			return t.errorf(errs.ErrConfig, "bytes %d to %d of %d are no part of it", t.From, t.To, t.Size)
		}
		total += t.To - t.From
	}
	c := newClient(options)
	defer func() {
		for _, d := range all {
			if err != nil && !errors.Is(err, errs.ErrCanceled) { // who has canceled it cleans up at once
				d.leave()
			}
			_ = d.file.Close()
		}
	}()
	var pieces []piece
	read := len(targets) == 1 && targets[0].Read
	for _, t := range targets {
		d, err := begin(t, 0)
		if err != nil {
			return err
		}
		all = append(all, d)
		for from, step := t.From, int64(0); from < t.To; from += step {
			switch step = pieceSize; {
			case t.Whole:
				step = t.Size
			case read && from < inFlight*firstSize:
				step = firstSize
			}
			pieces = append(pieces, piece{d, from, min(from+step, t.To)})
			d.left.Add(1)
		}
		if t.To == t.From {
			if err := d.finish(); err != nil {
				return err
			}
		}
	}
	var lock sync.Mutex
	var done, first int64
	came := make([]int64, len(pieces))
	return each(ctx, flightOf(total, len(targets)), len(pieces), func(ctx context.Context, i int) error {
		p := pieces[i]
		err := c.bring(ctx, p, func(n int) {
			lock.Lock()
			defer lock.Unlock()
			came[i] += int64(n)
			if done += int64(n); !read {
				c.Progress(done, total)
				return
			}
			for f := pieces[first]; came[first] == f.to-f.from && int(first) < len(pieces)-1; f = pieces[first] {
				first++
			}
			c.Progress(pieces[first].from-p.of.From+came[first], total)
		})
		if err == nil && p.of.left.Add(-1) == 0 {
			err = p.of.finish()
		}
		return err
	})
}

type download struct {
	*Target
	file *os.File
	left atomic.Int64 // pieces
}

type piece struct {
	of       *download
	from, to int64
}

func begin(t *Target, create int) (*download, error) {
	file, err := os.OpenFile(t.Part, os.O_WRONLY|create, 0o666)
	if err == nil {
		err = file.Truncate(t.To - t.From)
	}
	if err != nil {
		return nil, t.unwritten(err)
	}
	return &download{Target: t, file: file}, nil
}

func (t *Target) unwritten(err error) error {
	var cause *os.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	return errs.New(errs.ErrRead, "download", fmt.Sprintf("cannot write what comes from %s: %v", t.Name(), err)).At(t.Part)
}

// finish gives the part its name, when it is on the disk: a loss of power must not leave a file of zeros.
func (d *download) finish() error {
	err := d.file.Sync()
	if err == nil {
		err = os.Rename(d.Part, d.Path)
	}
	if err != nil {
		return d.unwritten(err)
	}
	return nil
}

// leave takes the part's name away, unless it has got its own, or another's part is there.
func (d *download) leave() {
	mine, err := d.file.Stat()
	if there, missing := os.Lstat(d.Part); err == nil && missing == nil && os.SameFile(mine, there) {
		_ = os.Remove(d.Part)
	}
}

// bring writes a piece to its place.
func (c *client) bring(ctx context.Context, p piece, came func(int)) error {
	d, buffer, at := p.of, make([]byte, min(bufferSize, p.to-p.from)), p.from
	err := c.repeat(ctx, func() (int64, error) {
		before := at
		if d.unknown() {
			came(int(-at))
			at = 0
		}
		from, to := at, p.to
		if d.Whole && at == 0 {
			from = to // asked for without a range
		}
		err := c.get(ctx, &d.File, from, to, d.Tag, func(answer *http.Response, body *stalling) error {
			if err := d.check(answer, at, p.to); err != nil {
				return err
			}
			if answer.StatusCode == http.StatusOK {
				if _, err := io.CopyBuffer(io.Discard, io.LimitReader(body, at), buffer); err != nil {
					return passing{cause: d.errorf(errs.ErrRead, "the connection ended early: %v", said(err, body))}
				}
			}
			for at < p.to {
				n, err := body.Read(buffer[:min(int64(len(buffer)), p.to-at)])
				if _, failed := d.file.WriteAt(buffer[:n], at-d.From); failed != nil {
					return d.unwritten(failed)
				}
				at += int64(n)
				came(n)
				if err != nil && at < p.to {
					return passing{cause: d.errorf(errs.ErrRead, "the connection ended early: %v", said(err, body)).AtOffset(at)}
				}
			}
			return nil
		})
		return at - before, err
	})
	// The disk begins now: finish waits for little. Where it cannot, finish waits for all.
	_ = unix.SyncFileRange(int(d.file.Fd()), p.from-d.From, p.to-p.from, unix.SYNC_FILE_RANGE_WRITE)
	var own *errs.Error
	if errors.As(err, &own) && own.Offset == errs.None && own.Path == d.Name() {
		own.AtOffset(at)
	}
	return err
}

// check says whether an answer is for bytes at..to-1 of the file that was probed, or is all of it.
func (d *download) check(answer *http.Response, at, to int64) error {
	h := answer.Header
	given := h.Get("Content-Range")
	var from, last, size int64
	if answer.StatusCode != http.StatusPartialContent {
		size = answer.ContentLength
	} else if n, _ := fmt.Sscanf(given, "bytes %d-%d/%d", &from, &last, &size); n != 3 {
		return d.errorf(errs.ErrRead, "the server sent a part without saying which: Content-Range %.60q", given)
	}
	switch tag, modified := h.Get("ETag"), h.Get("Last-Modified"); {
	case answer.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		return d.changed(": it is shorter")
	case tag != d.Tag || (tag == "" && modified != d.Modified):
		return d.changed(fmt.Sprintf(": its ETag was %.60q, and is %.60q", d.Tag, tag))
	case size != d.Size && size >= 0:
		return d.changed(fmt.Sprintf(": it had %d bytes, and has %d", d.Size, size))
	case answer.StatusCode == http.StatusPartialContent && (from != at || last != to-1):
		return d.errorf(errs.ErrRead, "asked for bytes %d to %d, the server sent %.60q", at, to-1, given)
	case answer.StatusCode == http.StatusPartialContent && answer.ContentLength >= 0 && answer.ContentLength != to-at:
		return d.errorf(errs.ErrRead, "the server sends %d bytes for a range of %d", answer.ContentLength, to-at)
	}
	return nil
}

// each calls work for 0..n-1, some beside each other, until one fails.
func each(ctx context.Context, flight, n int, work func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(n, flight) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := guarded(ctx, i, work); err != nil {
					cancel(err) // the first one counts
				}
			}
		})
	}
	group.Wait()
	if ctx.Err() != nil {
		if cause := context.Cause(ctx); cause != context.Canceled {
			return cause
		}
		return errs.New(errs.ErrCanceled, "download", "canceled").Because(ctx.Err())
	}
	return nil
}

func guarded(ctx context.Context, i int, work func(ctx context.Context, i int) error) (err error) {
	defer pool.Recover(&err, "download", "")
	return work(ctx, i)
}
