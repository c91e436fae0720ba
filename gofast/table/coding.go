package table

import (
	"math"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// Coding says how a feature column that holds no numbers becomes one: by
// Categories, or by a Unit of time. Exactly one of them is set.
type Coding struct {
	Categories *Categories
	Unit       Unit
}

// Coder is a Reader whose columns may be coded, by Selection.Codings.
type Coder interface {
	// CheckCoding says whether a column holds what the coding is for.
	CheckCoding(column int, coding Coding) error
}

// Categories are the texts that a feature column may hold, each with its number.
// Safe for concurrent use.
type Categories struct {
	*Dictionary         // its ids are the places in Ints or Reals
	Ints        []int64 // exactly one of them is set
	Reals       []float64
}

// NewCategories numbers distinct names. Either list has a number for each name; where
// both are nil the names have those of their places.
func NewCategories(names []string, ints []int64, reals []float64) *Categories {
	c := &Categories{Dictionary: Closed(names), Ints: ints, Reals: reals}
	c.option, c.noun, c.kind = "categories", "cell", errs.ErrCategory
	if ints == nil && reals == nil {
		c.Ints = make([]int64, len(names))
		for i := range c.Ints {
			c.Ints[i] = int64(i)
		}
	}
	return c
}

// Unit is a length of time in nanoseconds: what dates are counted in.
type Unit int64

// The units, by numpy's names.
const (
	Nanosecond  Unit = 1
	Microsecond      = 1000 * Nanosecond
	Millisecond      = 1000 * Microsecond
	Second           = 1000 * Millisecond
	Minute           = 60 * Second
	Hour             = 60 * Minute
	Day              = 24 * Hour
)

var units = map[string]Unit{"D": Day, "h": Hour, "m": Minute, "s": Second, "ms": Millisecond, "us": Microsecond, "ns": Nanosecond}

// UnmarshalText reads a name of numpy's.
func (u *Unit) UnmarshalText(name []byte) error {
	if *u = units[string(name)]; *u == 0 {
		return errs.New(errs.ErrConfig, "dates", "the unit is unknown").WithCell(string(name))
	}
	return nil
}

// String is numpy's name of the unit.
func (u Unit) String() string {
	for name, unit := range units {
		if unit == u {
			return name
		}
	}
	return "?"
}

// Refuse is the text of the error of a date that Of or At say does not fit.
func (u Unit) Refuse() string {
	return "64 bits do not hold the date in " + u.String() + ": give a coarser unit in dates="
}

// Of is a count of another unit in this one, rounded down. false: it does not fit, or
// is the least integer, which stands for no date in numpy.
func (u Unit) Of(count int64, from Unit) (int64, bool) {
	if count == math.MinInt64 {
		return 0, false
	}
	if from < u {
		return floor(count, int64(u/from)), true
	}
	times := int64(from / u)
	made := count * times
	return made, made/times == count && made != math.MinInt64
}

// At is the time so many nanoseconds, which may be negative, after the beginning of a
// day since 1970; rounded down. false: as Of.
func (u Unit) At(day, nanoseconds int64) (int64, bool) {
	day += floor(nanoseconds, int64(Day))
	nanoseconds -= floor(nanoseconds, int64(Day)) * int64(Day)
	if day < 0 { // from the side of 1970: the day alone may not fit where the time does
		day, nanoseconds = day+1, nanoseconds-int64(Day)
	}
	whole, fits := u.Of(day, Day)
	rest := floor(nanoseconds, int64(u))
	made := whole + rest
	overflows := rest >= 0 && made < whole || rest < 0 && made > whole
	return made, fits && !overflows && made != math.MinInt64
}

func floor(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
