package convert

import (
	"archive/zip"
	"bufio"
	"context"
	"slices"
	"strings"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/npy"
)

const featuresName = "features"

// array is one member of the file.
type array struct {
	name   string
	head   []byte
	values []byte
}

// writeNPZ writes uncompressed members, as numpy.savez does.
func writeNPZ(ctx context.Context, j *job) error {
	arrays, err := j.arrays()
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(j.file.Part, writeBuffer)
	archive := zip.NewWriter(out)
	for _, a := range arrays {
		member, err := archive.CreateHeader(&zip.FileHeader{Name: a.name + ".npy", Method: zip.Store})
		if err != nil {
			return err
		}
		if _, err := member.Write(a.head); err != nil {
			return err
		}
		if a.name == featuresName {
			err = j.blocks(ctx, func(from, to int64) error {
				_, err := member.Write(j.features(from, to))
				return err
			})
		} else {
			_, err = member.Write(a.values)
		}
		if err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return out.Flush()
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
