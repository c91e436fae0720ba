package csvrow

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast/numbers"
)

// one is what becomes of a cell as a float64; false: it is refused.
func one(cell string) (float64, bool) {
	n := &Numbers{Delim: ',', Point: '.', To: []int32{0}, Width: 1, Type: numbers.Float64, Most: 1 << 20}
	buf, from, to := padded(cell + "\n")
	features := make([]byte, 8)
	rows, _ := n.Parse(buf, from, to, 1, features, nil)
	return math.Float64frombits(binary.NativeEndian.Uint64(features)), rows == 1
}

// cell is a number as people and programs write them.
func cell(rng *rand.Rand) string {
	value := math.Float64frombits(rng.Uint64())
	switch rng.IntN(6) {
	case 0:
		return strconv.FormatFloat(rng.NormFloat64(), 'g', -1, 64) // as Python's repr
	case 1:
		return strconv.FormatFloat(rng.NormFloat64()*math.Pow(10, float64(rng.IntN(12)-6)), 'f', rng.IntN(20), 64)
	case 2:
		return strconv.FormatFloat(value, 'e', rng.IntN(19), 64)
	case 3: // in the middle of two floats, or beside it
		whole := rng.Uint64()>>rng.IntN(64) | 1
		return fmt.Sprintf("%d%s", whole, []string{".0", ".5", "e1", "e-3", "e22", "e27", "e-27", "e-28"}[rng.IntN(8)])
	case 4:
		return fmt.Sprintf("%s%0*d.%0*d", []string{"", "-"}[rng.IntN(2)], 1+rng.IntN(19), rng.Uint64N(1000), 1+rng.IntN(19), rng.Uint64N(1e10))
	default: // exactly between two floats: digits / 5^places / 2^places with 54 bits
		return strconv.FormatFloat(float64(1<<53+rng.Uint64N(1<<53)|1), 'f', 0, 64) + strings.Repeat("0", rng.IntN(3)) + ".5"
	}
}

func TestNumbersAreCorrectlyRounded(t *testing.T) {
	rng, taken := rand.New(rand.NewPCG(7, 8)), 0
	const rounds = 2_000_000
	for range rounds {
		text := cell(rng)
		want, err := strconv.ParseFloat(text, 64)
		if got, ok := one(text); ok {
			taken++
			if err != nil || math.Float64bits(got) != math.Float64bits(want) {
				t.Fatalf("%s is %v, not %v", text, want, got)
			}
		}
	}
	if taken < rounds/2 {
		t.Errorf("%d of %d were taken", taken, rounds)
	}
}

func TestNumbersTakesAndRefuses(t *testing.T) {
	for _, text := range []string{"0", "-0.0", "-0e5", "007", "9007199254740992", "-5", "1.", ".5", "-.5", "0.1", "1e5", "1.5E-3", "1e+05",
		"0.030471707975443135", "-1234567890.123456789", "0.00000000000000000000001", "1e22", "9007199254740993.0", "0.0", "0e0"} {
		want, _ := strconv.ParseFloat(text, 64)
		if got, ok := one(text); !ok || math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("%s: %v, taken %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "-", "+1", ".", "-.", "e5", "1e", "1e+", " 1", "1 ", "1_0", "0x1", "nan", "inf", "1,2", "\"1\"",
		"1234567890123456789", "12345678901234567890.5", "1e400", "1e-400", "1e99999999999", "1.5.2", "--1", "1-", "-0", "-00", "9007199254740993"} {
		if got, ok := one(text); ok {
			t.Errorf("%q is taken as %v", text, got)
		}
	}
}

func TestNumbersFitTheirPlaces(t *testing.T) {
	for _, c := range []struct {
		stored numbers.Type
		text   string
		rows   int
	}{
		{numbers.Uint8, "255,7,1.5\n", 1},
		{numbers.Uint8, "256,7,1\n", 0},
		{numbers.Uint8, "-1,7,1\n", 0},
		{numbers.Uint8, "1.0,7,1\n", 0},
		{numbers.Int16, "-32768,7,1\r\n", 1},
		{numbers.Int16, "32768,7,1\n", 0},
		{numbers.Int32, "2147483647,7,1\n", 1},
		{numbers.Int32, "2147483648,7,1\n", 0},
		{numbers.Int64, "-999999999999999999,7,1\n", 1},
		{numbers.Float32, "0.5,7,1\n", 1},
		{numbers.Float32, "0.1,7,1\n", 0},
		{numbers.Float32, "16777217,7,1\n", 0},
		{numbers.Float64, "0.1,7,9007199254740993\n", 0}, // the label is a float64
		{numbers.Float64, "0.1,7.0,1\n", 0},              // the label is an integer
		{numbers.Float64, "0.1,7,1,2\n", 0},
		{numbers.Float64, "0.1,7\n", 0},
		{numbers.Float64, "0.1,7,1\r", 0},
		{numbers.Float64, "0.1,7,1\n\n0.1,7,1\n", 1},
		{numbers.Float64, "0.1,7,1234567890123\n", 0}, // longer than a row may be
	} {
		n := &Numbers{Delim: ',', Point: '.', To: []int32{0, -1, -2}, Real: []uint8{0, 1}, Width: 1, Type: c.stored, Most: 30}
		if c.rows == 0 && len(c.text) == 20 {
			n.Most = 19
		}
		buf, from, to := padded(c.text)
		features, labels := make([]byte, 80), make([]byte, 160)
		rows, next := n.Parse(buf, from, to, 10, features, labels)
		if rows != c.rows || rows == 0 && next != from {
			t.Errorf("%v of %q: %d rows to %d", c.stored, c.text, rows, next-from)
		}
		if rows > 0 && binary.NativeEndian.Uint64(labels) != 7 {
			t.Errorf("%v of %q: label %v", c.stored, c.text, labels[:8])
		}
	}
}
