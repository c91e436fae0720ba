package convert

import (
	"context"
	"runtime"
	"slices"
	"strings"

	"github.com/gofast-org/gofast/gofast/internal/crc"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/npy"
)

const (
	featuresName = "features"
	npzAlign     = 64 // of every array's values in the file
)

// array is one member of the file.
type array struct {
	name   string
	head   []byte
	values []byte
}

// writeNPZ writes uncompressed, aligned members, which can be read in place.
func writeNPZ(ctx context.Context, j *job) error {
	arrays, err := j.arrays()
	if err != nil {
		return err
	}
	threads := j.Threads
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	var entries []npy.Entry
	end := int64(0)
	for _, a := range arrays {
		sum, err := crc.Parallel(ctx, threads, int64(len(a.values)),
			func(from, to int64) ([]byte, error) { return a.values[from:to], nil })
		if err != nil {
			return err
		}
		e := npy.Entry{Name: a.name + ".npy", At: end, Payload: int64(len(a.head) + len(a.values))}
		e.PayloadAt = (end + npy.MinLocal(e.Name) + npzAlign - 1) / npzAlign * npzAlign
		e.CRC = crc.Of(a.head).Append(sum, int64(len(a.values))).IEEE
		entries = append(entries, e)
		end = e.PayloadAt + e.Payload
		if _, err := j.file.Part.WriteAt(append(e.Local(), a.head...), e.At); err != nil {
			return err
		}
		at := e.PayloadAt + int64(len(a.head))
		if a.name != featuresName {
			if _, err := j.file.Part.WriteAt(a.values, at); err != nil {
				return err
			}
			continue
		}
		rowBytes := int64(j.Width * j.Type.Size())
		err = j.blocks(ctx, func(from, to int64) error {
			_, err := j.file.Part.WriteAt(j.features(from, to), at+from*rowBytes)
			return err
		})
		if err != nil {
			return err
		}
	}
	_, err = j.file.Part.WriteAt(npy.Directory(entries, end), end)
	return err
}

// arrays are the features and every label column.
func (j *job) arrays() ([]array, error) {
	arrays := []array{{featuresName, npy.Header(npy.Descr(j.Type, j.Bool), j.shape()), j.Features}}
	names := []string{featuresName}
	for i, l := range j.Labels {
		if l.Name == "" || len(l.Name) > 1000 || strings.ContainsAny(l.Name, "/\\\x00") || slices.Contains(names, l.Name) {
			return nil, j.fail(errs.ErrConfig, "the label's name cannot name an array beside %q: rename the column, or write .parquet", names).InColumn(l.Name)
		}
		names = append(names, l.Name)
		values := j.column(i)
		descr, data := npy.Descr(l.Kind.Type(), false), table.Bytes(values)
		if l.Kind == table.TextLabel {
			words := make([]string, len(values))
			for row, id := range values {
				words[row] = l.Classes[id]
			}
			var err error
			if descr, data, err = npy.Words(words); err != nil {
				return nil, j.fail(errs.ErrConfig, "the texts of the label do not fit a numpy array: write .parquet").InColumn(l.Name).Because(err)
			}
		}
		arrays = append(arrays, array{l.Name, npy.Header(descr, []int64{j.Rows}), data})
	}
	return arrays, nil
}
