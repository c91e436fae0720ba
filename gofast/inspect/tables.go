package inspect

import (
	"bytes"
	"context"
	"errors"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/source/folder"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/formats"
)

const (
	// countable is the largest text file whose rows a scan counts, and packed the largest compressed one: 0.1 s each.
	countable, countablePacked = 64 << 20, 16 << 20
	// sampled is what the number of rows of a larger one is estimated from.
	sampled = 1 << 20
	// mostColumns are described; 10,000 shards of 1,000 columns would take 1 GB.
	mostColumns = 100_000
)

// lookAtTable describes a table by its metadata, or by its first rows.
func (s *scanner) lookAtTable(ctx context.Context, i int, f *source.File) error {
	t := Table{Path: folder.Name(f.Path()), Bytes: f.Size(), file: i}
	err := s.describeTable(ctx, f, &t)
	switch {
	case err == nil:
	case errors.Is(err, errs.ErrCanceled) || ctx.Err() != nil:
		return err
	case !isDamage(err):
		t.Unusable = problemOf(i, "", err).Reason
	default:
		s.broken(i, f.Path(), err, false)
		return nil
	}
	if t.Columns == nil { // not told
		t.Columns = []table.ColumnFacts{}
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	s.r.Tables = append(s.r.Tables, t)
	return nil
}

func (s *scanner) describeTable(ctx context.Context, f *source.File, t *Table) error {
	head := make([]byte, min(64, f.Size()))
	if err := f.ReadFull(head, 0); err != nil {
		return err
	}
	if t.Format = formats.Of(head); t.Format == "" {
		t.Format = formats.Text
	}
	// The reader closes its file, and this one is still needed.
	own, err := source.Open(f.Path())
	if err != nil {
		return err
	}
	r, err := formats.Open(own, table.Options{Threads: 1, Limits: s.options.Limits, Budget: s.budget})
	if err != nil {
		own.Close()
		return err
	}
	defer r.Close()
	t.Width = table.Counted(r.Columns())
	if err := s.countRows(ctx, f, r, t, source.CompressionOf(head) != source.Plain); err != nil {
		return err
	}
	if s.columns.Add(int64(t.Width)) > mostColumns {
		t.Omitted = true
		return nil
	}
	if d, ok := r.(table.Describer); ok {
		if t.Facts, err = d.Describe(); err == nil {
			t.Facts.Columns = t.Facts.Columns[:t.Width]
		}
	}
	return err
}

// countRows counts the rows of a text file as long as that is cheap; other formats know.
func (s *scanner) countRows(ctx context.Context, f *source.File, r table.Reader, t *Table, packed bool) error {
	rows, exact := r.Rows()
	counter, text := r.(table.Counter)
	switch {
	case exact:
	case text && (packed && f.Size() <= countablePacked || !packed && f.Size() <= countable):
		if err := counter.Count(ctx); err != nil {
			return err
		}
		rows, _ = r.Rows()
	case packed:
		return nil
	default:
		sample := make([]byte, sampled)
		if err := f.ReadFull(sample, 0); err != nil {
			return err
		}
		rows, t.About = int64(float64(f.Size())*float64(bytes.Count(sample, []byte("\n")))/sampled), true
	}
	t.Rows = &rows
	return nil
}

// isDamage tells a file that is broken from one that is whole, and not for gofast.
func isDamage(err error) bool {
	for _, kind := range []error{errs.ErrUnsupported, errs.ErrSchema, errs.ErrLimit, errs.ErrConfig} {
		if errors.Is(err, kind) {
			return false
		}
	}
	return true
}
