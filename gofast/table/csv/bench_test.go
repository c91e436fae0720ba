package csv

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gofast-org/gofast/gofast/table/tabletest"
)

// digits is a table like MNIST: a label and 784 pixels, four of five of them 0.
func digits(rows int) []byte {
	rng := rand.New(rand.NewPCG(5, 6))
	var b bytes.Buffer
	b.WriteString("label")
	for i := range 784 {
		fmt.Fprintf(&b, ",pixel%d", i)
	}
	b.WriteByte('\n')
	for range rows {
		fmt.Fprint(&b, rng.IntN(10))
		for range 784 {
			v := 0
			if rng.IntN(5) == 0 {
				v = rng.IntN(256)
			}
			fmt.Fprintf(&b, ",%d", v)
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// headerLine writes the header that a table of numbers, all different, needs to be read.
func headerLine(b *bytes.Buffer, columns int) {
	for c := range columns - 1 {
		fmt.Fprintf(b, "c%d,", c)
	}
	fmt.Fprintf(b, "c%d\n", columns-1)
}

// floats is a table of floats as pandas writes them.
func floats(rows, columns int) []byte {
	rng := rand.New(rand.NewPCG(7, 8))
	var b bytes.Buffer
	headerLine(&b, columns)
	for range rows {
		for c := range columns {
			if c > 0 {
				b.WriteByte(',')
			}
			fmt.Fprint(&b, rng.NormFloat64())
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// BenchmarkDecode opens and decodes: what a user waits for.
func BenchmarkDecode(b *testing.B) {
	for name, content := range map[string][]byte{"bytes": digits(10_000), "floats": floats(20_000, 50)} {
		path := write(b, content)
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s, %d threads", name, threads), func(b *testing.B) {
				b.SetBytes(int64(len(content)))
				for b.Loop() {
					s := setup{threads: threads}
					r, err := s.open(b, path)
					if err == nil {
						_, err = tabletest.Decode(b.Context(), r, s.selection(r), nil, 1<<30)
						r.Close()
					}
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
