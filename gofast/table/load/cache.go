package load

import (
	"context"

	"github.com/gofast-org/gofast/gofast/internal/atomicfile"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/cache"
)

// BuildCache decodes the files into the cache file at path, unless a cache with the
// same fingerprint exists already. If several processes build it, one builds and the
// others wait. The table lies in the file's pages, so it may be larger than memory.
// fingerprint stands for the state of the sources and all options that shape the
// table; a cache with another fingerprint is replaced. force replaces any cache; it
// is for callers that found the cache damaged themselves.
func BuildCache(ctx context.Context, paths []string, options Options, path, fingerprint string, force bool) error {
	if err := options.withoutTexts(); err != nil {
		return err
	}
	return cache.Build(ctx, path, fingerprint, force, func(file *atomicfile.File) error {
		return buildCache(ctx, file, paths, options, fingerprint)
	})
}

func buildCache(ctx context.Context, file *atomicfile.File, paths []string, options Options, fingerprint string) error {
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
	var w *cache.Writer
	err = o.decode(ctx, func(t table.Type) (memory, error) {
		w, err = cache.Create(file, cache.Bound{Rows: o.bound, Width: o.schema.Width, Type: t, Labels: len(o.kinds)})
		if err != nil {
			return memory{}, err
		}
		return memory{w.Features, w.Labels, w.Abort}, nil
	})
	if err != nil {
		return err
	}
	return w.Finish(ctx, o.cacheMeta(fingerprint))
}

func (o *opened) cacheMeta(fingerprint string) cache.Meta {
	meta := cache.Meta{Fingerprint: fingerprint, Rows: o.schema.Rows, Shape: o.schema.Shape, Bool: o.schema.Bool, Names: o.schema.Features, Dropped: o.schema.Dropped}
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

// VerifyCache reads the whole cache at path and compares its checksums.
func VerifyCache(ctx context.Context, path string) error { return cache.Verify(ctx, path) }
