package parquet

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go/encoding/thrift"

	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/table"
)

// Statistics are read again from the footer, and only for a description: opening a table needs
// none, and must not fail because of them.

// storedStatistics are those of one column chunk, by the format's numbers.
type storedStatistics struct {
	Meta struct {
		Statistics struct {
			OldMax []byte             `thrift:"1"` // compared as signed numbers
			OldMin []byte             `thrift:"2"`
			Nulls  thrift.Null[int64] `thrift:"3"`
			Max    []byte             `thrift:"5"`
			Min    []byte             `thrift:"6"`
		} `thrift:"12"`
	} `thrift:"3"`
}

// summary is what the statistics of all row groups say of one column.
type summary struct {
	least, most *bound // nil before the first
	noRange     bool   // some row group does not say
	nulls       int64
	noNulls     bool
}

// Describe implements table.Describer.
func (r *Reader) Describe() (facts table.Facts, err error) {
	defer pool.Recover(&err, r.op, r.path)
	summaries, err := r.summaries()
	if err != nil {
		return facts, err
	}
	facts = table.Facts{RowGroups: len(r.meta.groups), Columns: make([]table.ColumnFacts, len(r.columns))}
	for i := range r.columns {
		c, s := &r.columns[i], &summaries[r.columns[i].leaf]
		f := table.ColumnFacts{Name: c.Name, Type: c.typeName(), Shape: c.Shape, Unusable: c.why}
		if c.tick != 0 && !c.list {
			f.Unusable = "" // usable when dates= asks for it
		}
		if groups := r.meta.groups; len(groups) > 0 {
			if k := groups[0].chunks[c.leaf].codec; k > codecNone && int(k) < len(codecNames) {
				f.Codec = strings.ToLower(codecNames[k])
			}
		}
		plain := c.kind != unusable || c.tick != 0
		if plain && !c.list && !s.noNulls {
			f.Nulls = &s.nulls
		}
		if plain && !s.noRange && s.least != nil && s.most != nil {
			f.Min, f.Max = s.least.text(c), s.most.text(c)
		}
		facts.Columns[i] = f
	}
	return facts, nil
}

// summaries walks the footer once more.
func (r *Reader) summaries() ([]summary, error) {
	if r.layout != nil {
		return slices.Repeat([]summary{{noRange: true, noNulls: true}}, r.meta.leaves), nil
	}
	footer, _, err := r.footer(r.file)
	if err != nil {
		return nil, err
	}
	defer r.release(int64(len(footer)))
	byLeaf := make([]*column, r.meta.leaves)
	for i := range r.columns {
		byLeaf[r.columns[i].leaf] = &r.columns[i]
	}
	all := make([]summary, r.meta.leaves)
	t := newMetaReader(footer)
	return all, t.fields(func(id int16, kind thrift.Type) error {
		if id != 4 {
			return t.skip(id, kind)
		}
		groups, err := t.list(kind)
		for g := 0; g < groups && err == nil; g++ {
			err = t.fields(func(id int16, kind thrift.Type) error {
				if id != 1 {
					return t.skip(id, kind)
				}
				chunks, err := t.list(kind)
				for leaf := 0; leaf < min(chunks, len(all)) && err == nil; leaf++ {
					var stored storedStatistics
					from := t.walk.BytesRead()
					if err = t.structure(&stored, t.skip); err != nil && t.walk.BytesRead() > from {
						stored, err = storedStatistics{}, nil // passed over, and not of the format's types
					}
					if g < len(r.meta.groups) && r.meta.groups[g].rows > 0 {
						all[leaf].add(byLeaf[leaf], &stored, r.meta.groups[g].rows)
					}
				}
				return err
			})
		}
		return err
	})
}

func (s *summary) add(c *column, stored *storedStatistics, rows int64) {
	if c == nil {
		return
	}
	st := &stored.Meta.Statistics
	nulls, said := st.Nulls.Get()
	s.noNulls = s.noNulls || !said || nulls < 0 || nulls > rows && !c.list
	s.nulls += nulls
	if said && nulls == rows && !c.list {
		return // a range of nothing
	}
	least, most := st.Min, st.Max
	if least == nil && most == nil && c.kind != unsignedInts {
		least, most = st.OldMin, st.OldMax
	}
	low, ok := c.bound(least)
	high, ok2 := c.bound(most)
	if !ok || !ok2 {
		s.noRange = true
		return
	}
	if s.least == nil || low.less(*s.least) {
		s.least = &low
	}
	if s.most == nil || s.most.less(high) {
		s.most = &high
	}
}

