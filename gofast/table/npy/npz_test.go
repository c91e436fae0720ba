package npy

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/tabletest"
)

var le32 = binary.LittleEndian

func TestNPZErrors(t *testing.T) {
	one := npyOf("|u1", false, "(1,)", le32, []uint8{1})
	two := npyOf("|u1", false, "(2,)", le32, []uint8{1, 2})
	for name, c := range map[string]struct {
		parts []part
		kind  error
		says  string
	}{
		"rows":      {[]part{{"a.npy", one}, {"b.npy", two}}, errs.ErrSchema, `array "a" has 1 rows, array "b" has 2`},
		"duplicate": {[]part{{"a.npy", one}, {"a.npy", one}}, errs.ErrSchema, "same name"},
		"foreign":   {[]part{{"a.npy", one}, {"readme.txt", nil}}, errs.ErrFormat, "readme.txt"},
		"scalar":    {[]part{{"a.npy", npyOf("|u1", false, "()", le32, []uint8{1})}}, errs.ErrSchema, "single value"},
		"pickle":    {[]part{{"a.npy", npyOf("|O", false, "(1,)", le32, []uint8{1})}}, errs.ErrUnsupported, "pickled"},
		"none":      {nil, errs.ErrSchema, "no arrays"},
	} {
		for _, method := range []uint16{stored, deflated} {
			_, err := openBytes(t, npzOf(t, method, c.parts...))
			tabletest.WantError(t, err, c.kind)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v does not say %q", name, err, c.says)
			}
		}
	}
}

func TestNPZChecksum(t *testing.T) {
	values := make([]uint8, 3<<20)
	a := npyOf("|u1", false, "(3072, 1024)", le32, values)
	f := npyOf("|u1", true, "(3072, 1024)", le32, values)
	for _, c := range [][]byte{a, f} {
		content := npzOf(t, stored, part{"a.npy", c})
		content[2<<20] ^= 1
		_, err := readAll(mustOpen(t, content), table.Selection{Features: []int{0}})
		tabletest.WantError(t, err, errs.ErrDamaged)
	}
}

func TestWriter(t *testing.T) {
	if head := Header("<i4", []int64{2, 3}); len(head)%64 != 0 {
		t.Errorf("header of %d bytes", len(head))
	}
	if _, text, err := Words([]string{"a", "größe"}); err != nil || len(text) != 40 {
		t.Errorf("%d %v", len(text), err)
	}
	if _, _, err := Words([]string{"a\x00"}); err == nil {
		t.Error("a word that numpy would cut was written")
	}
}
