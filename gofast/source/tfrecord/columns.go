package tfrecord

import (
	"encoding/binary"
	"math"
	"sync/atomic"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/source"
)

// mostColumns bounds what a file can make of names that nobody asked for.
const mostColumns = 4096

// column is one feature of a file's records.
type column struct {
	name   string
	kind   Kind          // "" until a record has a list
	starts series[int64] // where each record's values begin; as far as records were added
	has    series[byte]  // 1: the record has a list, which may be empty

	places series[source.Extent] // of bytes
	floats series[float32]
	ints   series[int64]
}

func (c *column) values() int64 {
	return c.places.count() + c.floats.count() + c.ints.count() // of one kind
}

// reach lets the records before n have no list if nothing else was said.
func (c *column) reach(n int64) {
	for c.starts.count() < n {
		c.starts.add(c.values())
		c.has.add(0)
	}
}

// expect lets records of one value have room at once: growing took a tenth of a tar's time.
func (c *column) expect(records int64, numbers bool) {
	c.starts.expect(records)
	c.has.expect(records)
	if numbers {
		c.ints.expect(records)
	} else {
		c.places.expect(records)
	}
}

// drop forgets the values of the last record.
func (c *column) drop() {
	at := c.starts.at(c.starts.count() - 1)
	c.lists(0)
	switch c.kind {
	case Bytes:
		c.places.cut(at)
	case Floats:
		c.floats.cut(at)
	case Ints:
		c.ints.cut(at)
	}
}

// lists says whether the last record has a list.
func (c *column) lists(has byte) { c.has.last[len(c.has.last)-1] = has }

// budget is the memory that columns and the content of compressed files may take together.
type budget struct{ left atomic.Int64 }

func (b *budget) take(bytes int64) *errs.Error {
	if b.left.Add(-bytes) < 0 {
		return fail(errs.ErrLimit, "the features' values need more memory than there is for them: name those that you use")
	}
	return nil
}

// columns are the features of one file.
type columns struct {
	object  uint32 // the file's number
	all     []*column
	numbers map[string]int
	open    bool // a name that is not there becomes a column
	budget  *budget
	lent    int64 // taken of the budget, and not used yet
	record  Record
}

func newColumns(object uint32, names []string, b *budget) *columns {
	made := &columns{object: object, numbers: map[string]int{}, open: names == nil, budget: b}
	for _, name := range names {
		made.numbers[name] = len(made.all)
		made.all = append(made.all, &column{name: name})
	}
	return made
}

const lentBytes = 1 << 20

func (s *columns) take(bytes int64) *errs.Error {
	if s.lent -= bytes; s.lent >= 0 {
		return nil
	}
	more := lentBytes - s.lent
	s.lent += more
	return s.budget.take(more)
}

// add takes the features of a record, the next one.
func (s *columns) add(r Record) *errs.Error {
	s.record = r
	return example(r.Data, s.feature)
}

// finish says how many records there were.
func (s *columns) finish(records int64) *errs.Error {
	for _, c := range s.all {
		if err := s.take(9 * (records - c.starts.count())); err != nil {
			return err
		}
		c.reach(records)
	}
	return nil
}

func (s *columns) feature(name []byte, value cursor) *errs.Error {
	number, known := s.numbers[string(name)]
	if !known {
		if !s.open {
			return nil // TensorFlow does not look at it either
		}
		var err *errs.Error
		if number, err = s.begin(string(name)); err != nil {
			return err
		}
	}
	c := s.all[number]
	if err := s.fill(c, value); err != nil {
		return err.InColumn(c.name)
	}
	return nil
}

// begin makes a column of a name that has none.
func (s *columns) begin(name string) (int, *errs.Error) {
	if len(s.all) == mostColumns {
		return 0, tooMany()
	}
	s.numbers[name] = len(s.all)
	s.all = append(s.all, &column{name: name})
	return len(s.all) - 1, nil
}

func tooMany() *errs.Error {
	return fail(errs.ErrLimit, "more than %d features have different names: name those that you use", mostColumns)
}

func (s *columns) fill(c *column, value cursor) *errs.Error {
	kind, values, err := list(value)
	if err != nil {
		return err
	}
	if c.starts.count() == s.record.Number+1 {
		c.drop() // of one name, the last counts
	}
	if err := s.take(9 * (s.record.Number + 1 - c.starts.count())); err != nil {
		return err
	}
	c.reach(s.record.Number + 1)
	if kind == "" {
		return nil
	}
	if c.kind == "" {
		c.kind = kind
	}
	if kind != c.kind {
		return differs(kind, c.kind)
	}
	c.lists(1)
	switch kind {
	case Bytes:
		return s.bytes(c, values)
	case Floats:
		return s.floats(c, values)
	default:
		return s.ints(c, values)
	}
}

func differs(kind, before Kind) *errs.Error {
	return fail(errs.ErrSchema, "a list of type %q, and other records have one of type %q", kind, before)
}

func (s *columns) bytes(c *column, v cursor) *errs.Error {
	for !v.done() {
		if v.data[v.at] != first {
			return broken(v, "no bytes")
		}
		v.at++
		p, ok := v.part()
		if !ok {
			return broken(v, "cut bytes")
		}
		if err := s.take(24); err != nil {
			return err
		}
		c.places.add(source.Extent{Object: s.object, Offset: s.record.Offset + int64(p.at), Length: int64(p.left())})
	}
	return nil
}

func (s *columns) floats(c *column, v cursor) *errs.Error {
	v, is, err := packed(v)
	if err != nil {
		return err
	}
	if err := s.take(int64(v.left())); err != nil {
		return err
	}
	if is {
		if v.left()%4 != 0 {
			return broken(v, "a cut float")
		}
		for at := v.data[v.at:]; len(at) > 0; {
			room := c.floats.room(len(at) / 4)
			for i := range room {
				room[i] = math.Float32frombits(binary.LittleEndian.Uint32(at[4*i:]))
			}
			at = at[4*len(room):]
		}
		return nil
	}
	for ; !v.done(); v.at += 4 {
		if v.data[v.at] != 1<<3|5 {
			return broken(v, "no float")
		}
		v.at++
		if v.left() < 4 {
			return broken(v, "a cut float")
		}
		c.floats.add(math.Float32frombits(binary.LittleEndian.Uint32(v.data[v.at:])))
	}
	return nil
}

func (s *columns) ints(c *column, v cursor) *errs.Error {
	v, is, err := packed(v)
	if err != nil {
		return err
	}
	for !v.done() {
		if !is {
			if v.data[v.at] != 1<<3 {
				return broken(v, "no int")
			}
			v.at++
		}
		n, ok := v.varint()
		if !ok {
			return broken(v, "a cut int")
		}
		if err := s.take(8); err != nil {
			return err
		}
		c.ints.add(int64(n))
	}
	return nil
}