// bound is a value of the statistics: an integer, signed or not, or a float.
type bound struct {
	bits     uint64
	float    float64
	unsigned bool
}

func (b bound) less(o bound) bool {
	switch {
	case b.float != o.float: // integers have none
		return b.float < o.float
	case b.unsigned:
		return b.bits < o.bits
	default:
		return int64(b.bits) < int64(o.bits)
	}
}

// bound reads a plain value; false where the column has no order that is shown, or the value is none of it.
func (c *column) bound(b []byte) (bound, bool) {
	number := c.kind == signedInts || c.kind == unsignedInts || c.tick != 0 && c.physical != int96s
	switch {
	case c.physical == boolean && len(b) == 1:
		return bound{bits: uint64(b[0] & 1)}, true
	case c.physical == floats && len(b) == 4:
		v := math.Float32frombits(binary.LittleEndian.Uint32(b))
		return bound{float: float64(v)}, v == v
	case c.physical == doubles && len(b) == 8:
		v := math.Float64frombits(binary.LittleEndian.Uint64(b))
		return bound{float: v}, v == v
	case number && c.physical == int32s && len(b) == 4 && c.kind == unsignedInts:
		return bound{bits: uint64(binary.LittleEndian.Uint32(b)), unsigned: true}, true
	case number && c.physical == int32s && len(b) == 4:
		return bound{bits: uint64(int64(int32(binary.LittleEndian.Uint32(b))))}, true
	case number && c.physical == int64s && len(b) == 8:
		return bound{bits: binary.LittleEndian.Uint64(b), unsigned: c.kind == unsignedInts}, true
	}
	return bound{}, false
}

func (b bound) text(c *column) string {
	switch {
	case c.physical == floats:
		return strconv.FormatFloat(b.float, 'g', -1, 32)
	case c.physical == doubles:
		return strconv.FormatFloat(b.float, 'g', -1, 64)
	case c.physical == boolean:
		return strconv.FormatBool(b.bits == 1)
	case b.unsigned:
		return strconv.FormatUint(b.bits, 10)
	case c.tick == 0:
		return strconv.FormatInt(int64(b.bits), 10)
	}
	nanoseconds, fits := table.Nanosecond.Of(int64(b.bits), c.tick)
	switch {
	case !fits:
		return fmt.Sprintf("%d %v", int64(b.bits), c.tick)
	case c.Clock:
		return time.Unix(0, nanoseconds).UTC().Format("15:04:05.999999999")
	case c.tick == table.Day:
		return time.Unix(0, nanoseconds).UTC().Format(time.DateOnly)
	default:
		return time.Unix(0, nanoseconds).UTC().Format("2006-01-02 15:04:05.999999999")
	}
}

// typeName is how the column is stored, by the names that numpy and pandas have.
func (c *column) typeName() string {
	name := ""
	switch {
	case c.physical == int96s:
		name = "timestamp[ns]"
	case c.tick == table.Day:
		name = "date"
	case c.tick != 0 && c.Clock:
		name = fmt.Sprintf("time[%v]", c.tick)
	case c.tick != 0:
		name = fmt.Sprintf("timestamp[%v]", c.tick)
	case c.kind == decimals:
		name = fmt.Sprintf("decimal[%d digits]", c.digits)
	default:
		name = map[kind]string{signedInts: "int", unsignedInts: "uint", booleans: "bool", float16s: "float16", float32s: "float32",
			float64s: "float64", texts: "text", pixels: "bytes"}[c.kind]
		if c.kind == signedInts || c.kind == unsignedInts {
			name += strconv.Itoa(cmp.Or(c.bits, 8*c.physical.size()))
		}
	}
	switch {
	case name == "":
		return "other"
	case c.list:
		return "list of " + name
	default:
		return name
	}
}
