package inspect

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/gofast-org/gofast/gofast/source/folder"
)

// tally counts what one thread has seen. Tallies are added up at the end, so that threads do not meet before.
type tally struct {
	bytes                 int64
	pictures, pictureSize int64
	formats               map[string]*Kind
	colours, chroma       map[string]int64
	widths, heights       map[int]int64
	pixels                float64
	smallest, largest     extreme
	progressive, rotated  int64
	classes               map[string]*Class
	tables                []tableAt
	others, otherSize     int64
	endings               map[string]int64
	broken, suspects      []Problem // never nil
}

// extreme is the picture with the fewest or the most pixels; of equals, the first.
type extreme struct {
	pixels        uint64 // 0: none yet
	file          int
	width, height int
}

type tableAt struct {
	Table
	file int
}

func newTally() *tally {
	return &tally{
		formats: map[string]*Kind{}, colours: map[string]int64{}, chroma: map[string]int64{}, widths: map[int]int64{}, heights: map[int]int64{},
		classes: map[string]*Class{}, endings: map[string]int64{},
		broken: []Problem{}, suspects: []Problem{},
	}
}

// picture counts a picture, broken or not.
func (t *tally) picture(class string, bytes int64) {
	t.pictures++
	t.pictureSize += bytes
	if class != "" {
		c := t.classes[class]
		if c == nil {
			c = &Class{Name: folder.Name(class)}
			t.classes[class] = c
		}
		c.Pictures++
		c.Bytes += bytes
	}
}

// header counts what is known of one.
func (t *tally) header(file int, f *format, d details, bytes int64) {
	k := t.formats[f.name]
	if k == nil {
		_, here := native[f.name]
		k = &Kind{Name: f.name, Native: here}
		t.formats[f.name] = k
	}
	k.Count++
	k.Bytes += bytes
	if d.colour != "" {
		t.colours[d.colour]++
	}
	if d.subsampling != "" {
		t.chroma[d.subsampling]++
	}
	if d.progressive {
		t.progressive++
	}
	if d.orientation > 1 {
		t.rotated++
	}
	if d.width > 0 && d.height > 0 {
		t.widths[d.width]++
		t.heights[d.height]++
		t.pixels += float64(d.width) * float64(d.height)
		e := extreme{uint64(d.width) * uint64(d.height), file, d.width, d.height}
		t.smallest.keep(e, -1)
		t.largest.keep(e, 1)
	}
}

func (e *extreme) keep(o extreme, sign int) {
	if o.pixels == 0 {
		return
	}
	if c := sign * cmp.Compare(o.pixels, e.pixels); e.pixels == 0 || c > 0 || c == 0 && o.file < e.file {
		*e = o
	}
}

// add adds another tally, which is used no more.
func (t *tally) add(o *tally) {
	t.bytes += o.bytes
	t.pictures += o.pictures
	t.pictureSize += o.pictureSize
	t.pixels += o.pixels
	t.progressive += o.progressive
	t.rotated += o.rotated
	t.others += o.others
	t.otherSize += o.otherSize
	addCounts(t.colours, o.colours)
	addCounts(t.chroma, o.chroma)
	addCounts(t.widths, o.widths)
	addCounts(t.heights, o.heights)
	addCounts(t.endings, o.endings)
	for name, k := range o.formats {
		if mine := t.formats[name]; mine != nil {
			mine.Count += k.Count
			mine.Bytes += k.Bytes
		} else {
			t.formats[name] = k
		}
	}
	for name, c := range o.classes {
		if mine := t.classes[name]; mine != nil {
			mine.Pictures += c.Pictures
			mine.Bytes += c.Bytes
		} else {
			t.classes[name] = c
		}
	}
	t.smallest.keep(o.smallest, -1)
	t.largest.keep(o.largest, 1)
	t.tables = append(t.tables, o.tables...)
	t.broken = append(t.broken, o.broken...)
	t.suspects = append(t.suspects, o.suspects...)
}

func addCounts[K comparable](into, from map[K]int64) {
	for k, n := range from {
		into[k] += n
	}
}

const mostEndings = 20

// report writes the sums into a report.
func (t *tally) report(f *files, r *Report) {
	r.Bytes, r.Classes, r.Tables = t.bytes, []Class{}, []Table{}
	if t.pictures > 0 {
		r.Pictures = &Pictures{
			Count: t.pictures, Bytes: t.pictureSize, Width: spreadOf(t.widths), Height: spreadOf(t.heights),
			Smallest: t.smallest.sized(f), Largest: t.largest.sized(f),
			Colours: frequent(t.colours), Subsampling: frequent(t.chroma), Progressive: t.progressive, Rotated: t.rotated,
		}
		for _, k := range t.formats {
			r.Pictures.Formats = append(r.Pictures.Formats, *k)
		}
		slices.SortFunc(r.Pictures.Formats, func(a, b Kind) int { return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Name, b.Name)) })
		if r.Pictures.Width != nil {
			known := int64(0)
			for _, n := range t.widths {
				known += n
			}
			r.Pictures.Megapixels = t.pixels / float64(known) / 1e6
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.classes)) {
		r.Classes = append(r.Classes, *t.classes[name])
	}
	slices.SortFunc(t.tables, func(a, b tableAt) int { return a.file - b.file })
	for _, table := range t.tables {
		r.Tables = append(r.Tables, table.Table)
	}
	if t.others > 0 {
		endings := frequent(t.endings)
		r.Others = &Others{Count: t.others, Bytes: t.otherSize, Endings: endings[:min(len(endings), mostEndings)]}
	}
	r.Broken, r.Suspects = inOrder(t.broken), inOrder(t.suspects)
}

func (e extreme) sized(f *files) *Sized {
	if e.pixels == 0 {
		return nil
	}
	return &Sized{Path: folder.Name(f.path(e.file)), Width: e.width, Height: e.height}
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
	total, sum := int64(0), 0.0
	for v, n := range counts {
		total += n
		sum += float64(v) * float64(n)
	}
	quantile := func(q float64) int64 {
		rank := int64(math.Ceil(q * float64(total)))
		for _, v := range values {
			if rank -= counts[v]; rank <= 0 {
				return int64(v)
			}
		}
		return int64(values[len(values)-1])
	}
	return &Spread{Min: int64(values[0]), P5: quantile(0.05), Median: quantile(0.5), P95: quantile(0.95), Max: int64(values[len(values)-1]), Mean: sum / float64(total)}
}
