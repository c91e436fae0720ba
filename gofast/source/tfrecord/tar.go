package tfrecord

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/source"
)

// Tar is the form of WebDataset's shards. Neighbours with one key are a record, and their suffixes are its features.
const Tar = "tar"

const (
	mostDigits = 64 // of a label, spaces counted

	// tarFeatures is a member whose name webdataset passes over: what `gofast shard` says of the features, in the JSON that
	// Hugging Face's datasets keep in Parquet files.
	tarFeatures  = "__features__"
	mostFeatures = 16 << 20
)

// group is the record that is being read.
type group struct {
	key      []byte
	at       int64       // its first member's data
	members  []tarSuffix // also those that nobody asked for: none may come twice
	features [][]string  // the suffixes of each column
}

// tarSuffix is a suffix of a group, and its member's data.
type tarSuffix struct {
	suffix string
	place  source.Extent
}

// tarColumns reads a tar file's headers, and fills the columns. A feature such as "jpg;png" is the first of these that a
// record has.
func (o *Options) tarColumns(ctx context.Context, f *file) error {
	held, err := source.Held(ctx, f.object)
	if err != nil {
		return err
	}
	defer held.Close()
	t := tarFile{w: window{file: held, path: f.object.Path(), size: f.object.Stamp().Size}}
	asked, g := map[string]bool{}, group{}
	for _, c := range f.columns.all {
		suffixes := strings.Split(c.name, ";")
		g.features = append(g.features, suffixes)
		for _, suffix := range suffixes {
			asked[suffix] = true
		}
		c.expect(min(o.before.Load(), t.w.size/(2*tarBlock)), c.name == o.Label)
	}
	defer func() { o.before.Store(f.records) }()
	v := visit{o: o, content: held}
	return v.end(ctx, o.tarRecords(ctx, f, &t, &g, asked, &v))
}

// tarRecords reads the headers.
func (o *Options) tarRecords(ctx context.Context, f *file, t *tarFile, g *group, asked map[string]bool, v *visit) error {
	for wrong := (*errs.Error)(nil); ; {
		m, err := t.next(ctx)
		if err == nil && m != nil {
			if m.regular && v.wanted() {
				if failed := v.see(ctx, Member{Name: string(m.name), At: m.at, Size: m.size, Sparse: m.sparse}); failed != nil {
					return failed
				}
			}
			err = o.tarMember(ctx, f, t, g, asked, m)
		}
		if wrong = err; wrong == nil && m == nil {
			wrong = o.tarRecord(ctx, f, t, g)
		} else if wrong == nil {
			continue
		}
		if wrong != nil && o.Partial && errors.Is(wrong, errs.ErrDamaged) {
			f.damage = wrong.Error()
			if wrong = nil; g.whole(f.columns) {
				wrong = o.tarRecord(ctx, f, t, g)
			}
		}
		if wrong != nil {
			return wrong
		}
		return nil
	}
}

// tarMember takes a member into the group, if it was asked for. One with another key begins a new group.
func (o *Options) tarMember(ctx context.Context, f *file, t *tarFile, g *group, asked map[string]bool, m *tarMember) *errs.Error {
	if !m.regular {
		return nil
	}
	if string(m.name) == tarFeatures && !m.sparse {
		if m.size > mostFeatures {
			return t.fail(errs.ErrLimit, m.at, "the member %s has %d bytes: at most %d say what features are", m.name, m.size, mostFeatures)
		}
		text, err := t.bytes(ctx, m.at, m.size, tarFeatures)
		f.features = string(text)
		return err
	}
	key, suffix, ok := member(m.name)
	if !ok {
		return nil
	}
	if g.at == 0 || !bytes.Equal(key, g.key) {
		if err := o.tarRecord(ctx, f, t, g); err != nil {
			return err
		}
		g.key, g.at = append(g.key[:0], key...), m.at
	}
	if f.records == 0 && f.columns.object == 0 && len(f.first) < 100 {
		f.first = append(f.first, string(suffix))
	}
	if m.sparse && (f.columns.open || asked[string(suffix)]) {
		return t.fail(errs.ErrUnsupported, m.at, "the member %.200q is sparse", m.name)
	}
	if _, twice := g.member(string(suffix)); twice || string(suffix) == "__key__" || string(suffix) == "__url__" {
		return t.fail(errs.ErrDamaged, m.at, "a record has two members %.200q", m.name)
	}
	if len(g.members) == mostColumns {
		return t.fail(errs.ErrLimit, m.at, "a record has more than %d members", mostColumns)
	}
	g.add(suffix, source.Extent{Object: f.columns.object, Offset: m.at, Length: m.size})
	return nil
}

