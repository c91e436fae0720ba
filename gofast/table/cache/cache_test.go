package cache

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
)

var ctx = context.Background()

// begin has the right to build a cache.
func begin(t testing.TB, path string) *Folder {
	t.Helper()
	f, err := Begin(ctx, path, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Release)
	return f
}

// build makes a small table: 3 rows of a bound of 5, an integer, a float and a text label.
func build(t testing.TB, path, fingerprint string) {
	t.Helper()
	f := begin(t, path)
	w, err := f.Create(Bound{Rows: 5, Width: 4, Type: table.Int16, Labels: 3})
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
	f.Release()
}

func fill(b []byte) {
	for i := range b {
		b[i] = byte(i + 1)
	}
}

// contains says whether the values of an array are those of its file.
func contains(t testing.TB, path, name string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(path, name+".npy"))
	if err != nil || len(got)%64 != len(want)%64 || !bytes.HasSuffix(got, want) {
		t.Errorf("%s: %v, %d bytes", name, err, len(got))
	}
}

func names(t testing.TB, path string) (names []string) {
	entries, err := os.ReadDir(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

var whole = []string{"arrays.jsonl", "features.npy", "labels.npy"}

// TestExport writes a cache for python/tests/tables/test_cache.py.
func TestExport(t *testing.T) {
	folder := os.Getenv("GOFAST_TEST_CACHE_OUT")
	if folder == "" {
		t.Skip("GOFAST_TEST_CACHE_OUT names no folder to write to")
	}
	build(t, filepath.Join(folder, "t.cache"), "f")
}

func TestBuildAndReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t[1]*") // no pattern
	build(t, path, "f1")
	features, labels := make([]byte, 3*8), make([]byte, 3*24)
	fill(features)
	fill(labels)
	contains(t, path, "features", features)
	contains(t, path, "labels", labels)
	if got := names(t, path); !reflect.DeepEqual(got, whole) {
		t.Errorf("files: %v", got)
	}
	open, err := os.Open(filepath.Join(path, "features.npy"))
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if again, err := Begin(ctx, path, false, "f0", "f1"); again != nil || err != nil {
		t.Errorf("it is there: %v %v", again, err)
	}
	build(t, path, "f2")
	if there, err := fingerprintAt(path); there != "f2" || err != nil {
		t.Errorf("%q %v", there, err)
	}
	if got := make([]byte, 24); true {
		if _, err := open.ReadAt(got, 128); err != nil || !bytes.Equal(got, features) {
			t.Errorf("what is open changed: %v", err)
		}
	}
	for _, c := range []struct {
		force       bool
		fingerprint string
	}{{true, "f2"}, {false, "g"}} {
		again, err := Begin(ctx, path, c.force, c.fingerprint)
		if again == nil || err != nil {
			t.Fatalf("%v %v", again, err)
		}
		again.Release()
		if there, _ := fingerprintAt(path); there != "f2" { // nothing was created: the old one stays
			t.Errorf("%+v: %q", c, there)
		}
	}
}

// TestDescription: each changed byte makes it none, and none of it is taken from a file that is not whole.
func TestDescription(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t")
	build(t, path, "f")
	name := filepath.Join(path, descriptionName)
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var d description
	first, lines, _ := bytes.Cut(good, []byte("\n"))
	if err := json.Unmarshal(first, &d); err != nil || d.Arrays[0].DType != "int16" || !slices.Equal(d.Arrays[0].Shape, []int64{3, 4}) ||
		d.Labels[2].Classes[2] != "犬" || bytes.Count(lines, []byte("\n")) != 3 {
		t.Errorf("%v: %s", err, good)
	}
	for i := range good {
		flipped := slices.Clone(good)
		flipped[i] ^= 1 << (i % 7)
		for _, bad := range [][]byte{flipped, good[:i]} {
			if err := os.WriteFile(name, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			if there, err := fingerprintAt(path); there != "" {
				t.Fatalf("byte %d: %q %v", i, there, err)
			}
		}
	}
}

func TestNoLabelsAndNoRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t")
	for _, rows := range []int64{2, 0} {
		f := begin(t, path)
		w, err := f.Create(Bound{Rows: 2, Width: 3, Type: table.Uint8})
		if err != nil {
			t.Fatal(err)
		}
		if rows == 0 {
			w.Abort()
			w.Abort()
			if w, err = f.Create(Bound{Rows: 0, Width: 3, Type: table.Uint8}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Finish(ctx, Meta{Rows: rows, Shape: []int{3}, Bool: true}); err != nil {
			t.Fatal(err)
		}
		contains(t, path, "features", make([]byte, 3*rows))
		if got := names(t, path); !reflect.DeepEqual(got, whole[:2]) {
			t.Errorf("files: %v", got)
		}
		if _, err := f.Create(Bound{Rows: 1, Width: 1, Type: table.Uint8}); !errors.Is(err, errs.ErrClosed) {
			t.Errorf("create after finish would overwrite the cache: %v", err)
		}
		f.Release()
	}
}

func TestErrors(t *testing.T) {
	folder := t.TempDir()
	if _, err := Begin(ctx, filepath.Join(folder, "none", "t"), false); !errors.Is(err, errs.ErrRead) {
		t.Errorf("no folder: %v", err)
	}
	path := filepath.Join(folder, "t")
	f := begin(t, path)
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if _, err := Begin(short, path, false); !errors.Is(err, errs.ErrCanceled) {
		t.Errorf("locked: %v", err)
	}
	if _, err := f.Create(Bound{Rows: 1 << 62, Width: 4, Type: table.Float64}); !errors.Is(err, errs.ErrLimit) {
		t.Errorf("too large: %v", err)
	}
	if _, err := f.Create(Bound{Rows: 4, Labels: 3}); err == nil {
		t.Error("a table without a type")
	}
	// More than any disk has: refused before anything is mapped.
	if _, err := f.Create(Bound{Rows: 1 << 57, Width: 1, Type: table.Uint8}); !errors.Is(err, errs.ErrRead) {
		t.Errorf("full disk: %v", err)
	}
	w, err := f.Create(Bound{Rows: 2, Width: 1, Type: table.Uint8})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(ctx, Meta{Rows: 3, Shape: []int{1}}); !errors.Is(err, errs.ErrInternal) {
		t.Errorf("more rows than the bound: %v", err)
	}
	if err := w.Finish(ctx, Meta{Rows: 1, Shape: []int{1}}); !errors.Is(err, errs.ErrClosed) {
		t.Errorf("finish after a failure: %v", err)
	}
	f.Release()
	f.Release()
	if left := names(t, folder); len(left) != 0 {
		t.Errorf("files left: %v", left)
	}
}

// TestWhatIsSomebodysOwn is refused, and stays.
func TestWhatIsSomebodysOwn(t *testing.T) {
	set := `{"gofast": 1, "kind": "set"}` + "\n"
	for name, content := range map[string]string{"features.npy": "", "arrays.jsonl": set, "arrays.jsonl.part": set} {
		path := t.TempDir()
		if err := os.WriteFile(filepath.Join(path, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Begin(ctx, path, true); !errors.Is(err, errs.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
		if left := names(t, path); !reflect.DeepEqual(left, []string{name}) {
			t.Errorf("%s: left %v", name, left)
		}
		if _, err := Begin(ctx, filepath.Join(path, name), true); !errors.Is(err, errs.ErrConfig) {
			t.Errorf("%s is no folder: %v", name, err)
		}
	}
}

func TestKilledBuilder(t *testing.T) {
	if path := os.Getenv("GOFAST_TEST_CACHE"); path != "" {
		f, err := Begin(ctx, path, false)
		if err == nil {
			_, err = f.Create(Bound{Rows: 1000, Width: 100, Type: table.Uint8, Labels: 1})
		}
		if err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString("built half\n")
		time.Sleep(time.Minute) // killed long before
		f.Release()
	}
	path := filepath.Join(t.TempDir(), "t")
	build(t, path, "g")
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
	if _, err := Begin(short, path, false, "g"); !errors.Is(err, errs.ErrCanceled) {
		t.Errorf("the child does not hold the lock: %v", err)
	}
	if err := child.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	if there, err := fingerprintAt(path); there != "" || err != nil {
		t.Errorf("half a cache is %q, %v", there, err)
	}
	build(t, path, "f")
	if got := names(t, path); !reflect.DeepEqual(got, whole) {
		t.Errorf("files: %v", got)
	}
}

// TestTexts keeps two columns: of what a tokenizer gave, with a mask that is all ones, and of words.
func TestTexts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t")
	f := begin(t, path)
	w, err := f.Create(Bound{Rows: 4, Type: table.Uint8, Labels: 3})
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
	for name, want := range map[string][]byte{"texts_0_ends": ends, "texts_0_0": ids, "texts_1_ends": ends[:8], "texts_1_0": words} {
		contains(t, path, name, want)
	}
}
