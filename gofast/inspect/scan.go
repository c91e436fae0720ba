package inspect

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	stdimage "image"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofast-org/gofast/gofast/image/picture"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/foreign"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/source/folder"
)

const (
	op = "scan"
	// headBytes of each file are read. The headers of 498 of 500 photographs of ImageNet end there.
	headBytes = 16 << 10
	// mostHead bounds what is read of a header that is longer, with previews and colour profiles.
	mostHead = 16 << 20
	// together is the files of a job: enough that threads seldom meet, few enough that they end together.
	together = 64
)

// Scan looks at the headers of all files and decodes none. Only files of equal size and beginning are read
// whole, to find duplicates. A file that cannot be read, or is broken, is part of the report; an error is
// returned for paths that do not exist, and when ctx ends.
func Scan(ctx context.Context, paths []string, o Options) (report *Report, err error) {
	defer pool.Recover(&err, op, "")
	start := time.Now()
	if err := o.complete(); err != nil {
		return nil, err
	}
	all, err := list(ctx, paths, &o)
	if err != nil {
		return nil, canceled(err, op)
	}
	defer all.close()
	s, err := newScanner(all, &o)
	if err != nil {
		return nil, err
	}
	report = &Report{Files: int64(all.count), Unreadable: all.unreadable}
	for _, path := range paths {
		report.Paths = append(report.Paths, folder.Name(path))
	}
	total, err := s.look(ctx)
	if err != nil {
		return nil, canceled(err, op)
	}
	total.broken = append(total.broken, all.circles...)
	total.report(all, report)
	if report.Duplicates, err = s.duplicates(ctx); err != nil {
		return nil, canceled(err, op)
	}
	report.Seconds = time.Since(start).Seconds()
	return report, nil
}

// scanner is a scan at work.
type scanner struct {
	*files
	options *Options
	budget  *limits.Budget
	columns atomic.Int64 // of tables, that were described
	seeds   [2]maphash.Seed
	prints  []print
	done    atomic.Int64
}

// print is what duplicates have in common: the size, and a hash of the beginning. 128 bits, by seeds that
// nobody knows, stand for all of a small file. Size is -1 of a file that cannot be read.
type print struct {
	size int64
	head [2]uint64
}

func newScanner(all *files, o *Options) (*scanner, error) {
	budget := limits.NewBudget(o.Limits.WithDefaults().Memory)
	const each = 24 + 8 // a print, and its place in an order
	if err := budget.Reserve(int64(all.count)*each, fmt.Sprintf("a scan of %d files", all.count)); err != nil {
		return nil, err
	}
	return &scanner{files: all, options: o, budget: budget, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, prints: make([]print, all.count)}, nil
}

// look reads the beginning of every file.
func (s *scanner) look(ctx context.Context) (*tally, error) {
	var lock sync.Mutex
	total := newTally()
	var idle []*looker
	err := pool.Each(ctx, s.options.Threads, (s.count+together-1)/together, func(ctx context.Context, job int) error {
		lock.Lock()
		var l *looker
		if n := len(idle); n > 0 {
			l, idle = idle[n-1], idle[:n-1]
		}
		lock.Unlock()
		if l == nil {
			l = &looker{scanner: s, tally: newTally(), head: make([]byte, headBytes)}
		}
		for i := job * together; i < min((job+1)*together, s.count); i++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := l.file(ctx, i); err != nil {
				return err
			}
			s.options.Progress(s.done.Add(1), int64(s.count))
		}
		lock.Lock()
		idle = append(idle, l)
		lock.Unlock()
		return nil
	})
	for _, l := range idle {
		total.add(l.tally)
	}
	return total, err
}

// looker is what one thread looks with.
type looker struct {
	*scanner
	*tally
	head []byte
}

// file looks at one file. Its error is not the file's, but the end of the scan.
func (l *looker) file(ctx context.Context, i int) error {
	path := l.path(i)
	l.prints[i].size = -1
	f, err := source.Open(path)
	if err != nil {
		l.broken = append(l.broken, problemOf(i, path, err))
		return nil
	}
	defer f.Close()
	l.bytes += f.Size()
	head := l.head[:min(int64(headBytes), f.Size())]
	if err := f.ReadFull(head, 0); err != nil {
		l.broken = append(l.broken, problemOf(i, path, err))
		return nil
	}
	l.prints[i] = print{f.Size(), [2]uint64{maphash.Bytes(l.seeds[0], head), maphash.Bytes(l.seeds[1], head)}}
	switch what, format := kindOf(path, head); what {
	case pictureKind:
		l.picture(l.class(i), f.Size())
		l.lookAtPicture(i, f, format, head)
	case tableKind:
		return l.lookAtTable(ctx, i, f)
	default:
		l.others++
		l.otherSize += f.Size()
		l.endings[strings.ToLower(filepath.Ext(path))]++
	}
	return nil
}

// lookAtPicture reads the header as the core does, whose verdict counts, and tells what stands in it.
func (l *looker) lookAtPicture(i int, f *source.File, format *format, head []byte) {
	fail := func(err error) {
		p := problemOf(i, f.Path(), err)
		p.Picture = true
		l.broken = append(l.broken, p)
	}
	if format == nil {
		fail(notAPicture(head))
		return
	}
	head, size, err := coreHeader(f, format, head)
	if err != nil && !errors.Is(err, errs.ErrUnsupported) {
		fail(err)
		return
	}
	var d details
	if format.header != nil {
		d = format.header(head, f.Size())
	}
	if size.X > 0 {
		d.width, d.height = size.X, size.Y
	}
	l.header(i, format, d, f.Size())
	if why := unended(f, format.name, d); why != "" {
		l.suspects = append(l.suspects, Problem{Path: folder.Name(f.Path()), Kind: errs.Name(errs.ErrDamaged), Reason: why, Picture: true, file: i})
	}
}

// notAPicture is the error of a file whose name promises a picture.
func notAPicture(head []byte) error {
	text := "the file is empty"
	if len(head) > 0 {
		text = "the content is no known format of pictures, " + describe(head)
		if advice := foreign.Advice(head); advice != "" {
			text = "the content is no picture: " + advice
		}
	}
	return errs.New(errs.ErrFormat, "picture", text)
}

// coreHeader asks the core's decoder for the size, and reads as much of the file as it needs. Of a format that
// is not the core's, it reads nothing and the size is 0.
func coreHeader(f *source.File, format *format, head []byte) ([]byte, stdimage.Point, error) {
	decoder, here := native[format.name]
	if !here {
		return head, stdimage.Point{}, nil
	}
	for {
		size, err := decoder.Size(head, int(f.Size()))
		var more *picture.NeedMore
		if !errors.As(err, &more) {
			return head, size, err
		}
		want := min(max(more.Bytes, 4*int64(len(head))), f.Size())
		if want <= int64(len(head)) || more.Bytes > mostHead {
			return head, stdimage.Point{}, errs.New(errs.ErrUnsupported, format.name, "the header is unusually long")
		}
		longer := make([]byte, min(want, mostHead))
		if err := f.ReadFull(longer, 0); err != nil {
			return head, stdimage.Point{}, err
		}
		head = longer
	}
}