// add takes a member. A record's suffixes are mostly those of the one before, whose strings are used again.
func (g *group) add(suffix []byte, place source.Extent) {
	n := len(g.members)
	if n == cap(g.members) {
		g.members = slices.Grow(g.members, 1)
	}
	g.members = g.members[:n+1]
	if last := &g.members[n]; last.suffix == string(suffix) {
		last.place = place
	} else {
		*last = tarSuffix{string(suffix), place}
	}
}

// member is a suffix's place.
func (g *group) member(suffix string) (place source.Extent, has bool) {
	for i := range g.members {
		if g.members[i].suffix == suffix {
			return g.members[i].place, true
		}
	}
	return place, false
}

// whole says whether a group has all features.
func (g *group) whole(s *columns) bool {
	for i := range s.all {
		if _, has := g.of(i); !has {
			return false
		}
	}
	return g.at != 0
}

// of is the first of a feature's members that there is.
func (g *group) of(feature int) (place source.Extent, has bool) {
	for _, suffix := range g.features[feature] {
		if place, has = g.member(suffix); has {
			break
		}
	}
	return place, has
}

// tarRecord adds a group to the columns, if there is one.
func (o *Options) tarRecord(ctx context.Context, f *file, t *tarFile, g *group) *errs.Error {
	if g.at == 0 {
		return nil
	}
	for i := 0; f.columns.open && i < len(g.members); i++ {
		if suffix := g.members[i].suffix; f.columns.named(suffix) == nil {
			if _, err := f.columns.begin(suffix); err != nil {
				return err
			}
			g.features = append(g.features, []string{suffix})
		}
	}
	for i, c := range f.columns.all {
		place, has := g.of(i)
		if !has {
			continue
		}
		if err := f.columns.take(33 + 9*(f.records-c.starts.count())); err != nil {
			return err
		}
		label := int64(0)
		if c.name == o.Label {
			var err *errs.Error
			if label, err = t.label(ctx, place); err != nil {
				return err.InColumn(c.name).At(t.w.path).AtOffset(place.Offset)
			}
		}
		c.reach(f.records + 1)
		c.lists(1)
		if c.name == o.Label {
			c.kind = Ints
			c.ints.add(label)
		} else {
			c.kind = Bytes
			c.places.add(place)
		}
	}
	f.records++
	g.at = 0
	g.members = g.members[:0]
	return nil
}

// label is the number that a member's text is.
func (t *tarFile) label(ctx context.Context, place source.Extent) (int64, *errs.Error) {
	if place.Length > mostDigits {
		return 0, tarFail(errs.ErrSchema, "a label of %d bytes is no whole number of 64 bits", place.Length)
	}
	text, wrong := t.bytes(ctx, place.Offset, place.Length, "a label")
	if wrong != nil {
		return 0, wrong
	}
	label, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, tarFail(errs.ErrSchema, "the label %q is no whole number of 64 bits", text)
	}
	return label, nil
}

// member divides a name as webdataset does: the key, and behind the first dot of its last part the suffix. What webdataset
// writes about the file, __name__, has neither. Its pattern does not look for a "/" behind the first line.
func member(name []byte) (key, suffix []byte, ok bool) {
	if bytes.HasPrefix(name, []byte("__")) {
		first, _, within := bytes.Cut(name, []byte("/"))
		if !within {
			first = bytes.TrimSuffix(first, []byte("\n"))
		}
		if len(first) >= 4 && bytes.HasSuffix(first, []byte("__")) {
			return nil, nil, false
		}
	}
	from, dot, within := 0, -1, false
	for i, behind := 0, false; i < len(name); i++ {
		switch c := name[i]; {
		case c > '/': // as most are
		case c == '.' && dot < 0:
			dot = i
		case c == '\n':
			behind = true
		case c == '/' && behind:
			within = within || dot >= 0
		case c == '/':
			from, dot = i+1, -1
		}
	}
	if dot == from && from > 0 { // "a/.jpg" has the key "a/" there
		from = bytes.LastIndexByte(name[:from-1], '/') + 1
		dot = from + bytes.IndexByte(name[from:], '.')
		within = bytes.IndexByte(name[dot:], '/') >= 0
	}
	if dot <= from || within {
		return nil, nil, false
	}
	return name[:dot], lower(name[dot+1:]), true
}

// lower is a suffix in lower case, whose bytes need not be UTF-8. It may be written to.
func lower(suffix []byte) []byte {
	high := byte(0)
	for i, c := range suffix {
		if high |= c; 'A' <= c && c <= 'Z' {
			suffix[i] = c + 'a' - 'A'
		}
	}
	if high >= utf8.RuneSelf && utf8.Valid(suffix) {
		return bytes.ToLower(suffix)
	}
	return suffix
}

func tarFail(kind error, format string, args ...any) *errs.Error {
	e := fail(kind, format, args...)
	e.Op = Tar
	return e
}
