package parquet

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/tabletest"
)

var codecs = map[string]compress.Codec{
	"none": &pq.Uncompressed, "snappy": &pq.Snappy, "gzip": &pq.Gzip, "zstd": &pq.Zstd, "brotli": &pq.Brotli, "lz4": &pq.Lz4Raw,
}

// numberCases are the kinds of draw with the encodings they can be written in.
var numberCases = []struct {
	kind      string
	node      func() pq.Node
	encodings []string
}{
	{"bool", func() pq.Node { return pq.Leaf(pq.BooleanType) }, []string{"plain", "rle"}},
	{"byte32", func() pq.Node { return pq.Leaf(pq.Int32Type) }, []string{"plain", "dict", "delta", "split"}},
	{"byte64", func() pq.Node { return pq.Leaf(pq.Int64Type) }, []string{"plain", "dict", "delta", "split"}},
	{"short32", func() pq.Node { return pq.Int(16) }, []string{"plain", "dict", "delta", "split"}},
	{"int32", func() pq.Node { return pq.Leaf(pq.Int32Type) }, []string{"plain", "dict", "delta", "split"}},
	{"int64", func() pq.Node { return pq.Leaf(pq.Int64Type) }, []string{"plain", "dict", "delta", "split"}},
	{"few", func() pq.Node { return pq.Leaf(pq.Int64Type) }, []string{"dict", "delta"}},
	{"float", func() pq.Node { return pq.Leaf(pq.FloatType) }, []string{"plain", "dict", "split"}},
	{"double", func() pq.Node { return pq.Leaf(pq.DoubleType) }, []string{"plain", "dict", "split"}},
	{"infinite", func() pq.Node { return pq.Leaf(pq.DoubleType) }, []string{"plain", "dict", "split"}},
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

// TestNumbers writes every kind in every encoding and codec, required and
// optional, in both page versions and several page and row group sizes. The last
// two take turns: each encoding of a kind is written in all of them, with each
// codec in one (in all with GOFAST_SOAK=1: parquet-go writes the files, which takes 20 s more).
func TestNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	fill := 7.0
	soak := os.Getenv("GOFAST_SOAK") != ""
	for kind, c := range numberCases {
		for place, encoding := range c.encodings {
			for turn, codec := range slices.Sorted(maps.Keys(codecs)) {
				for variant := range 4 {
					if !soak && variant != (kind+place+turn)%4 {
						continue
					}
					// parquet-go writes the files: ten times slower under the race detector.
					if testing.Short() && rng.IntN(4) > 0 {
						continue
					}
					optional, version := variant&1 == 1, 1+variant>>1
					name := fmt.Sprintf("%s/%s/%s/optional=%v/v%d", c.kind, encoding, codec, optional, version)
					t.Run(name, func(t *testing.T) {
						tab := fileOf{perRows: []int{0, 300, 1000}[rng.IntN(3)]}
						for i := range 3 {
							node := encoded(c.node(), encoding)
							if optional {
								node = pq.Optional(node)
							}
							// The second optional column has no nulls.
							tab.add(fmt.Sprint("c", i), pq.Compressed(node, codecs[codec]), draw(rng, c.kind, 1000, optional && i != 1))
						}
						tab.options = []pq.WriterOption{pq.DataPageVersion(version), pq.PageBufferSize([]int{64, 1000, 1 << 20}[rng.IntN(3)])}
						tab.check(t, tab.bytes(t), &fill)
					})
				}
			}
		}
	}
}

// TestWide has more columns than a tile's job, in many small and a few large row
// groups, so that tiles span groups and groups span tiles.
func TestWide(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, perRows := range []int{0, 7, 100} {
		for _, kind := range []string{"byte64", "short32", "float"} {
			tab := fileOf{perRows: perRows}
			for c := range 150 {
				node := map[string]pq.Node{"byte64": pq.Leaf(pq.Int64Type), "short32": pq.Leaf(pq.Int32Type), "float": pq.Leaf(pq.FloatType)}[kind]
				tab.add(fmt.Sprintf("c%03d", c), pq.Encoded(node, &pq.RLEDictionary), draw(rng, kind, 333, false))
			}
			tab.check(t, tab.bytes(t), nil)
		}
	}
}

// TestTilesAreCut decodes more rows than a tile of all columns may have.
func TestTilesAreCut(t *testing.T) {
	if testing.Short() {
		t.Skip("24 million cells")
	}
	const rows, columns = 600_000, 40
	rng := rand.New(rand.NewPCG(3, 3))
	schema := pq.Group{}
	for c := range columns {
		schema[fmt.Sprintf("c%02d", c)] = pq.Encoded(pq.Leaf(pq.Int32Type), &pq.RLEDictionary)
	}
	var out bytes.Buffer
	w := pq.NewWriter(&out, pq.NewSchema("t", schema), pq.DataPageStatistics(false))
	want := make([]byte, columns*64)
	for i := range want {
		want[i] = byte(rng.Uint32())
	}
	batch := make([]pq.Row, 64)
	for r := range batch {
		for c := range columns {
			batch[r] = append(batch[r], pq.Int32Value(int32(want[r*columns+c])).Level(0, 0, c))
		}
	}
	for range rows / 64 {
		if _, err := w.WriteRows(batch); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := open(t, out.Bytes(), table.Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	columnsOf, err := r.(*Reader).use(all(r).Features, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	if tiles, _ := r.(*Reader).plan(columnsOf, nil, 1, tileBytes); len(tiles) < 2 {
		t.Fatalf("%d bytes in %d tile", rows*columns, len(tiles))
	}
	d, err := tabletest.Decode(t.Context(), r, all(r), nil, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < int(d.Rows)*columns; i += len(want) {
		if !bytes.Equal(d.Features[i:i+len(want)], want) {
			t.Fatalf("rows from %d differ", i/columns)
		}
	}
}
