package npy

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/tabletest"
)

func TestHeaders(t *testing.T) {
	const good = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }"
	data := []byte{1, 2}
	if _, err := openBytes(t, rawNPY(1, strings.ReplaceAll(good, "'", `"`)+"   \n", data)); err != nil {
		t.Errorf("double quotes: %v", err)
	}
	for text, kind := range map[string]error{
		"":                                      errs.ErrDamaged,
		"{}":                                    errs.ErrDamaged,
		"{":                                     errs.ErrDamaged,
		"[]":                                    errs.ErrDamaged,
		good + "x":                              errs.ErrDamaged,
		good + "\x00":                           errs.ErrDamaged,
		good[:len(good)-1]:                      errs.ErrDamaged,
		strings.Replace(good, "False", "0", 1):  errs.ErrDamaged,
		strings.Replace(good, "False", "", 1):   errs.ErrDamaged,
		strings.Replace(good, "(2,)", "(2)", 1): errs.ErrDamaged,
		strings.Replace(good, "(2,)", "(-2,)", 1):                                          errs.ErrDamaged,
		strings.Replace(good, "(2,)", "(2,,)", 1):                                          errs.ErrDamaged,
		strings.Replace(good, "(2,)", "(1 1,)", 1):                                         errs.ErrDamaged,
		strings.Replace(good, "(2,)", "(3,)", 1):                                           errs.ErrDamaged,
		strings.Replace(good, "(2,)", "(1,)", 1):                                           errs.ErrDamaged,
		strings.Replace(good, "(2,)", "(1099511627776,)", 1):                               errs.ErrDamaged,
		strings.Replace(good, "(2,)", "(4611686018427387904, 4)", 1):                       errs.ErrDamaged,
		strings.Replace(good, "(2,)", "(4611686018427387904, 4611686018427387904)", 1):     errs.ErrDamaged,
		strings.Replace(good, "(2,)", "(99999999999999999999,)", 1):                        errs.ErrDamaged,
		strings.Replace(good, "(2,)", "("+strings.Repeat("1,", 65)+")", 1):                 errs.ErrDamaged,
		strings.Replace(good, "|u1", "|u3", 1):                                             errs.ErrUnsupported,
		strings.Replace(good, "|u1", "<c8", 1):                                             errs.ErrUnsupported,
		strings.Replace(good, "|u1", "<f16", 1):                                            errs.ErrUnsupported,
		strings.Replace(good, "|u1", "<M8", 1):                                             errs.ErrUnsupported,
		strings.Replace(good, "|u1", "|O", 1):                                              errs.ErrUnsupported,
		strings.Replace(good, "|u1", "<U0", 1):                                             errs.ErrUnsupported,
		strings.Replace(good, "|u1", "|S999999999", 1):                                     errs.ErrLimit,
		strings.Replace(good, "|u1", "|u4", 1):                                             errs.ErrDamaged,
		strings.Replace(good, "|u1", "<u", 1):                                              errs.ErrDamaged,
		strings.Replace(good, "|u1", "", 1):                                                errs.ErrDamaged,
		strings.Replace(good, "'|u1'", "[('a', '<i4')]", 1):                                errs.ErrUnsupported,
		strings.Replace(good, "shape", "descr", 1):                                         errs.ErrDamaged,
		strings.Replace(good, "'shape'", "'extra'", 1):                                     errs.ErrDamaged,
		"{'descr': '|u1', 'fortran_order': False, }":                                       errs.ErrDamaged,
		"{'descr': '|u1', 'fortran_order': False, 'shape': (2,), 'descr': '|u1', }":        errs.ErrDamaged,
		"{'descr': __import__('os').system('true'), 'fortran_order': False, 'shape': (), ": errs.ErrDamaged,
	} {
		_, err := openBytes(t, rawNPY(1, text, data))
		if !errors.Is(err, kind) {
			t.Errorf("%s: %v, want %v", text, err, kind)
		}
	}
	for shape, kind := range map[string]error{
		"(0, 4611686018427387904)": errs.ErrLimit, "(0, 0)": errs.ErrSchema, "(0, 100000)": errs.ErrLimit,
		"(0, 4611686018427387904, 4)": errs.ErrLimit, "()": errs.ErrDamaged,
	} {
		_, err := openBytes(t, rawNPY(2, strings.Replace(good, "(2,)", shape, 1), nil))
		if !errors.Is(err, kind) {
			t.Errorf("%s: %v, want %v", shape, err, kind)
		}
	}
}

// TestClaims opens small files that claim to be huge, and counts what that costs.
func TestClaims(t *testing.T) {
	element := "{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,), }"
	padded := rawNPY(1, element+strings.Repeat(" ", 128-10-len(element)-1)+"\n", nil)
	long := append([]byte(magic), 2, 0, 0xff, 0xff, 0xff, 0xff)
	for name, content := range map[string][]byte{
		"2^40 elements in 128 bytes": padded,
		"header of 4 GiB":            append(long, make([]byte, 100)...),
		"npz":                        npzOf(t, deflated, part{"a.npy", padded}),
		"directory of 65535 members": endRecord(65535, 4, 22),
		"directory of 4 GiB":         endRecord(1, 0xfffffff0, 0),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := openBytes(t, content)
		runtime.ReadMemStats(&after)
		tabletest.WantError(t, err, errs.ErrDamaged)
		if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
			t.Errorf("%s: allocated %d bytes", name, took)
		}
	}
}

