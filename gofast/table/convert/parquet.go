package convert

import (
	"bufio"
	"context"
	"fmt"
	"reflect"
	"unsafe"

	"github.com/parquet-go/parquet-go"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/table"
)

const (
	// groupRows is the number of rows in a row group. Readers work on groups in
	// parallel. With 785 columns and smaller groups, they would spend their time on
	// metadata.
	groupRows = 64 << 10
	// While a group is written, pageBytes of every column are in memory.
	pageBytes = 64 << 10
)

// column is one Parquet column: its node, and how its values are taken.
type column struct {
	name  string
	node  parquet.Node
	value func(row int64) parquet.Value
}

func writeParquet(ctx context.Context, j *job) error {
	columns, err := j.columns()
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(j.file.Part, writeBuffer)
	w := parquet.NewGenericWriter[any](out, parquet.NewSchema("table", orderedGroup(columns)),
		parquet.Compression(&parquet.Snappy), parquet.PageBufferSize(pageBytes), parquet.CreatedBy("gofast", "", ""))
	values := make([]parquet.Value, 0, blockRows)
	for from := int64(0); from < j.Rows; from += groupRows {
		to := min(from+groupRows, j.Rows)
		for c, writer := range w.ColumnWriters() {
			for at := from; at < to; at += blockRows {
				values = values[:0]
				for row := at; row < min(at+blockRows, to); row++ {
					values = append(values, columns[c].value(row))
				}
				if _, err := writer.WriteRowValues(values); err != nil {
					return err
				}
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if j.Progress != nil {
				j.Progress(from+(to-from)*int64(c+1)/int64(len(columns)), j.Rows)
			}
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return out.Flush()
}

// columns are the labels, then the features.
func (j *job) columns() ([]column, error) {
	var columns []column
	for i, l := range j.Labels {
		columns = append(columns, j.labelColumn(i, l))
	}
	switch per := j.Width / len(j.Names); {
	case per == 1:
		for i, name := range j.Names {
			columns = append(columns, j.featureColumn(i, name))
		}
	case j.Type == table.Uint8 && !j.Bool:
		for i, name := range j.Names {
			columns = append(columns, j.binaryColumn(i, per, name))
		}
	default:
		for i := range j.Width {
			columns = append(columns, j.featureColumn(i, fmt.Sprintf("%s_%d", j.Names[i/per], i%per)))
		}
	}
	if most := (limits.Limits{}).WithDefaults().Columns; int64(len(columns)) > most {
		return nil, j.fail(errs.ErrConfig, "%d columns are more than a reader takes (%d): write .npz", len(columns), most)
	}
	seen := map[string]bool{}
	for _, c := range columns {
		if seen[c.name] {
			return nil, j.fail(errs.ErrSchema, "two columns have the same name").InColumn(c.name)
		}
		seen[c.name] = true
	}
	return columns, nil
}

// dictionary is the encoding for columns that repeat values.
func dictionary(n parquet.Node) parquet.Node { return parquet.Encoded(n, &parquet.RLEDictionary) }

func (j *job) labelColumn(i int, l Label) column {
	values, stride := table.View[int64](j.Values), int64(len(j.Labels))
	at := func(row int64) int64 { return values[row*stride+int64(i)] }
	switch l.Kind {
	case table.FloatLabel:
		return column{l.Name, parquet.Leaf(parquet.DoubleType), func(row int64) parquet.Value { return parquet.DoubleValue(float(at(row))) }}
	case table.TextLabel:
		words := make([]parquet.Value, len(l.Classes))
		for i, w := range l.Classes {
			words[i] = parquet.ByteArrayValue([]byte(w))
		}
		return column{l.Name, dictionary(parquet.String()), func(row int64) parquet.Value { return words[at(row)] }}
	default:
		return column{l.Name, dictionary(parquet.Int(64)), func(row int64) parquet.Value { return parquet.Int64Value(at(row)) }}
	}
}

func (j *job) featureColumn(i int, name string) column {
	data, width := unsafe.Pointer(unsafe.SliceData(j.Features)), int64(j.Width)
	from := func(row int64) unsafe.Pointer { return unsafe.Add(data, (row*width+int64(i))*int64(j.Type.Size())) }
	of := func(node parquet.Node, value func(at unsafe.Pointer) parquet.Value) column {
		return column{name, node, func(row int64) parquet.Value { return value(from(row)) }}
	}
	switch {
	case j.Bool:
		return of(parquet.Leaf(parquet.BooleanType), func(at unsafe.Pointer) parquet.Value { return parquet.BooleanValue(*(*uint8)(at) != 0) })
	case j.Type == table.Uint8:
		return of(dictionary(parquet.Uint(8)), func(at unsafe.Pointer) parquet.Value { return parquet.Int32Value(int32(*(*uint8)(at))) })
	case j.Type == table.Int16:
		return of(dictionary(parquet.Int(16)), func(at unsafe.Pointer) parquet.Value { return parquet.Int32Value(int32(*(*int16)(at))) })
	case j.Type == table.Int32:
		return of(parquet.Int(32), func(at unsafe.Pointer) parquet.Value { return parquet.Int32Value(*(*int32)(at)) })
	case j.Type == table.Int64:
		return of(parquet.Int(64), func(at unsafe.Pointer) parquet.Value { return parquet.Int64Value(*(*int64)(at)) })
	case j.Type == table.Float32:
		return of(parquet.Leaf(parquet.FloatType), func(at unsafe.Pointer) parquet.Value { return parquet.FloatValue(*(*float32)(at)) })
	default:
		return of(parquet.Leaf(parquet.DoubleType), func(at unsafe.Pointer) parquet.Value { return parquet.DoubleValue(*(*float64)(at)) })
	}
}

// binaryColumn stores a picture of n bytes as one column, which reads 2.3 times faster than n columns.
func (j *job) binaryColumn(i, n int, name string) column {
	node := parquet.Leaf(parquet.FixedLenByteArrayType(n))
	return column{name, node, func(row int64) parquet.Value {
		at := int(row)*j.Width + i*n
		return parquet.FixedLenByteArrayValue(j.Features[at : at+n])
	}}
}

// ordered is a parquet.Group that keeps our order; the original sorts its columns by name.
type ordered struct {
	parquet.Group
	fields []parquet.Field
}

func orderedGroup(columns []column) parquet.Node {
	o := ordered{Group: parquet.Group{}}
	for _, c := range columns {
		o.Group[c.name] = c.node
		o.fields = append(o.fields, field{c.node, c.name})
	}
	return o
}

// Fields implements parquet.Node.
func (o ordered) Fields() []parquet.Field { return o.fields }

type field struct {
	parquet.Node
	name string
}

// Name implements parquet.Field.
func (f field) Name() string { return f.name }

// Value implements parquet.Field; only writers of whole Go values would use it.
func (f field) Value(base reflect.Value) reflect.Value { return base.MapIndex(reflect.ValueOf(f.name)) }
