package parquet

import (
	"errors"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
)

// TestMetadataIsNotGuessed opens footers with one column that the library alone would
// read as plain integers.
func TestMetadataIsNotGuessed(t *testing.T) {
	annotated := func(physical int32, members func(m *compact)) func(m *compact) {
		return func(m *compact) {
			m.i32(1, physical)
			m.text(4, "x")
			m.field(10, thriftStruct)
			m.begin()
			members(m)
			m.end()
		}
	}
	empty := func(m *compact, id int16) {
		m.field(id, thriftStruct)
		m.begin()
		m.end()
	}
	cases := []struct {
		name   string
		column func(m *compact)
		kind   error
		text   string
	}{
		{"plain", func(m *compact) { m.i32(1, int32(int32s)); m.text(4, "x") }, nil, ""},
		{"no annotation in the union", annotated(int32(int32s), func(*compact) {}), nil, ""},
		{"annotation that is not known", annotated(int32(int32s), func(m *compact) { empty(m, 14) }), errs.ErrUnsupported, "annotated type"},
		{"two annotations", annotated(int32(int32s), func(m *compact) { empty(m, 6); empty(m, 14) }), errs.ErrDamaged, "thrift"},
		{"decimal without a scale", annotated(int32(int32s), func(m *compact) { empty(m, 5) }), errs.ErrDamaged, "required"},
		{"unit that is not known", annotated(int32(int64s), func(m *compact) {
			m.field(8, thriftStruct)
			m.begin()
			m.field(2, thriftStruct)
			m.begin()
			empty(m, 4)
			m.end()
			m.end()
		}), errs.ErrUnsupported, "unknown kind"},
		{"type 257", func(m *compact) { m.i32(1, 257); m.text(4, "x") }, errs.ErrUnsupported, "unknown physical type"},
		{"type of 64 bits", func(m *compact) { m.i64(1, int64(int32s)); m.text(4, "x") }, errs.ErrDamaged, "mismatch"},
		{"end with a number", func(m *compact) { m.i32(1, int32(int32s)); m.text(4, "x"); m.WriteByte(0x10) }, errs.ErrDamaged, "thrift"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := &compact{}
			m.oneColumn()
			c.column(m)
			m.end()
			m.i64(3, 0)
			m.list(4, 0, thriftStruct)
			m.end()
			_, err := open(t, seal(magic, m.Bytes()), table.Options{})
			if !errors.Is(err, c.kind) || err != nil && !strings.Contains(err.Error(), c.text) {
				t.Fatalf("got %v, want %v with %q", err, c.kind, c.text)
			}
		})
	}
}
