package csv

import (
	"bytes"
	"context"
	"slices"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table/csv/csvrow"
)

const (
	// defaultChunk fits a core's L2 together with what is made of it, so that the
	// passes over a chunk after its read are free of memory traffic. From 256 KiB
	// to 4 MiB the time differs by less than a tenth.
	defaultChunk = 512 << 10
	// minChunk keeps the cost of a chunk, some 10 us, below its parsing.
	minChunk = 64 << 10
	// slack is the room before a chunk for the start of its first record.
	slack = 64 << 10
	// threadBytes is what a thread takes for its chunk, its numbers and words.
	threadBytes = 1 << 20
	// behind is the room after a chunk: a newline that the file lacks, and padding.
	behind = 1 + csvrow.Pad
)

// chunk is a run of complete records.
type chunk struct {
	buf      []byte // csvrow.Front bytes before from and csvrow.Pad after to are readable
	from, to int
	base     int64 // number of the first record
	records  int64
}

// visitor parses the chunks that one worker gets.
type visitor interface {
	visit(c chunk) error
}

// pass is one run over all records of the file, in chunks, on several workers.
//
// A worker claims a chunk, reads it, counts its records, waits for the link of
// the chunk before, sends its own and only then parses: the serial part of a
// chunk is the hand-over. Only what a newline count cannot decide (quotes, lone
// '\r', lines that may be blank) is split in order, by the worker that waits.
type pass struct {
	r    *reader
	feed *feed
	ctx  context.Context

	first pool.First // in the order of the chunks
}

// run makes one visitor for each worker and returns the number of records. The
// error is that of the first chunk in file order that failed: chunks before a
// failing one are always finished.
func (r *reader) run(ctx context.Context, visitors func() visitor) (records int64, err error) {
	size := r.chunk
	threads := r.opts.Fed(threadBytes)
	if size == 0 {
		size = defaultChunk
		if left := r.end - r.start; r.compression == source.Plain && left < int64(2*threads*size) {
			size = int(max(left/int64(2*threads)+1, minChunk))
			threads = int(min(int64(threads), left/int64(size)+1))
		}
	}
	room := int64(threads) * int64(slack+size+behind)
	if err := r.reserve(room); err != nil {
		return 0, err
	}
	defer r.opts.Budget.Release(room)
	feed, err := newFeed(r, r.start)
	if err != nil {
		return 0, err
	}
	p := &pass{r: r, feed: feed, ctx: ctx}
	each := pool.Each(ctx, threads, threads, func(ctx context.Context, _ int) error {
		w := &worker{pass: p, size: size, buf: make([]byte, slack+size+behind), front: slack}
		defer func() { r.opts.Budget.Release(w.extra) }()
		v := visitors()
		for ctx.Err() == nil && w.next(v) {
		}
		return nil
	})
	last := feed.close()
	r.tail = int64(len(last.tail))
	switch {
	case p.first.Err() != nil:
		return 0, p.first.Err()
	case ctx.Err() != nil:
		return 0, errs.New(errs.ErrCanceled, op, "canceled").At(r.file.Path()).Because(ctx.Err())
	default:
		return last.base, each
	}
}

// worker owns one buffer: slack, a chunk, padding.
type worker struct {
	*pass
	size  int
	buf   []byte
	front int   // where the chunk starts
	extra int64 // budget taken by growing
}

// next claims and handles one chunk; false ends the worker.
func (w *worker) next(v visitor) bool {
	t, ok, err := w.feed.claim(w.buf[w.front : w.front+w.size])
	if !ok {
		return false
	}
	sent := false
	send := func(l link) {
		sent = true
		t.out <- l
	}
	if err == nil {
		err = w.handle(t, v, send)
	}
	if !sent {
		t.out <- link{abort: true}
	}
	if err != nil {
		w.feed.stop()
		w.first.Note(pool.Place{Row: t.index}, err)
		return false
	}
	if w.r.opts.Progress != nil {
		w.r.opts.Progress(t.done)
	}
	return true
}

func (w *worker) handle(t ticket, v visitor, send func(link)) (err error) {
	defer pool.Recover(&err, op, w.r.file.Path())
	n := t.n
	if w.feed.stream == nil {
		if err := w.r.file.ReadFull(w.buf[w.front:w.front+n], t.offset); err != nil {
			return err
		}
	}
	final := t.last && !w.r.open
	if final && n > 0 && w.buf[w.front+n-1] != '\n' {
		w.buf[w.front+n] = '\n'
		n++
	}
	counts := csvrow.Scan(w.buf[w.front:w.front+n], w.r.delim)
	in := <-t.in
	if in.abort {
		return nil
	}
	c, out, broken := w.cut(in, n, counts, final)
	if w.r.marks != nil {
		w.r.marks.add(t.offset+int64(c.from-w.front), in.base)
	}
	if broken == nil {
		send(out)
	}
	if c.records > 0 && v != nil && !w.first.Before(t.index) {
		if err := v.visit(c); err != nil {
			return err
		}
	}
	return broken // after the records before it: the first error of the file is reported
}

// cut puts the tail of the chunk before in front of the n bytes of this one and
// divides them into complete records and the tail for the next. The records are
// valid even where there is an error.
func (w *worker) cut(in link, n int, counts csvrow.Counts, last bool) (c chunk, out link, err error) {
	if err := w.grow(len(in.tail), n); err != nil {
		return c, out, err
	}
	from, end := w.front-len(in.tail), w.front+n
	copy(w.buf[from:], in.tail)
	if last && n == 0 && len(in.tail) > 0 {
		w.buf[end] = '\n'
		end++
	}
	region := w.buf[from:end]
	odd := in.odd || in.feed || counts.Quotes || counts.Odd || n == 0
	if in.feed && len(region) > 0 && region[0] == '\n' {
		from++
		region = region[1:]
	}
	// The count took the byte before the chunk for one inside a line.
	if len(in.tail) == 0 && len(region) > 0 && region[0] <= ' ' {
		odd = true
	}
	c = chunk{buf: w.buf, from: from, base: in.base, records: counts.Lines}
	rest := bytes.LastIndexByte(region, '\n') + 1
	if odd {
		records, at, open := split(region, w.r.delim)
		if open && last {
			err = w.r.fail(errs.ErrDamaged, "a quote is opened and never closed").AtRow(in.base+int64(records), "")
		}
		c.records, rest = int64(records), at
		out.feed = rest > 0 && rest == len(region) && region[rest-1] == '\r'
	}
	c.to = from + rest
	tail := region[rest:]
	out.base = in.base + c.records
	if int64(len(tail)) > w.r.opts.Limits.Cell {
		err = w.r.tooLong().AtRow(out.base, "")
	}
	out.odd = odd && len(tail) > 0 && (tail[0] <= ' ' || bytes.IndexByte(tail, '"') >= 0)
	out.tail = slices.Clone(tail)
	return c, out, err
}

// grow makes room for a tail before the chunk's n bytes.
func (w *worker) grow(tail, n int) error {
	if tail+csvrow.Front <= w.front {
		return nil
	}
	front := 2*tail + csvrow.Front
	more := int64(front - w.front)
	if err := w.r.reserve(more); err != nil {
		return err
	}
	w.extra += more
	buf := make([]byte, front+w.size+behind)
	copy(buf[front:], w.buf[w.front:w.front+n])
	w.buf, w.front = buf, front
	return nil
}
