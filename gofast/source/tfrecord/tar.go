package tfrecord

import (
	"archive/tar"
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/source"
)

// Tar is the form of WebDataset's shards. Neighbours with one key are a record, and their suffixes are its features.
const Tar = "tar"

const mostDigits = 64 // of a label, spaces counted

// group is the record that is being read: where the members lie that were asked for.
type group struct {
	key     string
	at      int64 // its first member's data
	members map[string]source.Extent
}

// tarColumns reads a tar file's headers, and fills the columns. A feature such as "jpg;png" is the first of these that a
// record has.
func (o *Options) tarColumns(ctx context.Context, f *file) error {
	size := f.object.Stamp().Size
	at := io.NewSectionReader(objectReader{ctx, f.object}, 0, size)
	asked := map[string]bool{}
	for _, c := range f.columns.all {
		for suffix := range strings.SplitSeq(c.name, ";") {
			asked[suffix] = true
		}
	}
	g := group{members: map[string]source.Extent{}}
	r, before := tar.NewReader(at), int64(0)
	for number := int64(0); ; number++ {
		header, err := r.Next()
		offset, _ := at.Seek(0, io.SeekCurrent)
		switch {
		case err == io.EOF && number == 0 && size == 0:
			return tarFail(errs.ErrDamaged, "the file is empty").At(f.object.Path()).AtOffset(0)
		case err == io.EOF:
			return o.tarRecord(ctx, f, &g)
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return tarFail(errs.ErrDamaged, "no whole header of a member behind byte %d", before).Because(err).At(f.object.Path()).AtOffset(offset)
		}
		before = offset
		if header.Typeflag == tar.TypeGNUSparse || sparse(header) {
			return tarFail(errs.ErrUnsupported, "the member %.200q is sparse", header.Name).At(f.object.Path()).AtOffset(offset)
		}
		if header.Typeflag != tar.TypeReg && header.Typeflag != tar.TypeCont {
			continue
		}
		if header.Size < 0 || header.Size > size-offset {
			return tarFail(errs.ErrDamaged, "the member %.200q has %d bytes, and the file ends after %d", header.Name, header.Size, size-offset).
				At(f.object.Path()).AtOffset(offset)
		}
		key, suffix, ok := member(header.Name)
		if !ok {
			continue
		}
		if key != g.key || g.at == 0 {
			if err := o.tarRecord(ctx, f, &g); err != nil {
				return err
			}
			g.key, g.at = key, offset
		}
		if f.records == 0 && len(f.first) < 100 {
			f.first = append(f.first, suffix)
		}
		if !asked[suffix] {
			continue
		}
		if _, twice := g.members[suffix]; twice {
			return tarFail(errs.ErrDamaged, "a record has two members %.200q", header.Name).At(f.object.Path()).AtOffset(offset)
		}
		g.members[suffix] = source.Extent{Object: f.columns.object, Offset: offset, Length: header.Size}
	}
}

// tarRecord adds a group to the columns, if there is one.
func (o *Options) tarRecord(ctx context.Context, f *file, g *group) error {
	if g.at == 0 {
		return nil
	}
	for _, c := range f.columns.all {
		for suffix := range strings.SplitSeq(c.name, ";") {
			place, has := g.members[suffix]
			if !has {
				continue
			}
			if err := f.columns.take(33 + 9*(f.records-c.starts.count())); err != nil {
				return err
			}
			c.reach(f.records + 1)
			c.lists(1)
			if c.name != o.Label {
				c.kind = Bytes
				c.places.add(place)
				break
			}
			label, err := tarLabel(ctx, f.object, place)
			if err != nil {
				return err.InColumn(c.name).At(f.object.Path()).AtOffset(place.Offset)
			}
			c.kind = Ints
			c.ints.add(label)
			break
		}
	}
	f.records++
	g.at = 0
	clear(g.members)
	return nil
}

// tarLabel is the number that a member's text is.
func tarLabel(ctx context.Context, object source.Object, place source.Extent) (int64, *errs.Error) {
	if place.Length > mostDigits {
		return 0, tarFail(errs.ErrSchema, "a label of %d bytes is no whole number of 64 bits", place.Length)
	}
	text := make([]byte, place.Length)
	if n, err := object.ReadAt(ctx, text, place.Offset); n < len(text) {
		return 0, unread(err)
	}
	label, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, tarFail(errs.ErrSchema, "the label %q is no whole number of 64 bits", text)
	}
	return label, nil
}

// member divides a name as webdataset does: the key, and behind the first dot of its last part the suffix.
func member(name string) (key, suffix string, ok bool) {
	from := strings.LastIndexByte(name, '/') + 1
	if from == 0 && strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__") {
		return "", "", false // what webdataset writes about the file
	}
	dot := strings.IndexByte(name[from:], '.')
	if dot == 0 && from > 0 { // "a/.jpg" has the key "a/" there
		folder := name[:from-1]
		if strings.Contains(folder[strings.LastIndexByte(folder, '/')+1:], ".") {
			return "", "", false
		}
	} else if dot <= 0 {
		return "", "", false
	}
	return name[:from+dot], strings.ToLower(name[from+dot+1:]), true
}

func sparse(header *tar.Header) bool {
	for key := range header.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

func tarFail(kind error, format string, args ...any) *errs.Error {
	e := fail(kind, format, args...)
	e.Op = Tar
	return e
}

// objectReader reads an object where io wants an io.ReaderAt.
type objectReader struct {
	ctx    context.Context
	object source.Object
}

func (r objectReader) ReadAt(p []byte, at int64) (int, error) {
	if r.ctx.Err() != nil {
		return 0, r.ctx.Err()
	}
	return r.object.ReadAt(r.ctx, p, at)
}
