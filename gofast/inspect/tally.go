package inspect

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/source/folder"
)

// tally is a report in the making. All threads write to it: a file is opened and read meanwhile, which takes far longer.
type tally struct {
	lock            sync.Mutex
	r               Report
	pictures        Pictures
	others          Others
	formats         map[string]*Kind
	colours, chroma map[string]int64
	widths, heights map[int]int64
	pixels          float64
	classes         map[string]*Class
	endings         map[string]int64
}

func newTally() *tally {
	return &tally{
		r:       Report{Classes: []Class{}, Tables: []Table{}, Broken: []Problem{}, Suspects: []Problem{}},
		formats: map[string]*Kind{}, colours: map[string]int64{}, chroma: map[string]int64{}, widths: map[int]int64{}, heights: map[int]int64{},
		classes: map[string]*Class{}, endings: map[string]int64{},
	}
}

// saw counts a file that could be read, broken or not.
func (t *tally) saw(what kind, bytes int64, class, ending string) {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.r.Bytes += bytes
	switch what {
	case pictureKind:
		t.pictures.Count++
		t.pictures.Bytes += bytes
		if class != "" {
			c := entry(t.classes, class)
			c.Name = folder.Name(class)
			c.Pictures++
			c.Bytes += bytes
		}
	case otherKind, cacheKind, tfrecordKind, hdf5Kind:
		t.others.Count++
		t.others.Bytes += bytes
		t.endings[ending]++
	}
}

func entry[T any](of map[string]*T, name string) *T {
	if of[name] == nil {
		of[name] = new(T)
	}
	return of[name]
}

// broken notes a file that cannot be used.
func (t *tally) broken(file int, path string, err error, isPicture bool) {
	p := problemOf(file, path, err)
	p.Picture = isPicture
	t.lock.Lock()
	defer t.lock.Unlock()
	t.r.Broken = append(t.r.Broken, p)
}

// header counts what is known of a picture. It is suspect where a reason is given.
func (t *tally) header(file int, path folder.Name, f *format, d details, bytes int64, suspect string) {
	t.lock.Lock()
	defer t.lock.Unlock()
	if suspect != "" {
		t.r.Suspects = append(t.r.Suspects, Problem{Path: path, Kind: errs.Name(errs.ErrDamaged), Reason: suspect, Picture: true, file: file})
	}
	k := entry(t.formats, f.name)
	k.Name = f.name
	_, k.Native = native[f.name]
	k.Count++
	k.Bytes += bytes
	if d.colour != "" {
		t.colours[d.colour]++
	}
	if d.subsampling != "" {
		t.chroma[d.subsampling]++
	}
	if d.progressive {
		t.pictures.Progressive++
	}
	if d.orientation > 1 {
		t.pictures.Rotated++
	}
	if d.width > 0 && d.height > 0 {
		t.widths[d.width]++
		t.heights[d.height]++
		t.pixels += float64(d.width) * float64(d.height)
		s := &Sized{path, d.width, d.height, file}
		t.pictures.Smallest = further(t.pictures.Smallest, s, -1)
		t.pictures.Largest = further(t.pictures.Largest, s, 1)
	}
}

// further is the picture with more pixels, or with fewer where sign is -1; of equals, the first.
func further(a, b *Sized, sign int) *Sized {
	if a == nil {
		return b
	}
	pixels := func(s *Sized) uint64 { return uint64(s.Width) * uint64(s.Height) }
	if c := sign * cmp.Compare(pixels(b), pixels(a)); c > 0 || c == 0 && b.file < a.file {
		return b
	}
	return a
}

const mostEndings = 20

// report is what was found, in order.
func (t *tally) report(f *files) *Report {
	r, p := &t.r, &t.pictures
	r.Files, r.Unreadable = int64(len(f.list)), f.unreadable
	if p.Count > 0 {
		p.Width, p.Height = spreadOf(t.widths), spreadOf(t.heights)
		p.Colours, p.Subsampling = frequent(t.colours), frequent(t.chroma)
		for _, k := range t.formats {
			p.Formats = append(p.Formats, *k)
		}
		slices.SortFunc(p.Formats, func(a, b Kind) int { return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Name, b.Name)) })
		if p.Width != nil {
			p.Megapixels = t.pixels / float64(p.Width.count) / 1e6
		}
		r.Pictures = p
	}
	for _, name := range slices.Sorted(maps.Keys(t.classes)) {
		r.Classes = append(r.Classes, *t.classes[name])
	}
	slices.SortFunc(r.Tables, func(a, b Table) int { return a.file - b.file })
	if t.others.Count > 0 {
		endings := frequent(t.endings)
		t.others.Endings = endings[:min(len(endings), mostEndings)]
		r.Others = &t.others
	}
	r.Broken, r.Suspects = inOrder(r.Broken), inOrder(r.Suspects)
	return r
}

func inOrder(problems []Problem) []Problem {
	slices.SortStableFunc(problems, func(a, b Problem) int { return a.file - b.file })
	return problems
}

// frequent lists counts, the largest first.
func frequent(counts map[string]int64) []Count {
	list := make([]Count, 0, len(counts))
	for name, n := range counts {
		list = append(list, Count{name, n})
	}
	slices.SortFunc(list, func(a, b Count) int { return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Name, b.Name)) })
	return list
}

// spreadOf is the distribution of numbers that were counted.
func spreadOf(counts map[int]int64) *Spread {
	if len(counts) == 0 {
		return nil
	}
	values := slices.Sorted(maps.Keys(counts))
	s, sum := &Spread{Min: int64(values[0]), Max: int64(values[len(values)-1])}, 0.0
	for v, n := range counts {
		s.count += n
		sum += float64(v) * float64(n)
	}
	s.Mean = sum / float64(s.count)
	quantile := func(q float64) int64 {
		rank := int64(math.Ceil(q * float64(s.count)))
		for _, v := range values {
			if rank -= counts[v]; rank <= 0 {
				return int64(v)
			}
		}
		return s.Max
	}
	s.P5, s.Median, s.P95 = quantile(0.05), quantile(0.5), quantile(0.95)
	return s
}
