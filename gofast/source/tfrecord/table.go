package tfrecord

import (
	"context"

	"github.com/gofast-org/gofast/gofast/source"
)

// Table is the form of Parquet and Arrow files. A row is a record, and its only feature is a column of binaries, which lie where
// Options.Find says.
const Table = "table"

// tableColumns fills the column.
func (o *Options) tableColumns(ctx context.Context, f *file) (err error) {
	c := f.columns.all[0]
	f.features, err = o.Find(ctx, f.object.Path(), c.name, func(value *source.Extent) error {
		if err := f.columns.take(33); err != nil {
			return err
		}
		f.records++
		c.reach(f.records)
		if value != nil {
			c.kind = Bytes
			c.lists(1)
			value.Object = f.columns.object
			c.places.add(*value)
		}
		return nil
	})
	return err
}
