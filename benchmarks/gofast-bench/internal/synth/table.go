package synth

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/parquet-go/parquet-go"
)

// makeTable makes a file of bytes, as of pictures in grey, with a label.
func makeTable(ctx context.Context, path string, o Options) (*Made, error) {
	content := map[string]func(context.Context, io.Writer, Options) error{CSV: writeCSV, NPY: writeNPY, Parquet: writeParquet}[o.Kind]
	if err := write(path, o.Force, func(w io.Writer) error { return content(ctx, w, o) }); err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	return &Made{Files: 1, Bytes: info.Size(), Broken: []Broken{}}, nil
}

// row is the label and the features of a row.
func (o *Options) row(index int64, to []byte) (label int) {
	r := o.source(index)
	for i := range to {
		to[i] = byte(r.Uint32())
	}
	return int(index % int64(o.Classes))
}

// askEvery is after how many rows the context is asked.
const askEvery = 64

// rows calls each for every row.
func (o *Options) rows(ctx context.Context, each func(label int, features []byte) error) error {
	features := make([]byte, o.Columns)
	for i := range o.Count {
		if i%askEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := each(o.row(i, features), features); err != nil {
			return err
		}
	}
	return nil
}

func writeCSV(ctx context.Context, w io.Writer, o Options) error {
	line := []byte("label")
	for i := range o.Columns {
		line = fmt.Appendf(line, ",f%d", i)
	}
	if _, err := w.Write(append(line, '\n')); err != nil {
		return err
	}
	return o.rows(ctx, func(label int, features []byte) error {
		line = strconv.AppendInt(line[:0], int64(label), 10)
		for _, v := range features {
			line = strconv.AppendUint(append(line, ','), uint64(v), 10)
		}
		_, err := w.Write(append(line, '\n'))
		return err
	})
}

// writeNPY writes the features only, as numpy's format 1.0 of uint8 does: its header is a
// multiple of 64 bytes.
func writeNPY(ctx context.Context, w io.Writer, o Options) error {
	header := fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': (%d, %d), }", o.Count, o.Columns)
	for (10+len(header)+1)%64 != 0 {
		header += " "
	}
	head := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)+1), byte((len(header)+1)>>8))
	if _, err := w.Write(append(append(head, header...), '\n')); err != nil {
		return err
	}
	return o.rows(ctx, func(_ int, features []byte) error {
		_, err := w.Write(features)
		return err
	})
}

// groupCells are those of a row group.
const groupCells = 1 << 26

func writeParquet(ctx context.Context, w io.Writer, o Options) error {
	group := parquet.Group{"label": parquet.Int(32)}
	for i := range o.Columns {
		group[fmt.Sprintf("f%d", i)] = parquet.Uint(8)
	}
	schema := parquet.NewSchema("rows", group)
	place := make([]int, o.Columns+1) // of the label and of each feature among the columns, which are sorted
	for i, path := range schema.Columns() {
		if path[0] == "label" {
			place[0] = i
		} else if n, err := strconv.Atoi(path[0][1:]); err == nil {
			place[n+1] = i
		}
	}
	// A row group stays in memory until it is complete.
	out := parquet.NewWriter(w, schema, parquet.Compression(&parquet.Snappy), parquet.MaxRowsPerRowGroup(max(1, groupCells/int64(o.Columns))))
	values := make(parquet.Row, o.Columns+1)
	err := o.rows(ctx, func(label int, features []byte) error {
		values[place[0]] = parquet.Int32Value(int32(label)).Level(0, 0, place[0])
		for i, v := range features {
			values[place[i+1]] = parquet.Int32Value(int32(v)).Level(0, 0, place[i+1])
		}
		_, err := out.WriteRows([]parquet.Row{values})
		return err
	})
	if err != nil {
		return err // closing would write all that is in memory
	}
	return out.Close()
}
