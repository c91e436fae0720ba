package parquet

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"

	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/tabletest"
)

var everyUnit = []table.Unit{table.Day, table.Hour, table.Minute, table.Second, table.Millisecond, table.Microsecond, table.Nanosecond}

// timeFile has a column of every kind of time, in several encodings, and one of text.
func timeFile(tb testing.TB, rows int) (content []byte, ticks []table.Unit, stored [][]any) {
	rng := rand.New(rand.NewPCG(4, 2))
	tab := fileOf{perRows: 60, options: []pq.WriterOption{pq.PageBufferSize(64), pq.DataPageStatistics(false)}}
	for i, c := range []struct {
		node     pq.Node
		encoding string
		tick     table.Unit
		within   int64 // ticks since 1970, at most
	}{
		{pq.Date(), "plain", table.Day, 100_000},
		{pq.Timestamp(pq.Millisecond), "dict", table.Millisecond, 4e12},
		{pq.TimestampAdjusted(pq.Microsecond, false), "delta", table.Microsecond, 4e15},
		{pq.Timestamp(pq.Nanosecond), "plain", table.Nanosecond, 4e18},
		{pq.Time(pq.Millisecond), "delta", table.Millisecond, 86_400_000},
		{pq.Time(pq.Nanosecond), "split", table.Nanosecond, 86_400_000_000_000},
		{pq.Leaf(pq.Int96Type), "plain", table.Nanosecond, 4e18},
	} {
		node := encoded(c.node, c.encoding)
		if i%2 == 1 {
			node = pq.Optional(node)
		}
		var values []any
		for r := range rows {
			v := rng.Int64N(2*c.within) - c.within
			switch {
			case i%2 == 1 && r%5 == 3:
				values = append(values, nil)
			case c.node.Type().Kind() == pq.Int32:
				values = append(values, int32(v))
			case c.node.Type().Kind() == pq.Int96:
				values = append(values, int96(v))
			default:
				values = append(values, v)
			}
		}
		tab.add(fmt.Sprint("c", i), node, values)
		ticks, stored = append(ticks, c.tick), append(stored, values)
	}
	var words []any
	for r := range rows {
		words = append(words, []string{"red", "green", "blue"}[r%3])
	}
	tab.add("word", pq.Optional(encoded(pq.String(), "dict")), words)
	return tab.bytes(tb), ticks, stored
}

func int96(nanoseconds int64) deprecated.Int96 {
	day, rest := nanoseconds/int64(table.Day), nanoseconds%int64(table.Day)
	if rest < 0 {
		day, rest = day-1, rest+int64(table.Day)
	}
	return deprecated.Int96{uint32(rest), uint32(rest >> 32), uint32(day + julian1970)}
}

// TestTimes compares with big integers, for every kind of time and every unit.
func TestTimes(t *testing.T) {
	content, ticks, stored := timeFile(t, 100)
	r := mustOpen(t, content)
	fill := -7.0
	for i, tick := range ticks {
		for _, unit := range everyUnit {
			sel := table.Selection{Features: []int{i}, Fill: &fill, Codings: map[int]table.Coding{i: {Unit: unit}}}
			if err := r.(table.Coder).CheckCoding(i, sel.Codings[i]); err != nil {
				t.Fatal(err)
			}
			d, err := tabletest.Decode(t.Context(), r, sel, nil, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			for row, v := range stored[i] {
				want := big.NewInt(-7)
				if v != nil {
					want = new(big.Int)
					switch v := v.(type) {
					case int32:
						want.SetInt64(int64(v))
					case int64:
						want.SetInt64(v)
					case deprecated.Int96:
						want.SetInt64((int64(v[2])-julian1970)*int64(table.Day) + int64(v[1])<<32 + int64(v[0]))
					}
					want.Mul(want, big.NewInt(int64(tick)))
					want.Div(want, big.NewInt(int64(unit))) // Euclid's, which rounds down
				}
				if got := d.At(row, 0); got != want.Int64() {
					t.Fatalf("column %d, row %d: %v is %v in %v, want %v", i, row, v, got, unit, want)
				}
			}
		}
	}
}
