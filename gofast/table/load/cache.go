package load

import (
	"context"

	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/cache"
)

// Building is a cache whose table is decoded. Its owner finishes it, with what he made of the texts, and closes it;
// until then other processes that need it wait.
type Building struct {
	Kept Kept // the texts; whoever takes them owns the descriptor

	folder  *cache.Folder
	writer  *cache.Writer
	rounded bool
	meta    cache.Meta
}

// BeginCache decodes the files into a cache at path, a folder. nil: a cache with the same fingerprint is there. The table lies
// in its files' pages, so it may be larger than memory; its texts do not.
// fingerprint stands for the state of the sources and all options that shape the
// table; a cache with another fingerprint is replaced. force replaces any cache; it
// is for callers that found the cache damaged themselves.
func BeginCache(ctx context.Context, paths []string, options Options, path, fingerprint string, force bool) (begun *Building, err error) {
	folder, err := cache.Begin(ctx, path, force, fingerprint, rounded(fingerprint, options.Rounds))
	if folder == nil || err != nil {
		return nil, err
	}
	b := &Building{folder: folder}
	defer func() {
		if begun == nil {
			b.Close()
		}
	}()
	if err := b.decode(ctx, paths, options); err != nil {
		return nil, err
	}
	b.meta.Fingerprint = fingerprint
	if b.rounded {
		b.meta.Fingerprint = rounded(fingerprint, options.Rounds)
	}
	return b, nil
}

// rounded is the fingerprint of a table whose integers were rounded, which is for no other type than this.
// python/gofast/_tables/cache.py has the same.
func rounded(fingerprint, rounds string) string { return fingerprint + " rounded to " + rounds }

func (b *Building) decode(ctx context.Context, paths []string, options Options) error {
	o, err := open(ctx, paths, options)
	if err != nil {
		return err
	}
	defer o.close()
	if !o.exact {
		// Blocks are allocated for the bound. The disk must not seem full because
		// of rows that a CSV file could have but does not have.
		if err := o.count(ctx); err != nil {
			return err
		}
	}
	err = o.decode(ctx, func(t table.Type) (memory, error) {
		w, err := b.folder.Create(cache.Bound{Rows: o.bound, Width: o.schema.Width, Type: t, Labels: len(o.kinds)})
		if err != nil {
			return memory{}, err
		}
		b.writer = w
		return memory{w.Features, w.Labels, w.Abort}, nil
	})
	if err == nil {
		b.meta, b.rounded = o.cacheMeta(), o.rounded
		b.Kept, err = o.keep()
	}
	return err
}

// Finish writes the cache, with what was made of each column of texts.
func (b *Building) Finish(ctx context.Context, texts []cache.Text) error {
	b.meta.Texts = texts
	return b.writer.Finish(ctx, b.meta)
}

// Close lets others build it, if it was not finished.
func (b *Building) Close() {
	if b.writer != nil {
		b.writer.Abort()
	}
	b.folder.Release()
}

func (o *opened) cacheMeta() cache.Meta {
	meta := cache.Meta{Rows: o.schema.Rows, Shape: o.schema.Shape, Bool: o.schema.Bool, Names: o.schema.Features, Dropped: o.schema.Dropped}
	for i, name := range o.schema.Labels {
		label := cache.Label{Name: name, Kind: o.kinds[i]}
		if label.Kind == table.TextLabel && !o.classes.positional() {
			label.Kind = table.IntLabel // a cache that is opened by its own path does not have these numbers
		}
		if label.Kind == table.TextLabel {
			label.Classes = o.schema.Classes
		}
		meta.Labels = append(meta.Labels, label)
	}
	return meta
}
