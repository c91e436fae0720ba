package inspect

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/gofast-org/gofast/gofast/source/folder"
	"github.com/gofast-org/gofast/gofast/table"
)

// What a text shows of long lists; JSON has all of them.
const (
	shownTables     = 20
	shownColumns    = 12
	shownDuplicates = 10
	shownClasses    = 12
)

// page writes lines, and keeps the first error.
type page struct {
	w   *tabwriter.Writer
	err error
}

func newPage(w io.Writer) *page { return &page{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)} }

func (p *page) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

func (p *page) end() error {
	if p.err == nil {
		p.err = p.w.Flush()
	}
	return p.err
}

// WriteText writes the report for people. Every broken file is named.
func (r *Report) WriteText(w io.Writer) error {
	p := newPage(w)
	p.line("%s in %s, %s", plural(r.Files, "file"), bytesText(r.Bytes), seconds(r.Seconds))
	if r.Pictures != nil {
		r.Pictures.write(p)
	}
	writeClasses(p, r.Classes)
	for i := range r.Tables[:min(len(r.Tables), shownTables)] {
		r.Tables[i].write(p)
	}
	if more := len(r.Tables) - shownTables; more > 0 {
		p.line("... and %s more: --json lists them", plural(int64(more), "table"))
	}
	if r.Others != nil {
		p.line("neither picture nor table\t%s\t(%s)", counts(r.Others.Endings), bytesText(r.Others.Bytes))
	}
	r.Duplicates.write(p)
	writeProblems(p, "probably cut", "verify says whether they are", r.Suspects)
	writeProblems(p, "broken", "", r.Broken)
	writeFolders(p, r.Unreadable)
	return p.end()
}

func (s *Pictures) write(p *page) {
	p.line("pictures\t%d\t(%s)", s.Count, bytesText(s.Bytes))
	var formats []string
	for _, k := range s.Formats {
		text := fmt.Sprintf("%s %d", k.Name, k.Count)
		if !k.Native {
			text += " (left to Pillow)"
		}
		formats = append(formats, text)
	}
	if len(formats) > 0 {
		p.line("  format\t%s", strings.Join(formats, ", "))
	}
	if len(s.Colours) > 0 {
		p.line("  colour\t%s", counts(s.Colours))
	}
	if s.Width != nil {
		p.line("  width\t%s", s.Width)
		p.line("  height\t%s", s.Height)
		p.line("  megapixels\t%.3g on average", s.Megapixels)
		p.line("  smallest\t%dx%d\t%s", s.Smallest.Width, s.Smallest.Height, printable(s.Smallest.Path))
		p.line("  largest\t%dx%d\t%s", s.Largest.Width, s.Largest.Height, printable(s.Largest.Path))
	}
	if len(s.Subsampling) > 0 {
		p.line("  chroma of JPEG\t%s", counts(s.Subsampling))
	}
	if s.Progressive > 0 {
		p.line("  progressive\t%d", s.Progressive)
	}
	if s.Rotated > 0 {
		p.line("  turned by Exif\t%d\t(viewers turn them, training sees them as they are stored)", s.Rotated)
	}
}

// String shows a distribution in one line.
func (s *Spread) String() string {
	if s.Min == s.Max {
		return fmt.Sprintf("all %d", s.Min)
	}
	return fmt.Sprintf("%d to %d, median %d, 90 %% from %d to %d", s.Min, s.Max, s.Median, s.P5, s.P95)
}

func writeClasses(p *page, classes []Class) {
	if len(classes) == 0 {
		return
	}
	bySize := slices.Clone(classes)
	slices.SortStableFunc(bySize, func(a, b Class) int { return int(b.Pictures - a.Pictures) })
	least, most := bySize[len(bySize)-1], bySize[0]
	p.line("classes\t%d\tmedian %d pictures, from %d (%s) to %d (%s)", len(classes), bySize[len(bySize)/2].Pictures,
		least.Pictures, printable(least.Name), most.Pictures, printable(most.Name))
	if len(classes) <= shownClasses {
		for _, c := range classes {
			p.line("  %s\t%d", printable(c.Name), c.Pictures)
		}
	}
}

