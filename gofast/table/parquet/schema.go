package parquet

import (
	"fmt"
	"slices"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
)

// physical is how values are stored, by the format's numbers.
type physical int32

const (
	boolean physical = iota
	int32s
	int64s
	int96s
	floats
	doubles
	byteArray
	fixedByteArray

	// Those of a Layout.
	int8s
	int16s
)

// size is the bytes of one plain value of a fixed-width type, 0 for the others.
func (p physical) size() int {
	return [...]int{int8s: 1, int16s: 2, int32s: 4, int64s: 8, int96s: 12, floats: 4, doubles: 8, fixedByteArray: 0}[p]
}

type repetition int32

const (
	required repetition = iota
	optional
	repeated
)

// logical is what the stored values mean, as far as gofast tells them apart.
type logical int8

const (
	logicalNone logical = iota
	logicalSigned
	logicalUnsigned
	logicalText
	logicalDecimal
	logicalHalf
	logicalTime // dates, times, timestamps; an interval has no tick
	logicalList
	logicalOther // maps, UUIDs, variants, ...
)

// kind is how the values of a leaf become numbers.
type kind uint8

const (
	unusable kind = iota
	signedInts
	unsignedInts
	booleans
	float16s
	float32s
	float64s
	decimals // an integer divided by 10^digits
	reals    // texts with floats as their numbers
	texts
	pixels // a fixed-length binary: each byte is a value
	times  // a count of ticks, in the unit that was asked for
	places // texts with integers as their numbers
)

// isFloat says that the values are floats, whatever their amount.
func (k kind) isFloat() bool { return k >= float16s && k <= reals }

// column is one column of the file that a user can name.
type column struct {
	table.Column
	leaf     int // its chunk in every row group
	kind     kind
	physical physical
	length   int          // bytes of a fixed-length binary
	digits   int          // of decimals, behind the point
	bits     int          // that integers are said to have; 0: all of their physical type
	why      string       // it cannot be used: the feature, for the error
	tick     table.Unit   // of dates and times; 0 for all others
	coding   table.Coding // of times, places and reals

	binary *column // itself, or its part "bytes", where that holds values of any length

	maxDef, maxRep uint8
	list           bool
	listDef        uint8 // definition level of an empty list; less is a null list
}

// width is the number of values of one row.
func (c *column) width() int { return c.Width() }

// buildColumns lists the columns of a schema. Recursion is not needed: only the
// first three levels can be used, the others are stepped over.
func (r *Reader) buildColumns(meta *metadata) error {
	schema := meta.schema
	if len(schema) < 2 || schema[0].Children <= 0 {
		return r.fault(errs.ErrDamaged, "the schema has no columns")
	}
	seen := make(map[string]int, len(schema))
	leaf, at := 0, 1
	for n := range int(schema[0].Children) {
		if at >= len(schema) {
			return r.fault(errs.ErrDamaged, fmt.Sprintf("the schema ends after %d of %d columns", n, schema[0].Children))
		}
		end, leaves, ok := subtree(schema, at)
		if !ok {
			return r.fault(errs.ErrDamaged, fmt.Sprintf("the schema ends inside of column %d", n)).InColumn(schema[at].Name)
		}
		c := buildColumn(schema[at:end])
		c.leaf = leaf
		if c.binary != nil {
			c.binary.leaf += leaf
		}
		at, leaf = end, leaf+leaves
		if other, double := seen[c.Name]; double {
			return r.fault(errs.ErrSchema, fmt.Sprintf("two columns of this name, %d and %d: rename one", other, n)).InColumn(c.Name)
		}
		seen[c.Name] = n
		if leaves == 0 {
			return r.fault(errs.ErrDamaged, "a column without values").InColumn(c.Name)
		}
		c.Index = meta.index[c.Name] || table.IsIndex(c.Name)
		r.columns = append(r.columns, c)
	}
	if at != len(schema) || leaf != meta.leaves {
		return r.fault(errs.ErrDamaged, fmt.Sprintf("the schema's columns end at node %d of %d", at, len(schema)))
	}
	r.columns = table.IndexLast(r.columns, func(c column) bool { return c.Index })
	return nil
}

// subtree finds the end of the node at i and counts its leaves.
func subtree(schema []element, i int) (end, leaves int, ok bool) {
	for pending := int64(1); pending > 0; i++ {
		if i >= len(schema) || schema[i].Children < 0 {
			return 0, 0, false
		}
		pending += int64(schema[i].Children) - 1
		if schema[i].leaf {
			leaves++
		}
	}
	return i, leaves, true
}

