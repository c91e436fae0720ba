package parquet

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strconv"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
)

// A decimal is an integer and a number of digits behind the point. It becomes the
// float64 that is nearest to it, as Python's float(Decimal(...)) is.

const (
	// decimalBytes holds the widest decimal that writers have: 76 digits.
	decimalBytes = 32
	// maxDigits is the most digits of one.
	maxDigits = 76
	// intDigits always fit an int64: decimals without a fraction of so many digits
	// are integers, as they are in files that store them in 64 bits.
	intDigits = 18
)

// setDecimal decides what a column of decimals becomes, by its type alone.
func (c *column) setDecimal(leaf *element) {
	c.digits = int(leaf.Scale)
	bytes := leaf.Physical == fixedByteArray || leaf.Physical == byteArray
	switch {
	case !bytes && leaf.Physical != int32s && leaf.Physical != int64s:
		c.why = "a decimal of an unknown physical type"
	case leaf.Physical == fixedByteArray && (leaf.Length < 1 || leaf.Length > decimalBytes):
		c.why = fmt.Sprintf("a decimal of %d bytes", leaf.Length)
	case leaf.Scale < 0 || leaf.Scale > maxDigits:
		c.why = fmt.Sprintf("a decimal of scale %d", leaf.Scale)
	case leaf.Scale == 0 && (!bytes || leaf.Precision <= intDigits):
		c.kind = signedInts
	default:
		c.kind, c.Hint = decimals, table.Float32
	}
}

// bigEndian says that the values are integers stored as bytes, the highest first.
func (c *column) bigEndian() bool {
	return c.physical == byteArray || c.physical == fixedByteArray && c.kind != float16s
}

// exactPowers are the powers of ten that a float64 holds exactly.
var exactPowers = func() (powers [23]float64) {
	for i := range powers {
		powers[i] = math.Pow10(i)
	}
	return powers
}()

// decimal converts one integer. Up to 2^53 and 10^22 the division is one of exact
// numbers, and rounds once; beyond, strconv rounds correctly.
func (d *numbers[T]) decimal(unscaled int64, dst []T, i int) error {
	if -1<<53 <= unscaled && unscaled <= 1<<53 && d.c.digits < len(exactPowers) {
		return d.putReal(float64(unscaled)/exactPowers[d.c.digits], dst, i)
	}
	var text [32]byte
	return d.parse(strconv.AppendInt(text[:0], unscaled, 10), dst, i)
}

// parse converts the digits of an integer.
func (d *numbers[T]) parse(digits []byte, dst []T, i int) error {
	digits = append(digits, 'e', '-')
	f, err := strconv.ParseFloat(string(strconv.AppendInt(digits, int64(d.c.digits), 10)), 64)
	if err != nil {
		return damaged("a decimal cannot be converted: %v", err)
	}
	return d.putReal(f, dst, i)
}

func (d *numbers[T]) putReal(f float64, dst []T, i int) error {
	var fits bool
	if dst[i], fits = table.FitReal[T](f); !fits && !d.rounds {
		return table.ErrNarrow
	}
	return nil
}

// bytesDecimals converts integers of plainSize bytes each.
func (d *numbers[T]) bytesDecimals(src []byte, dst []T) error {
	size := d.plainSize()
	for i := range dst {
		if err := d.bytesDecimal(src[i*size:(i+1)*size], dst, i); err != nil {
			return err
		}
	}
	return nil
}

func (d *numbers[T]) bytesDecimal(b []byte, dst []T, i int) error {
	v, fits := bigEndianInt(b)
	switch {
	case fits && d.c.kind == decimals:
		return d.decimal(v, dst, i)
	case fits:
		return d.putInt(v, dst, i)
	case d.c.kind != decimals:
		return fault{kind: errs.ErrValue, here: true, value: i, text: "a decimal with more digits than its type allows"}
	}
	n := new(big.Int).SetBytes(b)
	if b[0]&0x80 != 0 { // two's complement
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return d.parse(n.Append(nil, 10), dst, i)
}

// bigEndianInt reads two's complement of any length; false when it needs more
// than 64 bits.
func bigEndianInt(b []byte) (v int64, fits bool) {
	if len(b) == 0 {
		return 0, true
	}
	sign := byte(int8(b[0]) >> 7)
	for len(b) > 8 {
		if b[0] != sign {
			return 0, false
		}
		b = b[1:]
	}
	if len(b) == 8 {
		v = int64(binary.BigEndian.Uint64(b))
		return v, v>>63 == int64(int8(sign))
	}
	v = int64(int8(sign))
	for _, c := range b {
		v = v<<8 | int64(c)
	}
	return v, true
}

// textDecimals converts integers of any length each.
func (d *numbers[T]) textDecimals(v *values, dst []T) error {
	even, err := d.evenDecimals(&d.w.even, len(dst), func(visit func(int, []byte) error) error {
		return v.eachString(len(dst), visit)
	})
	if err != nil {
		return err
	}
	return d.bytesDecimals(even, dst)
}

// evenDecimals gives n integers of any length the same: decimalBytes.
func (d *numbers[T]) evenDecimals(buffer *[]byte, n int, each func(visit func(i int, b []byte) error) error) ([]byte, error) {
	even, err := grow(d.w, buffer, n*decimalBytes)
	if err != nil {
		return nil, err
	}
	return even, each(func(i int, b []byte) error {
		if len(b) > decimalBytes {
			return damaged("decimal %d has %d bytes", i, len(b))
		}
		out := even[i*decimalBytes:][:decimalBytes]
		sign := byte(0)
		if len(b) > 0 {
			sign = byte(int8(b[0]) >> 7)
		}
		for k := range decimalBytes - len(b) {
			out[k] = sign
		}
		copy(out[decimalBytes-len(b):], b)
		return nil
	})
}
