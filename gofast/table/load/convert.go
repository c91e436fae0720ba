package load

import (
	"context"

	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/convert"
)

// Convert decodes the files and writes the table to path, as npy, npz or
// parquet by the name's ending. Progress counts reading and writing as halves.
func Convert(ctx context.Context, paths []string, options Options, path string) error {
	if _, err := convert.FormatOf(path); err != nil {
		return err // fail before the table is read
	}
	report := options.Progress
	half := func(second bool) func(done, total int64) {
		return func(done, total int64) {
			if report == nil || total == 0 {
				return
			}
			if second {
				done += total
			}
			report(done, 2*total)
		}
	}
	options.Progress = half(false)
	region, schema, err := Map(ctx, paths, options)
	if err != nil {
		return err
	}
	defer region.Close()
	data := region.Bytes()
	t := convert.Table{
		Rows: schema.Rows, Width: schema.Width, Type: schema.Type, Bool: schema.Bool, Shape: schema.Shape, Names: schema.Features,
	}
	rowBytes := int64(t.Width * t.Type.Size())
	t.Features = data[schema.FeaturesOffset:][:t.Rows*rowBytes]
	t.Values = data[schema.LabelsOffset:][:t.Rows*int64(len(schema.Labels))*8]
	for i, name := range schema.Labels {
		label := convert.Label{Name: name}
		switch schema.LabelKinds[i] {
		case LabelFloat:
			label.Kind = table.FloatLabel
		case LabelText:
			label.Kind, label.Classes = table.TextLabel, schema.Classes
		}
		t.Labels = append(t.Labels, label)
	}
	return convert.Write(ctx, t, path, convert.Options{Progress: half(true)})
}