// buildColumn classifies one top-level node with everything below it.
func buildColumn(nodes []element) column {
	top := &nodes[0]
	c := column{Column: table.Column{Name: top.Name}}
	leaf := top
	switch {
	case top.leaf && top.Repetition == repeated: // a list without its usual frame
		c.list = true
	case top.leaf:
	case (top.logical == logicalList || top.logical == logicalNone) && top.Repetition != repeated && len(nodes) == 2 && nodes[1].Repetition == repeated && nodes[1].leaf:
		c.list, leaf = true, &nodes[1]
	case top.logical == logicalList && top.Repetition != repeated && len(nodes) == 3 && nodes[1].Repetition == repeated && nodes[2].leaf && nodes[2].Repetition != repeated:
		c.list, leaf = true, &nodes[2]
	default:
		c.why = "a struct, a map or a list of lists"
	}
	if c.why == "" {
		for i := range nodes {
			switch nodes[i].Repetition {
			case optional:
				c.maxDef++
			case repeated:
				c.listDef = c.maxDef
				c.maxDef, c.maxRep = c.maxDef+1, 1
			case required:
			default:
				c.why = "an unknown repetition"
			}
		}
	}
	if c.why == "" {
		c.setKind(leaf)
		switch {
		case c.Text:
			c.Label = table.TextLabel
		case c.kind.isFloat():
			c.Label = table.FloatLabel
		}
	}
	c.binary = binaryOf(nodes)
	return c
}

// binaryOf is the column of a node's values of any length: its own, or those of its part "bytes".
func binaryOf(nodes []element) *column {
	top, at := &nodes[0], 0
	if !top.leaf {
		at = 1 + slices.IndexFunc(nodes[1:], func(e element) bool { return e.leaf && e.Name == "bytes" })
		if at == 0 || len(nodes) != 1+int(top.Children) || top.Repetition == repeated {
			return nil
		}
	}
	c := &column{Column: table.Column{Name: top.Name}, physical: byteArray, leaf: max(at-1, 0)}
	for _, e := range []*element{top, &nodes[at]}[:1+min(at, 1)] {
		if e.Repetition == optional {
			c.maxDef++
		}
	}
	if leaf := &nodes[at]; leaf.Physical != byteArray || leaf.logical != logicalNone || leaf.Repetition == repeated || leaf.why != "" {
		return nil
	}
	return c
}

// setKind decides what the leaf's values become.
func (c *column) setKind(leaf *element) {
	c.physical, c.length = leaf.Physical, int(leaf.Length)
	c.Hint = table.Uint8
	switch {
	case leaf.why != "":
		c.why = leaf.why
	case leaf.logical == logicalTime || leaf.Physical == int96s:
		c.setTime(leaf)
	case leaf.logical == logicalDecimal:
		c.setDecimal(leaf)
	case leaf.logical == logicalOther:
		c.why = "an annotated type other than a number or text"
	case leaf.Physical == boolean:
		c.kind, c.Bool = booleans, true
	case leaf.Physical == int32s || leaf.Physical == int64s || leaf.Physical == int8s || leaf.Physical == int16s:
		c.kind = signedInts
		if leaf.logical == logicalUnsigned {
			c.kind = unsignedInts
		}
		c.bits = leaf.bits
	case leaf.Physical == floats:
		c.kind, c.Hint = float32s, table.Float32
	case leaf.Physical == doubles:
		c.kind, c.Hint = float64s, table.Float32
	case leaf.Physical == byteArray && !c.list:
		c.kind, c.Text = texts, true
		if leaf.logical == logicalNone {
			c.TextWhy = "; if its bytes are files of pictures, gofast.ImageFiles.from_parquet takes the column"
		}
	case leaf.Physical == fixedByteArray && leaf.logical == logicalHalf && leaf.Length == 2:
		c.kind, c.Hint = float16s, table.Float32
	case leaf.Physical == fixedByteArray && leaf.Length > 0 && !c.list:
		c.kind, c.Shape = pixels, []int{int(leaf.Length)}
	case leaf.Physical == byteArray:
		c.why = "a list of strings or binaries"
	default:
		c.why = "an unknown physical type"
	}
}
