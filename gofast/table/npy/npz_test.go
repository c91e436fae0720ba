package npy

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast/internal/crc"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/tabletest"
)

var le32 = binary.LittleEndian

// words is a 'U' or 'S' array of one column.
func words(descr string, cells ...string) []byte {
	var data []byte
	var kind byte
	var room int
	fmt.Sscanf(descr[1:], "%c%d", &kind, &room)
	for _, c := range cells {
		cell := make([]byte, room)
		copy(cell, c)
		if kind == 'U' {
			cell = make([]byte, 4*room)
			order := binary.ByteOrder(binary.LittleEndian)
			if descr[0] == '>' {
				order = binary.BigEndian
			}
			for i, r := range []rune(c) {
				order.PutUint32(cell[4*i:], uint32(r))
			}
		}
		data = append(data, cell...)
	}
	return npyOf(descr, false, fmt.Sprintf("(%d,)", len(cells)), le32, data)
}

func TestNPZ(t *testing.T) {
	image := npyOf("|u1", false, "(3, 2, 2)", le32, []uint8{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
	weight := npyOf("<f8", false, "(3,)", le32, []float64{0.5, 1.5, 2.5})
	label := npyOf("<i8", false, "(3, 1)", le32, []int64{4, 5, -6})
	for _, method := range []uint16{stored, deflated} {
		content := npzOf(t, method, part{"image.npy", image}, part{"weight.npy", weight}, part{"label.npy", label},
			part{"s.npy", words("|S5", "dog", "kätz", "")}, part{"u.npy", words(">U4", "dog", "kät", "犬")})
		r := mustOpen(t, content)
		var names []string
		for _, c := range r.Columns() {
			names = append(names, c.Name)
		}
		if !slices.Equal(names, []string{"image", "weight", "label", "s", "u"}) {
			t.Fatalf("columns %v", names)
		}
		got, err := readAll(r, table.Selection{Features: []int{1, 0}, Labels: []int{2, 3, 4}})
		want := []float64{0.5, 1, 2, 3, 4, 1.5, 5, 6, 7, 8, 2.5, 9, 10, 11, 12}
		if err != nil || !slices.Equal(got.features, want) || got.Type != table.Float32 {
			t.Errorf("method %d: %v %v", method, got.features, err)
		}
		text := got.Word
		if l := table.View[int64](got.Labels); l[0] != 4 || l[3] != 5 || l[6] != -6 ||
			text(0, 1) != "dog" || text(1, 1) != "kätz" || text(2, 1) != "" || text(0, 2) != "dog" || text(1, 2) != "kät" || text(2, 2) != "犬" {
			t.Errorf("method %d: labels %v", method, l)
		}
		_, err = readAll(r, table.Selection{Features: []int{3}})
		tabletest.WantError(t, err, errs.ErrValue)
		_, err = readAll(r, table.Selection{Features: []int{1}, Labels: []int{0}})
		tabletest.WantError(t, err, errs.ErrSchema)
	}
}

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

// TestWriter reads what Header, Words, Local and Directory write with
// archive/zip's rules (through our reader, which is stricter).
func TestWriter(t *testing.T) {
	head := Header("<i4", []int64{2, 3})
	if len(head)%64 != 0 {
		t.Errorf("header of %d bytes", len(head))
	}
	data := []byte{}
	for i := range 6 {
		data = le.AppendUint32(data, uint32(i))
	}
	descr, text, err := Words([]string{"a", "größe"})
	if err != nil || len(text) != 40 {
		t.Fatalf("%d %v", len(text), err)
	}
	payloads := [][]byte{append(head, data...), append(Header(descr, []int64{2}), text...)}
	var file []byte
	var entries []Entry
	for i, name := range []string{"x.npy", "wörter.npy"} {
		e := Entry{Name: name, At: int64(len(file)), Payload: int64(len(payloads[i])), CRC: crc.Of(payloads[i]).IEEE}
		e.PayloadAt = (e.At + MinLocal(name) + 63) / 64 * 64
		file = append(file, e.Local()...)
		if int64(len(file)) != e.PayloadAt {
			t.Fatalf("local header ends at %d, not %d", len(file), e.PayloadAt)
		}
		file = append(file, payloads[i]...)
		entries = append(entries, e)
	}
	file = append(file, Directory(entries, int64(len(file)))...)
	r := mustOpen(t, file)
	got, err := readAll(r, table.Selection{Features: []int{0}, Labels: []int{1}})
	if err != nil || !slices.Equal(got.features, []float64{0, 1, 2, 3, 4, 5}) || got.Word(0, 0) != "a" || got.Word(1, 0) != "größe" {
		t.Errorf("%v %v", got.features, err)
	}
	if out := os.Getenv("GOFAST_NPZ_OUT"); out != "" { // for a look with numpy.load
		if err := os.WriteFile(filepath.Join(out, "written.npz"), file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := Words([]string{"a\x00"}); err == nil {
		t.Error("a word that numpy would cut was written")
	}
}
