package tfrecord

import (
	"context"
	"errors"
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
	key     string
	at      int64                    // its first member's data
	members map[string]source.Extent // by suffix, also those that nobody asked for: none may come twice
}

// tarColumns reads a tar file's headers, and fills the columns. A feature such as "jpg;png" is the first of these that a
// record has.
func (o *Options) tarColumns(ctx context.Context, f *file) error {
	t := tarFile{w: window{path: f.object.Path(), size: f.object.Stamp().Size}}
	held, err := source.Held(ctx, f.object)
	if err != nil {
		return err
	}
	defer held.Close()
	t.w.file = held
	asked := map[string]bool{}
	for _, c := range f.columns.all {
		for suffix := range strings.SplitSeq(c.name, ";") {
			asked[suffix] = true
		}
	}
	g := group{members: map[string]source.Extent{}}
	for wrong := (*errs.Error)(nil); ; {
		m, err := t.next(ctx)
		if err == nil && m != nil {
			err = o.tarMember(ctx, f, &t, &g, asked, m)
		}
		if wrong = err; wrong == nil && m == nil {
			wrong = o.tarRecord(ctx, f, &t, &g)
		} else if wrong == nil {
			continue
		}
		if wrong != nil && o.Partial && errors.Is(wrong, errs.ErrDamaged) {
			f.damage = wrong.Error()
			if wrong = nil; g.whole(f.columns) {
				wrong = o.tarRecord(ctx, f, &t, &g)
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
	if m.name == tarFeatures && !m.sparse {
		if m.size > mostFeatures {
			return t.fail(errs.ErrLimit, m.at, "the member %s has %d bytes: at most %d say what features are", m.name, m.size, mostFeatures)
		}
		text, err := t.bytes(ctx, m.at, m.size, m.name)
		f.features = string(text)
		return err
	}
	key, suffix, ok := member(m.name)
	if !ok {
		return nil
	}
	if key != g.key || g.at == 0 {
		if err := o.tarRecord(ctx, f, t, g); err != nil {
			return err
		}
		g.key, g.at = key, m.at
	}
	if f.records == 0 && len(f.first) < 100 {
		f.first = append(f.first, suffix)
	}
	if m.sparse && asked[suffix] {
		return t.fail(errs.ErrUnsupported, m.at, "the member %.200q is sparse", m.name)
	}
	if _, twice := g.members[suffix]; twice || suffix == "__key__" || suffix == "__url__" {
		return t.fail(errs.ErrDamaged, m.at, "a record has two members %.200q", m.name)
	}
	if len(g.members) == mostColumns {
		return t.fail(errs.ErrLimit, m.at, "a record has more than %d members", mostColumns)
	}
	g.members[suffix] = source.Extent{Object: f.columns.object, Offset: m.at, Length: m.size}
	return nil
}

// whole says whether a group has all features.
func (g *group) whole(s *columns) bool {
	for _, c := range s.all {
		if _, has := g.of(c.name); !has {
			return false
		}
	}
	return g.at != 0
}

// of is the first of a feature's members that there is.
func (g *group) of(feature string) (place source.Extent, has bool) {
	for suffix := range strings.SplitSeq(feature, ";") {
		if place, has = g.members[suffix]; has {
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
	for _, c := range f.columns.all {
		place, has := g.of(c.name)
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
	clear(g.members)
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
func member(name string) (key, suffix string, ok bool) {
	first, _, within := strings.Cut(name, "/")
	if !within {
		first = strings.TrimSuffix(first, "\n")
	}
	if len(first) >= 4 && strings.HasPrefix(first, "__") && strings.HasSuffix(first, "__") {
		return "", "", false
	}
	line, _, _ := strings.Cut(name, "\n")
	from := strings.LastIndexByte(line, '/') + 1
	dot := strings.IndexByte(name[from:], '.')
	if dot == 0 && from > 0 { // "a/.jpg" has the key "a/" there
		before := strings.LastIndexByte(name[:from-1], '/') + 1
		from, dot = before, strings.IndexByte(name[before:], '.')
	}
	if dot <= 0 || strings.IndexByte(name[from+dot:], '/') >= 0 {
		return "", "", false
	}
	return name[:from+dot], lower(name[from+dot+1:]), true
}

// lower is a suffix in lower case, whose bytes need not be UTF-8.
func lower(suffix string) string {
	if utf8.ValidString(suffix) {
		return strings.ToLower(suffix)
	}
	made := []byte(suffix)
	for i, c := range made {
		if 'A' <= c && c <= 'Z' {
			made[i] = c + 'a' - 'A'
		}
	}
	return string(made)
}

func tarFail(kind error, format string, args ...any) *errs.Error {
	e := fail(kind, format, args...)
	e.Op = Tar
	return e
}
