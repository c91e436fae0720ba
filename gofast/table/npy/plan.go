package npy

import (
	"context"
	"errors"
	"hash/crc32"
	"sync"

	"github.com/gofast-org/gofast/gofast/internal/crc"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/table"
)

// run is a stretch of a row that goes to one place of the matrix.
type run struct{ src, dst, n int }

// stretch is the values of a run, of one row or, where a run is all of a row, of several.
type stretch struct {
	*plan
	run
	row    int64 // the first
	values []byte
}

// labelAt is one label column: its position in the array's row and in the selection.
type labelAt struct{ src, dst int }

// plan is what is wanted of one array.
type plan struct {
	*array
	runs    []run
	labels  []labelAt
	convert func(dst, src []byte) bool // into the matrix; where there are runs
	sums    []uint32                   // of the blocks of a stored member; nil where they are not needed
	words   sync.Pool                  // of map[int]*table.Cache, by label; a pool so that goroutines keep theirs
}

// visitor is called for every block of every planned array, from several
// goroutines. block is rows row, row+1, ... in C order.
type visitor func(p *plan, row int64, block []byte, s *scratch) error

// direct returns the memory that the rows may be read into without a copy, or nil.
type direct func(p *plan, row, n int64) []byte

// inOrder says that a row of the array goes to one place.
func (p *plan) inOrder() bool { return len(p.runs) == 1 && p.runs[0].n == p.width }

// stretches cuts a block into what is wanted of it; whole: it is one.
func (p *plan) stretches(row int64, block []byte, whole bool, use func(stretch) error) error {
	if whole {
		return use(stretch{p, p.runs[0], row, block})
	}
	size, rowBytes := p.elem.size, int(p.rowBytes())
	for ; len(block) > 0; row, block = row+1, block[rowBytes:] {
		for _, r := range p.runs {
			if err := use(stretch{p, r, row, block[r.src*size : (r.src+r.n)*size]}); err != nil {
				return err
			}
		}
	}
	return nil
}

// plans sorts the selection by array.
func (t *openFile) plans(sel table.Selection) ([]*plan, error) {
	byArray := map[*array]*plan{}
	var all []*plan
	find := func(column int) (*plan, int, error) {
		if column < 0 || column >= len(t.columns) {
			return nil, 0, t.fail(errs.ErrSchema, "column %d does not exist, the file has %d", column, len(t.columns))
		}
		a, position := t.where(column)
		p := byArray[a]
		if p == nil {
			p = &plan{array: a}
			byArray[a] = p
			all = append(all, p)
		}
		return p, position, nil
	}
	dst := 0
	for _, column := range sel.Features {
		p, position, err := find(column)
		if err != nil {
			return nil, err
		}
		if p.elem.text() {
			return nil, p.fail(errs.ErrValue, "the column holds text: features must be numbers, only a label may be text").InColumn(p.columnAt(position))
		}
		width := t.columns[column].Width()
		if last := len(p.runs) - 1; last >= 0 && p.runs[last].src+p.runs[last].n == position && p.runs[last].dst+p.runs[last].n == dst {
			p.runs[last].n += width
		} else {
			p.runs = append(p.runs, run{position, dst, width})
		}
		dst += width
	}
	seen := map[int]int{}
	for i, column := range sel.Labels {
		p, position, err := find(column)
		if err != nil {
			return nil, err
		}
		p.labels = append(p.labels, labelAt{position + seen[column]%t.columns[column].Width(), i})
		seen[column]++
	}
	return all, nil
}

// job is a stretch of one array.
type job struct {
	*plan
	row, n int64
	block  int // index of the block in sums
}

// visit reads every planned array in blocks, in parallel where it can.
func (t *openFile) visit(ctx context.Context, plans []*plan, into direct, use visitor) error {
	var jobs []job
	var most int64
	for _, p := range plans {
		most = max(most, p.scratchBytes())
		if p.deflated() {
			jobs = append(jobs, job{p, 0, p.rows, 0})
			continue
		}
		step := p.blockLen()
		for row := int64(0); row < p.rows; row += step {
			jobs = append(jobs, job{p, row, min(step, p.rows-row), int(row / step)})
		}
		switch {
		case p.member == nil:
		case p.fortran && p.width > 1:
			if err := p.checkStored(ctx, t.opts.Threads); err != nil {
				return err
			}
		default:
			p.sums = make([]uint32, (p.rows+step-1)/step)
		}
	}
	threads := t.opts.Fed(most)
	reserved := most * int64(min(threads, len(jobs)))
	if err := t.opts.Budget.Reserve(reserved, "blocks of a numpy file"); err != nil {
		return err
	}
	defer t.opts.Budget.Release(reserved)
	var scratches sync.Pool
	var first pool.First // of the rows of all arrays
	err := pool.Each(ctx, threads, len(jobs), func(ctx context.Context, i int) (err error) {
		j := jobs[i]
		if first.Before(j.row) {
			return nil
		}
		defer func() { err = note(&first, err, j.row, i) }()
		defer t.guard(&err)
		s, _ := scratches.Get().(*scratch)
		if s == nil {
			s = new(scratch)
		}
		defer scratches.Put(s)
		return t.visitJob(ctx, j, into, use, s)
	})
	if err == nil {
		err = first.Err()
	}
	if err != nil {
		return err
	}
	for _, p := range plans {
		if err := p.checkBlocks(); err != nil {
			return err
		}
	}
	return t.file.CheckUnchanged()
}

// note keeps what is wrong with rows; other errors end the work at once.
func note(first *pool.First, err error, begin int64, column int) error {
	var known *errs.Error
	if !errors.As(err, &known) || known.Kind == errs.ErrCanceled {
		return err
	}
	first.Note(pool.PlaceOf(err, begin, column), err)
	return nil
}

func (t *openFile) visitJob(ctx context.Context, j job, into direct, use visitor, s *scratch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p := j.plan
	if p.deflated() {
		return p.inflate(ctx, t.opts, s, func(row int64, block []byte) error {
			return use(p, row, block, s)
		})
	}
	block, err := p.rowsAt(p.readStored, j.row, j.n, into(p, j.row, j.n), s)
	if err != nil {
		return err
	}
	if p.sums != nil {
		p.sums[j.block] = crc32.ChecksumIEEE(block)
	}
	if err = p.finish(block, j.row); err == nil {
		err = use(p, j.row, block, s)
	}
	if t.opts.Progress != nil {
		t.opts.Progress(int64(len(block)))
	}
	return err
}

// checkBlocks compares the checksum of a stored member, read block by block.
func (p *plan) checkBlocks() error {
	if p.sums == nil {
		return nil
	}
	sum, err := p.headSum()
	if err != nil {
		return err
	}
	for i, s := range p.sums {
		rows := min(p.blockLen(), p.rows-int64(i)*p.blockLen())
		sum = crc.Combine(sum, s, rows*p.rowBytes())
	}
	return p.checkSum(sum)
}
