package inspect

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"io"
	"path/filepath"
	"slices"
	"sync"

	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/source/folder"
)

// duplicates finds files of the same content. Only those are read whole whose size and beginning are another's too,
// and that are longer than what was read of them.
func (s *scanner) duplicates(ctx context.Context) (d Duplicates, err error) {
	d.Groups = []Group{}
	order := make([]int, 0, s.count)
	for i, p := range s.prints {
		if p.size > 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		p, q := s.prints[a], s.prints[b]
		return cmp.Or(cmp.Compare(p.size, q.size), slices.Compare(p.head[:], q.head[:]), cmp.Compare(a, b))
	})
	var alike []int // members of groups of two and more
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && s.prints[order[to]] == s.prints[order[from]] {
			to++
		}
		if to-from > 1 {
			alike = append(alike, order[from:to]...)
		}
		from = to
	}
	sums, err := s.sums(ctx, alike)
	if err != nil {
		return d, err
	}
	for from := 0; from < len(alike); {
		to := from + 1
		for to < len(alike) && s.prints[alike[to]] == s.prints[alike[from]] {
			to++
		}
		d.add(s, alike[from:to], sums[from:to])
		from = to
	}
	slices.SortFunc(d.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Bytes*int64(len(b.Paths)-1), a.Bytes*int64(len(a.Paths)-1)), cmp.Compare(a.Paths[0], b.Paths[0]))
	})
	return d, nil
}

// sum is the SHA-256 of a file, and the same for all small ones, whose prints tell them apart; nil of one that could not be read any more, and is nobody's duplicate.
type sum *[sha256.Size]byte

func (s *scanner) sums(ctx context.Context, alike []int) ([]sum, error) {
	sums := make([]sum, len(alike))
	buffers := sync.Pool{New: func() any { b := make([]byte, 256<<10); return &b }}
	total := int64(s.count + len(alike))
	err := pool.Each(ctx, s.options.Threads, len(alike), func(ctx context.Context, i int) error {
		if s.prints[alike[i]].size <= headBytes {
			sums[i] = new([sha256.Size]byte)
			return nil
		}
		buffer := buffers.Get().(*[]byte)
		defer buffers.Put(buffer)
		var err error
		sums[i], err = hash(ctx, s.path(alike[i]), s.prints[alike[i]].size, *buffer)
		s.options.Progress(s.done.Add(1), total)
		return err
	})
	return sums, err
}

// hash reads a file of a size. The error is that of ctx.
func hash(ctx context.Context, path string, size int64, buffer []byte) (sum, error) {
	f, err := source.Open(path)
	if err != nil {
		return nil, nil
	}
	defer f.Close()
	if f.Size() != size {
		return nil, nil
	}
	h := sha256.New()
	for at := int64(0); at < size; at += int64(len(buffer)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := f.ReadAt(buffer, at)
		if err != nil && err != io.EOF {
			return nil, nil
		}
		h.Write(buffer[:n])
	}
	return sum((*[sha256.Size]byte)(h.Sum(nil))), nil
}

// add sorts files of one size and beginning by their sums.
func (d *Duplicates) add(s *scanner, alike []int, sums []sum) {
	var places []int
	for i := range alike {
		if sums[i] != nil {
			places = append(places, i)
		}
	}
	slices.SortStableFunc(places, func(a, b int) int { return bytes.Compare(sums[a][:], sums[b][:]) })
	for from := 0; from < len(places); {
		to := from + 1
		for to < len(places) && *sums[places[to]] == *sums[places[from]] {
			to++
		}
		if n := int64(to - from); n > 1 {
			g := Group{Bytes: s.prints[alike[places[from]]].size}
			seen := map[string]bool{} // a file that was given with its folder, too, is nobody's duplicate
			for _, p := range places[from:to] {
				if path := s.path(alike[p]); !seen[filepath.Clean(path)] {
					seen[filepath.Clean(path)] = true
					g.Paths = append(g.Paths, folder.Name(path))
				}
			}
			if n = int64(len(g.Paths)); n > 1 {
				d.Groups = append(d.Groups, g)
				d.Files += n - 1
				d.Bytes += (n - 1) * g.Bytes
			}
		}
		from = to
	}
}
