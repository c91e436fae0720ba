package csvrow

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast/numbers"
)

// one is what becomes of a cell as a float64; false: it is refused. All forms must say the same.
func one(t *testing.T, cell string) (float64, bool) {
	n := &Numbers{Delim: ',', Point: '.', To: []int32{0}, Width: 1, Type: numbers.Float64, Most: 1 << 20}
	o := checkNumbers(t, n, cell+"\n", 1)
	if o.rows == 0 {
		return 0, false
	}
	return math.Float64frombits(binary.NativeEndian.Uint64(o.features)), true
}

// checkNumbers is what the plain form makes of rows, and wants the same of the others.
func checkNumbers(t *testing.T, n *Numbers, data string, most int) (plain outcome) {
	t.Helper()
	for _, v := range Variants() {
		restore := Force(v)
		buf, from, to := padded(data)
		size, labels := n.Width*n.Type.Size(), 8*len(n.Real)
		o := outcome{features: make([]byte, most*size), labels: make([]byte, most*labels)}
		o.rows, o.next = n.Parse(buf, from, to, most, o.features, o.labels)
		restore()
		o.features, o.labels, o.next = o.features[:o.rows*size], o.labels[:o.rows*labels], o.next-from
		if v == Plain {
			plain = o
		} else if o.rows != plain.rows || o.next != plain.next || !bytes.Equal(o.features, plain.features) || !bytes.Equal(o.labels, plain.labels) {
			t.Fatalf("%v: %d rows to %d, plain C says %d rows to %d, or other values, as %v of %q",
				v, o.rows, o.next, plain.rows, plain.next, n.Type, data)
		}
	}
	return plain
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
	const rounds = 1_000_000
	for range rounds {
		text := cell(rng)
		want, err := strconv.ParseFloat(text, 64)
		if got, ok := one(t, text); ok {
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
		if got, ok := one(t, text); !ok || math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("%s: %v, taken %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "-", "+1", ".", "-.", "e5", "1e", "1e+", " 1", "1 ", "1_0", "0x1", "nan", "inf", "1,2", "\"1\"",
		"1234567890123456789", "12345678901234567890.5", "1e400", "1e-400", "1e99999999999", "1.5.2", "--1", "1-", "-0", "-00", "9007199254740993"} {
		if got, ok := one(t, text); ok {
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
		o := checkNumbers(t, n, c.text, 10)
		if o.rows != c.rows || o.rows == 0 && o.next != 0 {
			t.Errorf("%v of %q: %d rows to %d", c.stored, c.text, o.rows, o.next)
		}
		if o.rows > 0 && binary.NativeEndian.Uint64(o.labels) != 7 {
			t.Errorf("%v of %q: label %v", c.stored, c.text, o.labels[:8])
		}
	}
}

// tableOf is rows of cells that `of` makes, with labels and columns that nobody wants among them.
func tableOf(rng *rand.Rand, columns int, of func() string) (n *Numbers, data []byte) {
	n = &Numbers{Delim: ",;\t|"[rng.IntN(4)], Point: '.', Most: []int64{1 << 20, 1 << 20, 300}[rng.IntN(3)],
		Type: []numbers.Type{numbers.Uint8, numbers.Int16, numbers.Int32, numbers.Int64, numbers.Float32, numbers.Float64}[rng.IntN(6)]}
	for range columns {
		switch odd := rng.IntN(40); {
		case odd == 0:
			n.To = append(n.To, Skip)
		case odd < 3 && len(n.Real) < 2:
			n.Real = append(n.Real, uint8(rng.IntN(2)))
			n.To = append(n.To, int32(-len(n.Real)))
		default:
			n.To = append(n.To, int32(n.Width))
			n.Width++
		}
	}
	if rng.IntN(4) == 0 { // features in another order
		for i, to := range slices.Backward(n.To) {
			if to >= 0 {
				n.To[i] = int32(n.Width) - 1 - to
			}
		}
	}
	end := []string{"\n", "\r\n"}[rng.IntN(2)]
	for range 1 + rng.IntN(60) {
		for c := range columns {
			if c > 0 {
				data = append(data, n.Delim)
			}
			data = append(data, of()...)
		}
		data = append(data, end...)
	}
	return n, data
}

// Random tables, whole and with one byte replaced, of cells that one form likes and cells that it leaves to the other.
func TestFormsOfNumbersAgree(t *testing.T) {
	rng, taken := rand.New(rand.NewPCG(3, 4)), 0
	odd := "0129,;\t|\n\r \"-.eE+x\x00\xff/:"
	whole := func() string {
		return strconv.Itoa([]int{rng.IntN(10), rng.IntN(256), rng.IntN(70_000) - 35_000, rng.Int()}[rng.IntN(3)])
	}
	short := func() string { return strconv.FormatFloat(rng.NormFloat64()*100, 'f', rng.IntN(9), 64) }
	half := func() string { return fmt.Sprint(float64(rng.IntN(2000)-1000) / 2) }
	mixed := func() string {
		return []func() string{short, half, whole, func() string { return cell(rng) }}[rng.IntN(4)]()
	}
	for round := range 6000 {
		columns := 1 + rng.IntN([]int{4, 30, 30, 700}[rng.IntN(4)])
		n, data := tableOf(rng, columns, []func() string{whole, func() string { return strconv.Itoa(rng.IntN(200)) }, short, half, mixed}[rng.IntN(5)])
		if round%2 == 1 {
			data[rng.IntN(len(data))] = odd[rng.IntN(len(odd))]
		}
		if last := data[len(data)-1]; last != '\n' && last != '\r' {
			data = append(data, '\n')
		}
		taken += checkNumbers(t, n, string(data), 1+rng.IntN(80)).rows
	}
	if taken < 10_000 {
		t.Errorf("%d rows were taken", taken)
	}
}

func FuzzNumbers(f *testing.F) {
	f.Add("1,-2.5,x\n4,5e3,\"6\r\n", uint8(5), uint8(3))
	f.Add("0.1234567890123456,-0,12345678901234567\n", uint8(4), uint8(3))
	f.Fuzz(func(t *testing.T, data string, stored, columns uint8) {
		n := &Numbers{Delim: ',', Point: '.', Real: []uint8{stored % 2}, Type: numbers.Uint8 + numbers.Type(stored%6), Most: 1 << 20}
		for c := range int(columns) + 1 {
			n.To = append(n.To, []int32{int32(n.Width), -1, Skip}[min(c, 2)*int(columns%2)])
			n.Width++
		}
		checkNumbers(t, n, data+"\n", 1+strings.Count(data, "\n"))
	})
}
