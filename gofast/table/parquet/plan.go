package parquet

import (
	"slices"
)

// output is a column and its place in the matrix.
type output struct {
	c  *column
	at int // first column of the matrix, or the number of the label
}

// job is what one goroutine does at a time: some columns of one row group. A
// column with several values a row, and a label, is a job of its own.
type job struct {
	group   int
	label   bool
	outputs []output
	tile    *tile // of its features; nil for the others
}

// tile is a part of the matrix that is decoded column by column, by all threads
// together, and then written as rows, by all threads again: consecutive columns
// of consecutive row groups.
type tile struct {
	outputs     []output
	first, rows int64 // rows of the matrix
	jobs        []job
}

const (
	// tileBytes bounds a tile of a new crew. The wider it is, the fewer cache lines and pages
	// of the matrix are touched twice: 3.8 MB a thread (64 columns of 60,000
	// rows) took 63 ms of one core for the rows of train.parquet.
	tileBytes = 16 << 20
	// leastLine is the least part of a row that a tile writes, in bytes: row
	// groups of more than a million rows get larger tiles instead.
	leastLine = 16
	// jobColumns are decoded by one goroutine at a time, or fewer where a thread
	// would have less than jobsEach jobs of a tile; their bytes are read together.
	jobColumns = 16
	jobsEach   = 4
)

// plan cuts the work into tiles of at most widest bytes, and jobs that need none.
// size is the bytes of one cell.
func (r *Reader) plan(features, labels []*column, size int, widest int64) (tiles []*tile, others []job) {
	groups := r.meta.groups
	for from := 0; from < len(groups); {
		// Small row groups share a tile, so that threads meet less often.
		to, rows := from, int64(0)
		for to < len(groups) && (rows == 0 || (rows+groups[to].rows) <= tileBytes/int64(size*max(len(features), 1))) {
			rows += groups[to].rows
			to++
		}
		if rows > 0 {
			most := max(int(widest/rows)/size, leastLine/size)
			t, o := r.cut(features, labels, from, to, most)
			tiles, others = append(tiles, t...), append(others, o...)
		}
		from = to
	}
	return tiles, others
}

// cut plans the row groups from..to-1 with tiles of at most most columns.
func (r *Reader) cut(features, labels []*column, from, to, most int) (tiles []*tile, others []job) {
	single := func(o output, label bool) {
		for g := from; g < to; g++ {
			others = append(others, job{group: g, label: label, outputs: []output{o}})
		}
	}
	var run []output
	end := func() {
		if len(run) > 0 {
			tiles = append(tiles, r.newTile(run, from, to))
		}
		run = nil
	}
	at := 0
	for _, c := range features {
		o := output{c, at}
		at += c.width()
		if c.Shape != nil {
			end()
			single(o, false)
			continue
		}
		if run = append(run, o); len(run) == most {
			end()
		}
	}
	end()
	for i := 0; i < len(labels); i += labels[i].width() {
		single(output{labels[i], i}, true)
	}
	return tiles, others
}

func (r *Reader) newTile(outputs []output, from, to int) *tile {
	t := &tile{outputs: outputs, first: r.meta.groups[from].first}
	each := len(outputs) * (to - from) / (jobsEach * r.opts.Threads)
	for g := from; g < to; g++ {
		t.rows += r.meta.groups[g].rows
		for part := range slices.Chunk(outputs, min(max(each, 1), jobColumns)) {
			t.jobs = append(t.jobs, job{group: g, outputs: part, tile: t})
		}
	}
	return t
}
