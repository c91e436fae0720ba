package parquet

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/tabletest"
)

// table is a file for tests: columns of values, and how to write them. A nil
// value is a null.
type fileOf struct {
	nodes   map[string]pq.Node // parquet-go orders columns by name
	names   []string           // sorted
	columns [][]any            // per name: nil, bool, int32, int64, float32, float64, string, []byte
	options []pq.WriterOption
	perRows int // rows of a row group, 0 for all
}

func (t *fileOf) add(name string, node pq.Node, values []any) {
	if t.nodes == nil {
		t.nodes = map[string]pq.Node{}
	}
	if len(t.names) > 0 && t.names[len(t.names)-1] >= name {
		panic("names must be added in order")
	}
	t.nodes[name] = node
	t.names, t.columns = append(t.names, name), append(t.columns, values)
}

// bytes writes the file.
func (t *fileOf) bytes(tb testing.TB) []byte {
	tb.Helper()
	schema := pq.NewSchema("t", pq.Group(t.nodes))
	var out bytes.Buffer
	w := pq.NewWriter(&out, append([]pq.WriterOption{schema}, t.options...)...)
	for r := range t.columns[0] {
		var row pq.Row
		for c, values := range t.columns {
			optional := t.nodes[t.names[c]].Optional()
			level := 0
			if optional && values[r] != nil {
				level = 1
			}
			row = append(row, valueOf(values[r]).Level(0, level, c))
		}
		if _, err := w.WriteRows([]pq.Row{row}); err != nil {
			tb.Fatal(err)
		}
		if t.perRows > 0 && (r+1)%t.perRows == 0 {
			if err := w.Flush(); err != nil {
				tb.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func valueOf(v any) pq.Value {
	if b, ok := v.([]byte); ok {
		return pq.FixedLenByteArrayValue(b)
	}
	return pq.ValueOf(v)
}

// open opens content as a file.
func open(tb testing.TB, content []byte, opts table.Options) (table.Reader, error) {
	tb.Helper()
	f := tabletest.File(tb, content)
	r, err := Open(f, opts)
	if err != nil {
		f.Close()
		return nil, err
	}
	tb.Cleanup(func() { r.Close() })
	return r, nil
}

// all selects every column as a feature.
func all(r table.Reader) table.Selection {
	var sel table.Selection
	for i := range r.Columns() {
		sel.Features = append(sel.Features, i)
	}
	return sel
}

// values draws n values of a kind; every tenth is nil where nulls is set.
func draw(rng *rand.Rand, kind string, n int, nulls bool) []any {
	out := make([]any, n)
	for i := range out {
		if nulls && rng.IntN(10) == 0 {
			continue
		}
		switch kind {
		case "bool":
			out[i] = rng.IntN(2) == 1
		case "byte32":
			out[i] = int32(rng.IntN(256))
		case "byte64":
			out[i] = int64(rng.IntN(256))
		case "short32":
			out[i] = int32(int16(rng.Uint32()))
		case "int32":
			out[i] = int32(rng.Uint32())
		case "int64":
			out[i] = int64(rng.Uint64())
		case "few":
			out[i] = int64(rng.IntN(5)) * 60
		case "float":
			out[i] = float32(rng.NormFloat64())
		case "double":
			out[i] = rng.NormFloat64()
		case "infinite":
			out[i] = []float64{math.Inf(1), math.Inf(-1), 0.5, math.Copysign(0, -1)}[rng.IntN(4)]
		}
	}
	return out
}

var codecs = map[string]compress.Codec{
	"none": &pq.Uncompressed, "snappy": &pq.Snappy, "gzip": &pq.Gzip, "zstd": &pq.Zstd, "brotli": &pq.Brotli, "lz4": &pq.Lz4Raw,
}

func encoded(node pq.Node, encoding string) pq.Node {
	switch encoding {
	case "dict":
		return pq.Encoded(node, &pq.RLEDictionary)
	case "delta":
		return pq.Encoded(node, &pq.DeltaBinaryPacked)
	case "split":
		return pq.Encoded(node, &pq.ByteStreamSplit)
	case "rle":
		return pq.Encoded(node, &pq.RLE)
	default:
		return pq.Encoded(node, &pq.Plain)
	}
}
