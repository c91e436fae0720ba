package convert

import (
	"bufio"
	"context"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/npy"
)

// writeBuffer makes system calls rare.
const writeBuffer = 1 << 20

// writeNPY writes one array: labels first, then features.
func writeNPY(ctx context.Context, j *job) error {
	t, err := j.common()
	if err != nil {
		return err
	}
	shape, rows := j.shape(), j.features
	if len(j.Labels) > 0 {
		shape = []int64{j.Rows, int64(len(j.Labels) + j.Width)}
		rows = func(from, to int64) []byte { return j.together(t, from, to) }
	}
	out := bufio.NewWriterSize(j.file.Part, writeBuffer)
	if _, err := out.Write(npy.Header(npy.Descr(t, j.Bool && len(j.Labels) == 0), shape)); err != nil {
		return err
	}
	err = j.blocks(ctx, func(from, to int64) error {
		_, err := out.Write(rows(from, to))
		return err
	})
	if err != nil {
		return err
	}
	return out.Flush()
}

// common is the type that holds features and labels exactly.
func (j *job) common() (table.Type, error) {
	if len(j.Labels) == 0 {
		return j.Type, nil
	}
	var seen table.Range
	for i, l := range j.Labels {
		if l.Kind == table.TextLabel {
			return table.Invalid, j.fail(errs.ErrConfig, "the label is text, an .npy file holds numbers: write .npz or .parquet").InColumn(l.Name)
		}
		for _, v := range j.label(i) {
			if l.Kind == table.FloatLabel {
				seen.Real(float(v))
			} else {
				seen.Int(v)
			}
		}
	}
	j.rangeOfFeatures(&seen)
	t, err := seen.Type()
	if err != nil {
		return table.Invalid, j.fail(errs.ErrConfig,
			"no type holds these features and labels exactly in one array: write .npz or .parquet, where each has its own").Because(err)
	}
	return t, nil
}

// rangeOfFeatures adds the features to seen. It looks at each integer, because a wide
// type may hold small values.
func (j *job) rangeOfFeatures(seen *table.Range) {
	if j.Type >= table.Float32 {
		seen.Float = true
		seen.Wide = seen.Wide || j.Type == table.Float64
		return
	}
	table.CellsOf(j.Type).Note(j.Features, seen)
}

// together is some rows with their labels in front, all of type t, which holds every value.
func (j *job) together(t table.Type, from, to int64) []byte {
	size, labels := t.Size(), len(j.Labels)
	rowBytes := (labels + j.Width) * size
	out := make([]byte, int(to-from)*rowBytes)
	convert := table.CellsOf(j.Type).To(t)
	for row := from; row < to; row++ {
		into := out[int(row-from)*rowBytes:][:rowBytes]
		for i, l := range j.Labels {
			value := j.Values[(row*int64(labels)+int64(i))*8:][:8]
			table.CellsOf(l.Kind.Type()).To(t)(into[i*size:(i+1)*size], value)
		}
		convert(into[labels*size:], j.features(row, row+1))
	}
	return out
}