func endRecord(count uint16, size, offset uint32) []byte {
	b := append([]byte(endMagic), 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint16(b, count)
	b = binary.LittleEndian.AppendUint16(b, count)
	b = binary.LittleEndian.AppendUint32(b, size)
	b = binary.LittleEndian.AppendUint32(b, offset)
	return append(b, 0, 0)
}

// TestBomb is a compressed array in Fortran order that does not fit the budget.
func TestBomb(t *testing.T) {
	bomb := npyOf("|u1", true, "(100000, 1000)", le32, make([]uint8, 100_000_000))
	r := mustOpen(t, npzOf(t, deflated, part{"a.npy", bomb}))
	_, err := r.Decode(context.Background(), table.Selection{Features: []int{0}},
		table.Target{Features: table.Matrix{Data: nil, Type: table.Uint8, Width: 1000}})
	if !errors.Is(err, errs.ErrLimit) {
		t.Errorf("got %v, want ErrLimit", err)
	}
}

func TestShrinkingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npy")
	if err := os.WriteFile(path, npyOf("|u1", false, "(4096, 1024)", le32, make([]uint8, 4<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := source.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(f, table.Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := os.Truncate(path, 1<<20); err != nil {
		t.Fatal(err)
	}
	_, err = readAll(r, table.Selection{Features: upTo(1024)})
	tabletest.WantError(t, err, errs.ErrChanged)
}

// smallFiles are valid files to damage.
func smallFiles(t testing.TB) map[string][]byte {
	image := npyOf("<i2", true, "(3, 2, 2)", le32, []int16{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 300})
	float := npyOf(">f4", false, "(3,)", binary.BigEndian, []float32{0.5, 1, 2})
	descr, characters, err := Words([]string{"a", "bcd", ""})
	if err != nil {
		t.Fatal(err)
	}
	text := npyOf(descr, false, "(3,)", le32, characters)
	return map[string][]byte{
		"npy":     npyOf("<f8", false, "(3, 2)", le32, []float64{1, 2, 3, 4, 5, 6}),
		"fortran": image,
		"stored":  npzOf(t, stored, part{"x.npy", image}, part{"f.npy", float}, part{"t.npy", text}),
		"packed":  npzOf(t, deflated, part{"x.npy", image}, part{"f.npy", float}, part{"t.npy", text}),
	}
}

// exercise opens and reads content: an error with a path, or a table of the
// declared shape. It returns whether that was a table.
func exercise(t testing.TB, content []byte) bool {
	check := func(err error) bool {
		var own *errs.Error
		if !errors.As(err, &own) || own.Path == "" && !errors.Is(err, errs.ErrLimit) || errors.Is(err, errs.ErrInternal) {
			t.Errorf("untyped error %v", err)
		}
		return false
	}
	r, err := openBytes(t, content)
	if err != nil {
		return check(err)
	}
	defer r.Close()
	var sel table.Selection
	for i, c := range r.Columns() {
		if c.Text && c.Width() == 1 {
			sel.Labels = append(sel.Labels, i)
		} else if !c.Text {
			sel.Features = append(sel.Features, i)
		}
	}
	fill := 7.0
	sel.Fill = &fill
	rows, _ := r.Rows()
	if rows > 1<<20 {
		t.Errorf("%d bytes opened as %d rows", len(content), rows)
		return false
	}
	got, err := readAll(r, sel)
	if err != nil {
		return check(err)
	}
	width := 0
	for _, c := range sel.Features {
		width += r.Columns()[c].Width()
	}
	if int64(len(got.features)) != rows*int64(width) {
		t.Errorf("%d values, want %d x %d", len(got.features), rows, width)
	}
	return true
}

func TestFlipsAndCuts(t *testing.T) {
	for name, good := range smallFiles(t) {
		if !exercise(t, good) {
			t.Fatalf("%s: the undamaged file was refused", name)
		}
		tables := 0
		for i := range good {
			if exercise(t, good[:i]) {
				t.Errorf("%s: cut at %d was read as a table", name, i)
			}
			for _, flip := range []byte{0x01, 0x80, 0xff, 0x20, good[i]} {
				bad := append([]byte(nil), good...)
				bad[i] ^= flip
				if exercise(t, bad) {
					tables++
				}
			}
		}
		if exercise(t, append(append([]byte(nil), good...), 0)) {
			t.Errorf("%s: a byte too many was read as a table", name)
		}
		t.Logf("%s: %d bytes, %d of %d flips were still tables", name, len(good), tables, 5*len(good))
	}
}
