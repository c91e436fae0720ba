package inspect

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	stdimage "image"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofast-org/gofast/gofast/image/picture"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/foreign"
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
		return nil, errs.Ended(err, op)
	}
	const each = 24 + 8 // a print, and its place in an order
	if err := all.budget.Reserve(int64(len(all.list))*each, fmt.Sprintf("a scan of %d files", len(all.list))); err != nil {
		return nil, err
	}
	s := &scanner{files: all, tally: newTally(), options: &o,
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, prints: make([]print, len(all.list))}
	if err := all.each(ctx, o.Threads, s.look); err != nil {
		return nil, errs.Ended(err, op)
	}
	s.r.Broken = append(s.r.Broken, all.circles...)
	report = s.report(all)
	for _, path := range paths {
		report.Paths = append(report.Paths, folder.Name(path))
	}
	if report.Duplicates, err = s.duplicates(ctx); err != nil {
		return nil, errs.Ended(err, op)
	}
	report.Seconds = time.Since(start).Seconds()
	return report, nil
}

// each does something with every file, on all threads. The error ends it.
func (f *files) each(ctx context.Context, threads int, do func(ctx context.Context, i int, head []byte) error) error {
	return pool.Each(ctx, threads, (len(f.list)+together-1)/together, func(ctx context.Context, job int) error {
		head := make([]byte, headBytes)
		for i := job * together; i < min((job+1)*together, len(f.list)); i++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := do(ctx, i, head); err != nil {
				return err
			}
		}
		return nil
	})
}

// scanner is a scan at work.
type scanner struct {
	*files
	*tally
	options *Options
	columns atomic.Int64 // of tables, that were described
	seeds   [2]maphash.Seed
	prints  []print
	done    atomic.Int64
}

// look looks at one file. Its error is not the file's, but the end of the scan.
func (s *scanner) look(ctx context.Context, i int, head []byte) error {
	defer func() { s.options.Progress(s.done.Add(1), int64(len(s.list))) }()
	path := s.path(i)
	s.prints[i].size = -1
	f, err := source.Open(path)
	if err != nil {
		s.broken(i, path, err, false)
		return nil
	}
	defer f.Close()
	head = head[:min(headBytes, f.Size())]
	if err := f.ReadFull(head, 0); err != nil {
		s.broken(i, path, err, false)
		return nil
	}
	s.prints[i] = print{f.Size(), [2]uint64{maphash.Bytes(s.seeds[0], head), maphash.Bytes(s.seeds[1], head)}}
	what, format := kindOf(path, head)
	s.saw(what, f.Size(), s.class(i), strings.ToLower(filepath.Ext(path)))
	switch what {
	case pictureKind:
		s.lookAtPicture(i, f, format, head)
	case tableKind:
		return s.lookAtTable(ctx, i, f)
	}
	return nil
}

// lookAtPicture reads the header as the core does, whose verdict counts, and tells what stands in it.
func (s *scanner) lookAtPicture(i int, f *source.File, format *format, head []byte) {
	if format == nil {
		s.broken(i, f.Path(), notAPicture(head), true)
		return
	}
	head, size, err := coreHeader(f, format, head)
	if err != nil && !errors.Is(err, errs.ErrUnsupported) {
		s.broken(i, f.Path(), err, true)
		return
	}
	var d details
	if format.header != nil {
		d = format.header(head)
	}
	if size.X > 0 {
		d.width, d.height = size.X, size.Y
	}
	s.header(i, folder.Name(f.Path()), format, d, f.Size(), unended(f, format.name, d))
}

// notAPicture is the error of a file whose name promises a picture.
func notAPicture(head []byte) error {
	text := "the file is empty"
	if len(head) > 0 {
		text = fmt.Sprintf("the content is no known format of pictures, it begins with % x", head[:min(len(head), 8)])
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
