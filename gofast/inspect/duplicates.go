package inspect

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"sync"

	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/source/folder"
)

// print is what duplicates have in common: the size, and a hash of the beginning. 128 bits, by seeds that
// change with each scan, stand for all of a small file. Size is -1 of a file that cannot be read.
type print struct {
	size int64
	head [2]uint64
}

func (p print) compare(q print) int {
	return cmp.Or(cmp.Compare(p.size, q.size), slices.Compare(p.head[:], q.head[:]))
}

// alike is a file that has its print in common with another.
type alike struct {
	file int
	sum  [sha256.Size]byte // of the content; zero for small files, whose prints tell them apart
	gone bool              // it could not be read any more, and is no duplicate
}

// duplicates finds files of the same content. Only those are read whole whose size and beginning are another's too,
// and that are longer than what was read of them.
func (s *scanner) duplicates(ctx context.Context) (d Duplicates, err error) {
	d.Groups = []Group{}
	order := make([]int, 0, len(s.list))
	for i, p := range s.prints {
		if p.size > 0 {
			order = append(order, i)
		}
	}
	byPrint := func(a, b int) int { return s.prints[a].compare(s.prints[b]) }
	slices.SortStableFunc(order, byPrint)
	var found []alike
	for run := range runs(order, byPrint) {
		const each = 48 // an alike
		if err := s.budget.Reserve(int64(len(run))*each, "files that may be duplicates"); err != nil {
			return d, err
		}
		for _, i := range run {
			found = append(found, alike{file: i})
		}
	}
	if err := s.sums(ctx, found); err != nil {
		return d, err
	}
	found = slices.DeleteFunc(found, func(a alike) bool { return a.gone })
	same := func(a, b alike) int { return cmp.Or(byPrint(a.file, b.file), bytes.Compare(a.sum[:], b.sum[:])) }
	slices.SortStableFunc(found, same)
	for run := range runs(found, same) {
		g := Group{Bytes: s.prints[run[0].file].size}
		seen := map[string]bool{} // a file that was given with its folder, too, is no duplicate of itself
		for _, a := range run {
			if path := s.path(a.file); !seen[filepath.Clean(path)] {
				seen[filepath.Clean(path)] = true
				g.Paths = append(g.Paths, folder.Name(path))
			}
		}
		if more := int64(len(g.Paths) - 1); more > 0 {
			d.Groups = append(d.Groups, g)
			d.Files += more
			d.Bytes += more * g.Bytes
		}
	}
	slices.SortFunc(d.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Bytes*int64(len(b.Paths)-1), a.Bytes*int64(len(a.Paths)-1)), cmp.Compare(a.Paths[0], b.Paths[0]))
	})
	return d, nil
}

// runs are the equal neighbours in a sorted list, where there are at least two.
func runs[T any](sorted []T, compare func(a, b T) int) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for from, to := 0, 0; from < len(sorted); from = to {
			for to = from + 1; to < len(sorted) && compare(sorted[from], sorted[to]) == 0; to++ {
			}
			if to-from > 1 && !yield(sorted[from:to]) {
				return
			}
		}
	}
}

func (s *scanner) sums(ctx context.Context, found []alike) error {
	buffers := sync.Pool{New: func() any { b := make([]byte, 256<<10); return &b }}
	total := int64(len(s.list) + len(found))
	return pool.Each(ctx, s.options.Threads, len(found), func(ctx context.Context, i int) error {
		a := &found[i]
		size := s.prints[a.file].size
		if size <= headBytes {
			return nil
		}
		buffer := buffers.Get().(*[]byte)
		defer buffers.Put(buffer)
		err := a.hash(ctx, s.path(a.file), size, *buffer)
		s.options.Progress(s.done.Add(1), total)
		return err
	})
}

// hash reads a file of a size. The error is that of ctx.
func (a *alike) hash(ctx context.Context, path string, size int64, buffer []byte) error {
	f, err := source.Open(path)
	if err != nil {
		a.gone = true
		return nil
	}
	defer f.Close()
	a.gone = f.Size() != size
	h := sha256.New()
	for at := int64(0); at < size && !a.gone; at += int64(len(buffer)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := f.ReadAt(buffer, at)
		a.gone = err != nil && err != io.EOF
		h.Write(buffer[:n])
	}
	h.Sum(a.sum[:0])
	return nil
}