func (t *Table) write(p *page) {
	rows := "an unknown number of rows"
	if t.Rows != nil {
		rows = plural(*t.Rows, "row")
		if t.About {
			rows = "about " + rows
		}
	}
	if t.Unusable != "" {
		p.line("table\t%s\t%s, %s: gofast cannot open it: %s", printable(t.Path), t.Format, bytesText(t.Bytes), t.Unusable)
		return
	}
	groups := ""
	if t.RowGroups > 0 {
		groups = ", " + plural(int64(t.RowGroups), "row group")
	}
	p.line("table\t%s\t%s, %s, %s x %s%s", printable(t.Path), t.Format, bytesText(t.Bytes), rows, plural(int64(t.Width), "column"), groups)
	shown := len(t.Columns)
	if shown > shownColumns+1 {
		shown = shownColumns
	}
	for _, c := range t.Columns[:shown] {
		p.line("  %s\t%s", printable(folder.Name(c.Name)), describeColumn(c))
	}
	if rest := t.Columns[shown:]; len(rest) > 0 {
		types := map[string]int64{}
		for _, c := range rest {
			types[c.Type]++
		}
		p.line("  ...\t%d more: %s", len(rest), counts(frequent(types)))
	}
}

func counts(list []Count) string {
	var parts []string
	for _, c := range list {
		name := c.Name
		if name == "" {
			name = "no ending"
		}
		parts = append(parts, fmt.Sprintf("%s %d", printable(folder.Name(name)), c.Count))
	}
	return strings.Join(parts, ", ")
}

func (d *Duplicates) write(p *page) {
	if d.Files == 0 {
		return
	}
	p.line("duplicates\t%s could be left out\t(%s)", plural(d.Files, "file"), bytesText(d.Bytes))
	for _, g := range d.Groups[:min(len(d.Groups), shownDuplicates)] {
		var names []string
		for _, path := range g.Paths[:min(len(g.Paths), 3)] {
			names = append(names, printable(path))
		}
		if more := len(g.Paths) - len(names); more > 0 {
			names = append(names, fmt.Sprintf("%d more", more))
		}
		p.line("  %s", strings.Join(names, " = "))
	}
	if more := len(d.Groups) - shownDuplicates; more > 0 {
		p.line("  ... and %d more groups: --json lists them", more)
	}
}

func writeProblems(p *page, what, more string, list []Problem) {
	if len(list) == 0 {
		return
	}
	p.line("%s\t%d\t%s", what, len(list), more)
	for _, problem := range list {
		p.line("  %s: %s", printable(problem.Path), printable(folder.Name(problem.Reason)))
	}
}

func writeFolders(p *page, folders []folder.Name) {
	if len(folders) == 0 {
		return
	}
	p.line("folders that cannot be listed\t%d", len(folders))
	for _, f := range folders {
		p.line("  %s", printable(f))
	}
}

// WriteText writes the report for people. Every damaged file is named, and every one that was not checked.
func (v *Verification) WriteText(w io.Writer) error {
	p := newPage(w)
	p.line("%s in %s read in %s: %s, %s, %d of other kinds", plural(v.Files, "file"), bytesText(v.Bytes), seconds(v.Seconds),
		plural(v.Pictures, "picture"), plural(v.Tables, "table"), v.Others)
	for _, format := range slices.Sorted(maps.Keys(v.Missing)) {
		p.line("a library is missing\t%s", printable(folder.Name(v.Missing[format])))
	}
	writeProblems(p, "not checked", "", v.Unchecked)
	writeProblems(p, "damaged", "", v.Damaged)
	writeFolders(p, v.Unreadable)
	if len(v.Damaged) == 0 {
		p.line("nothing is damaged%s", map[bool]string{true: " of what was checked"}[len(v.Unchecked) > 0])
	}
	return p.end()
}

// printable is a name without what a terminal would obey.
func printable(name folder.Name) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(string(name), "\uFFFD"))
}

func plural(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

func bytesText(n int64) string {
	switch {
	case n < 1e3:
		return fmt.Sprintf("%d B", n)
	case n < 1e6:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	case n < 1e9:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	default:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	}
}

func seconds(s float64) string {
	if s < 1 {
		return fmt.Sprintf("%.0f ms", s*1e3)
	}
	return fmt.Sprintf("%.1f s", s)
}

// describeColumn says what is known of a column in a few words.
func describeColumn(c table.ColumnFacts) string {
	text := c.Type
	if c.Shape != nil {
		text += strings.ReplaceAll(fmt.Sprint(c.Shape), " ", ", ")
	}
	if c.Min != "" {
		text += ", " + c.Min + " to " + c.Max
	}
	if c.Nulls != nil && *c.Nulls > 0 {
		text += fmt.Sprintf(", %d missing", *c.Nulls)
	}
	if c.Codec != "" {
		text += ", " + c.Codec
	}
	if c.Unusable != "" {
		text += " (" + c.Unusable + ")"
	}
	return text
}
