package cache

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/internal/atomicfile"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
)

var ctx = context.Background()

// build makes a small table: 3 rows of a bound of 5, an integer, a float and a
// text label.
func build(t testing.TB, path, fingerprint string) Meta {
	t.Helper()
	lock, err := atomicfile.Begin(ctx, op, path)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	w, err := Create(lock, Bound{Rows: 5, Width: 4, Type: table.Int16, Labels: 3})
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Features) != 5*4*2 || len(w.Labels) != 5*3*8 {
		t.Fatalf("%d and %d bytes", len(w.Features), len(w.Labels))
	}
	fill(w.Features)
	fill(w.Labels)
	m := Meta{
		Fingerprint: fingerprint, Rows: 3, Shape: []int{2, 2}, Names: []string{"a", "b", "ü", "d"},
		Labels: []Label{{Name: "i", Kind: table.IntLabel}, {Name: "f", Kind: table.FloatLabel},
			{Name: "t", Kind: table.TextLabel, Classes: []string{"cat", "größe", "犬"}}},
	}
	if err := w.Finish(ctx, m); err != nil {
		t.Fatal(err)
	}
	return m
}

func fill(b []byte) {
	for i := range b {
		b[i] = byte(i + 1)
	}
}

// TestExport writes a cache for python/tests/tables/test_cache.py.
func TestExport(t *testing.T) {
	folder := os.Getenv("GOFAST_TEST_CACHE_OUT")
	if folder == "" {
		t.Skip("GOFAST_TEST_CACHE_OUT names no folder to write to")
	}
	build(t, filepath.Join(folder, "t.npz"), "f")
}

func TestBuildAndOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.npz")
	m := build(t, path, "f1")
	c, err := Open(path, "f1")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if !reflect.DeepEqual(c.Meta, m) {
		t.Errorf("got %+v, want %+v", c.Meta, m)
	}
	features, labels := make([]byte, 3*8), make([]byte, 3*24)
	fill(features)
	fill(labels)
	if !bytes.Equal(c.Features, features) || !bytes.Equal(c.Labels, labels) || c.Type != table.Int16 || c.Width != 4 {
		t.Errorf("features %v labels %v", c.Features, c.Labels)
	}
	if err := Verify(ctx, path); err != nil {
		t.Error(err)
	}
	if _, err := Open(path, "f2"); !errors.Is(err, errs.ErrChanged) {
		t.Errorf("stale: %v", err)
	}
	if left, _ := filepath.Glob(path + "*"); len(left) != 1 {
		t.Errorf("files left: %v", left)
	}
	build(t, path, "f2") // replaces it under the open mapping
	if !bytes.Equal(c.Features, features) {
		t.Error("the open mapping changed")
	}
	if err := c.Close(); err != nil || c.Close() != nil {
		t.Error("close twice", err)
	}
}

func TestNoLabelsAndNoRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.npz")
	lock, err := atomicfile.Begin(ctx, op, path)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	for _, rows := range []int64{2, 0} {
		w, err := Create(lock, Bound{Rows: 2, Width: 3, Type: table.Uint8})
		if err != nil {
			t.Fatal(err)
		}
		if rows == 0 {
			w.Abort()
			w.Abort()
			if w, err = Create(lock, Bound{Rows: 0, Width: 3, Type: table.Uint8}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Finish(ctx, Meta{Rows: rows, Shape: []int{3}, Bool: true}); err != nil {
			t.Fatal(err)
		}
		if err := Verify(ctx, path); err != nil {
			t.Error(err)
		}
		c, err := Open(path, "")
		if err != nil || len(c.Features) != int(rows)*3 || c.Labels != nil || !c.Bool {
			t.Errorf("%+v %v", c, err)
		}
		if _, err := Create(lock, Bound{Rows: 1, Width: 1, Type: table.Uint8}); !errors.Is(err, errs.ErrClosed) {
			t.Errorf("create after finish would overwrite the cache: %v", err)
		}
		lock.Release()
		if lock, err = atomicfile.Begin(ctx, op, path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEveryByte flips and cuts: Verify notices all of it, Open all that it relies on.
func TestEveryByte(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.npz")
	build(t, path, "f")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.MemfdCreate("damaged", 0)
	if err != nil {
		t.Fatal(err)
	}
	damaged := os.NewFile(uintptr(fd), "damaged")
	defer damaged.Close()
	try := func(what string, at int, content []byte) {
		if err := damaged.Truncate(int64(len(content))); err != nil {
			t.Fatal(err)
		}
		if _, err := damaged.WriteAt(content, 0); err != nil {
			t.Fatal(err)
		}
		name := "/proc/self/fd/" + strconv.Itoa(fd)
		if err := Verify(ctx, name); !errors.Is(err, errs.ErrDamaged) {
			t.Fatalf("%s at %d of %d: Verify says %v", what, at, len(content), err)
		}
		c, err := Open(name, "f")
		if err == nil {
			for _, b := range [][]byte{c.Features, c.Labels} {
				if len(b) > len(content) {
					t.Fatalf("%s at %d: %d bytes mapped", what, at, len(b))
				}
			}
			c.Close()
		} else if !errors.Is(err, errs.ErrDamaged) {
			t.Fatalf("%s at %d: Open says %v", what, at, err)
		}
	}
	for i := range good {
		if i > 100 && i < 3900 && i%97 != 0 { // zeros of the padding
			continue
		}
		for _, flip := range []byte{0x01, 0x80} {
			bad := bytes.Clone(good)
			bad[i] ^= flip
			try("flip", i, bad)
		}
		try("cut", i, good[:i])
	}
	try("longer", len(good), append(bytes.Clone(good), 0))
}

// TestForged opens headers with a right checksum and wrong numbers.
func TestForged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.npz")
	build(t, path, "f")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	directory := binary.LittleEndian.Uint64(good[len(good)-zipTail+48:])
	for name, change := range map[string]func(h *header){
		"rows":     func(h *header) { h.Rows = 1 << 62 },
		"negative": func(h *header) { h.Rows = -1 },
		"width":    func(h *header) { h.Width = 5 },
		"shape":    func(h *header) { h.Shape = []int{1 << 31, 1 << 31, 4} },
		"offset":   func(h *header) { h.Arrays[0].Offset = 1 << 62 },
		"bytes":    func(h *header) { h.Arrays[1].Bytes = 1 << 62 },
		"none":     func(h *header) { h.Arrays = nil },
		"classes":  func(h *header) { h.Labels[2].Classes = 1 << 62 },
		"minus":    func(h *header) { h.Labels[2].Classes = -1 },
		"dtype":    func(h *header) { h.DType = "invalid" },
		"bool":     func(h *header) { h.Bool = true },
		"format":   func(h *header) { h.Format = 2 },
	} {
		h, text := parse(t, path)
		change(h)
		forged, err := h.seal()
		if err != nil {
			t.Fatal(err)
		}
		start := int(directory) - len(text)
		content := append(append(bytes.Clone(good[:start]), forged...), good[directory:]...)
		// The header may have another length: fix the size and the directory's place.
		grown := len(content) - len(good)
		h.Size = int64(len(content))
		if forged, err = h.seal(); err != nil {
			t.Fatal(err)
		}
		copy(content[start:], forged)
		binary.LittleEndian.PutUint64(content[len(content)-zipTail+48:], directory+uint64(grown))
		other := path + name
		if err := os.WriteFile(other, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(other, "f"); !errors.Is(err, errs.ErrDamaged) {
			t.Errorf("%s: Open says %v", name, err)
		}
		if err := Verify(ctx, other); !errors.Is(err, errs.ErrDamaged) {
			t.Errorf("%s: Verify says %v", name, err)
		}
	}
}

func TestErrors(t *testing.T) {
	folder := t.TempDir()
	if _, err := Open(filepath.Join(folder, "none"), ""); !errors.Is(err, errs.ErrNotFound) {
		t.Errorf("no cache: %v", err)
	}
	if _, err := atomicfile.Begin(ctx, op, filepath.Join(folder, "none", "t.npz")); !errors.Is(err, errs.ErrRead) {
		t.Errorf("no folder: %v", err)
	}
	path := filepath.Join(folder, "t.npz")
	lock, err := atomicfile.Begin(ctx, op, path)
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if _, err := atomicfile.Begin(short, op, path); !errors.Is(err, errs.ErrCanceled) {
		t.Errorf("locked: %v", err)
	}
	if _, err := Create(lock, Bound{Rows: 1 << 62, Width: 4, Type: table.Float64}); !errors.Is(err, errs.ErrLimit) {
		t.Errorf("too large: %v", err)
	}
	// More than any disk has: refused before anything is mapped.
	if _, err := Create(lock, Bound{Rows: 1 << 57, Width: 1, Type: table.Uint8}); !errors.Is(err, errs.ErrRead) {
		t.Errorf("full disk: %v", err)
	}
	w, err := Create(lock, Bound{Rows: 2, Width: 1, Type: table.Uint8})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(ctx, Meta{Rows: 3, Shape: []int{1}}); !errors.Is(err, errs.ErrInternal) {
		t.Errorf("more rows than the bound: %v", err)
	}
	if err := w.Finish(ctx, Meta{Rows: 1, Shape: []int{1}}); !errors.Is(err, errs.ErrClosed) {
		t.Errorf("finish after a failure: %v", err)
	}
	lock.Release()
	lock.Release()
	if left, _ := os.ReadDir(folder); len(left) != 0 {
		t.Errorf("files left: %v", left)
	}
}

func parse(t *testing.T, path string) (*header, []byte) {
	f, err := source.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h, text, err := readHeader(f)
	if err != nil {
		t.Fatal(err)
	}
	return h, text
}

func TestKilledBuilder(t *testing.T) {
	if path := os.Getenv("GOFAST_TEST_CACHE"); path != "" {
		lock, err := atomicfile.Begin(ctx, op, path)
		if err == nil {
			_, err = Create(lock, Bound{Rows: 1000, Width: 100, Type: table.Uint8})
		}
		if err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString("built half\n")
		time.Sleep(time.Minute) // killed long before
		lock.Release()
	}
	path := filepath.Join(t.TempDir(), "t.npz")
	child := exec.Command(os.Args[0], "-test.run=^TestKilledBuilder$")
	child.Env = append(os.Environ(), "GOFAST_TEST_CACHE"+"="+path)
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if _, err := atomicfile.Begin(short, op, path); !errors.Is(err, errs.ErrCanceled) {
		t.Errorf("the child does not hold the lock: %v", err)
	}
	if err := child.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	build(t, path, "f")
	if err := Verify(ctx, path); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(path + "*"); len(left) != 1 {
		t.Errorf("files left: %v", left)
	}
}

// TestTexts keeps two columns: of what a tokenizer gave, with a mask that is all ones, and of words.
func TestTexts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.npz")
	lock, err := Begin(ctx, path, false, "f")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	if _, err := Create(lock, Bound{Rows: 4, Labels: 3}); err == nil {
		t.Fatal("a table without a type")
	}
	w, err := Create(lock, Bound{Rows: 4, Type: table.Uint8, Labels: 3})
	if err != nil {
		t.Fatal(err)
	}
	ends, ids, words := make([]byte, 3*8), make([]byte, 5*4), []byte("größe")
	fill(w.Labels)
	fill(ends)
	fill(ids)
	m := Meta{Fingerprint: "f", Rows: 4, Shape: []int{0}, Labels: []Label{{Name: "f", Kind: table.FloatLabel}}, Texts: []Text{
		{Name: "review", Ends: ends, Values: []Values{{Name: "input_ids", Type: table.Int32, Data: ids}, {Name: "attention_mask"}}},
		{Name: "place", Ends: ends[:8], Values: []Values{{Name: "place", Type: table.Uint8, Data: words}}},
	}}
	if err := w.Finish(ctx, m); err != nil {
		t.Fatal(err)
	}
	if err := Verify(ctx, path); err != nil {
		t.Fatal(err)
	}
	f, err := source.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h, _, err := readHeader(f)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]byte{"texts_0_ends": ends, "texts_0_0": ids, "texts_1_ends": ends[:8], "texts_1_0": words} {
		got := make([]byte, h.array(name).Bytes)
		if err := f.ReadFull(got, h.array(name).Offset); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v %v, want %v", name, err, got, want)
		}
	}
	if len(h.Texts) < 2 || h.Texts[0].Name != "review" {
		t.Errorf("%+v", h.Texts)
	}
	lock.Release()
	if again, err := Begin(ctx, path, false, "f"); again != nil || err != nil {
		t.Errorf("it is there: %v %v", again, err)
	}
	for _, fingerprint := range []string{"f", "g"} { // replaced where it must be, or is another's
		again, err := Begin(ctx, path, fingerprint == "f", fingerprint)
		if again == nil || err != nil {
			t.Fatalf("%v %v", again, err)
		}
		again.Release()
	}
}
