package parquet

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
)

// Dates and times are counts of ticks: since 1970, or since midnight. An INT96 is
// nanoseconds of a day and the day's Julian number.

const (
	// int96Size is the bytes of an INT96.
	int96Size = 12
	// julian1970 is the Julian number of the first day of 1970.
	julian1970 = 2440588
)

// setTime decides how dates and times are counted. They are features on request only.
func (c *column) setTime(leaf *element) {
	c.why = fmt.Sprintf(`a date or time: say dates={%q: "s"} for seconds`, errs.Cut(c.Name))
	switch {
	case c.list:
		c.why = "a list of dates or times: turn them into numbers before writing"
	case leaf.Physical == int96s && leaf.logical == logicalNone:
		c.tick = table.Nanosecond
	case leaf.Physical == int64s, leaf.Physical == int32s && leaf.tick >= table.Millisecond:
		c.tick = leaf.tick
	}
	c.Clock = leaf.clock
	if c.tick == 0 && !c.list {
		c.why = "a time of an unknown kind: turn it into numbers before writing"
	}
}

// ticks converts plain values.
func (d *numbers[T]) ticks(src []byte, dst []T) error {
	size := d.c.physical.size()
	for i := range dst {
		b := src[i*size:]
		var err error
		switch size {
		case int96Size:
			err = d.putInt96(int64(binary.LittleEndian.Uint64(b)), int32(binary.LittleEndian.Uint32(b[8:])), dst, i)
		case 4:
			err = d.putTime(int64(int32(binary.LittleEndian.Uint32(b))), dst, i)
		default:
			err = d.putTime(int64(binary.LittleEndian.Uint64(b)), dst, i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *numbers[T]) putTime(ticks int64, dst []T, i int) error {
	if ticks == math.MinInt64 { // numpy's NaT, of a writer that notes no nulls
		dst[i] = d.missing.value
		return d.missing.note(i, "NaT")
	}
	v, fits := d.c.coding.Unit.Of(ticks, d.c.tick)
	if !fits {
		return d.noTime(i, ticks, d.c.tick)
	}
	return d.putInt(v, dst, i)
}

func (d *numbers[T]) putInt96(nanoseconds int64, julian int32, dst []T, i int) error {
	day := int64(julian) - julian1970
	v, fits := d.c.coding.Unit.At(day, nanoseconds)
	if !fits {
		return d.noTime(i, day, table.Day)
	}
	return d.putInt(v, dst, i)
}

// noTime is the error of a time that 64 bits do not hold in the unit asked for.
func (d *numbers[T]) noTime(at int, ticks int64, tick table.Unit) error {
	cell := fmt.Sprintf("%d %v", ticks, tick)
	if seconds, fits := table.Second.Of(ticks, tick); fits && seconds > -1<<50 && seconds < 1<<50 {
		cell = time.Unix(seconds, 0).UTC().Format("2006-01-02 15:04:05")
	}
	return fault{kind: errs.ErrValue, here: true, value: at, cell: cell, text: d.c.coding.Unit.Refuse()}
}
