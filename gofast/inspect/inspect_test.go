package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	stdimage "image"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/pillowtest"
)

func write(t testing.TB, path string, content []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func drawn(width, height int) stdimage.Image {
	m := stdimage.NewRGBA(stdimage.Rect(0, 0, width, height))
	for i := range m.Pix {
		m.Pix[i] = byte(i * i / 7)
	}
	return m
}

func encoded(t testing.TB, write func(*bytes.Buffer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func jpegOf(t testing.TB, width, height int) []byte {
	return encoded(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, drawn(width, height), nil) })
}

func pngOf(t testing.TB, width, height int) []byte {
	return encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, drawn(width, height)) })
}

func verify(t testing.TB, paths ...string) *Verification {
	t.Helper()
	pillowtest.Library(t, "libjpeg-*.so*", native["jpeg"].Load)
	v, err := Verify(t.Context(), paths, Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func reasons(list []Problem) map[string]string {
	said := map[string]string{}
	for _, p := range list {
		said[filepath.Base(string(p.Path))] = p.Kind + ": " + p.Reason
	}
	return said
}

func TestDamagedPicturesAreNamed(t *testing.T) {
	root := t.TempDir()
	whole := jpegOf(t, 200, 150)
	write(t, filepath.Join(root, "whole.jpg"), whole)
	write(t, filepath.Join(root, "tail.jpg"), append(slices.Clone(whole), make([]byte, 3000)...)) // as some cameras write
	write(t, filepath.Join(root, "cut.jpg"), whole[:len(whole)/2])
	write(t, filepath.Join(root, "header.jpg"), whole[:20])
	write(t, filepath.Join(root, "empty.jpg"), nil)
	write(t, filepath.Join(root, "page.jpg"), []byte("<!DOCTYPE html><html>404</html>"))
	write(t, filepath.Join(root, "cut.png"), pngOf(t, 60, 50)[:80])
	write(t, filepath.Join(root, "cut.ppm"), []byte("P6 400 300 255\n123"))
	if err := os.Symlink("nowhere", filepath.Join(root, "link.jpg")); err != nil {
		t.Fatal(err)
	}
	damaged := reasons(verify(t, root).Damaged)
	for name, part := range map[string]string{"header.jpg": "Damaged", "empty.jpg": "empty", "page.jpg": "HTML", "link.jpg": "NotFound"} {
		if !strings.Contains(damaged[name], part) {
			t.Errorf("%s: %q, want %q", name, damaged[name], part)
		}
	}
	if len(damaged) != 7 || damaged["whole.jpg"]+damaged["tail.jpg"] != "" {
		t.Errorf("%v", damaged)
	}
}

func TestTables(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "a.csv"), []byte("label,name,x,note\n1,cat,2.5,\n0,dog,-1,\n1,,,NA\n"))
	write(t, filepath.Join(root, "broken.csv"), []byte("a,b\n1,2\n3\n"))
	write(t, filepath.Join(root, "no.parquet"), []byte("PAR1 is not enough for a file"))
	write(t, filepath.Join(root, "page.csv"), []byte("<!doctype html><html></html>"))
	write(t, filepath.Join(root, "text.csv"), []byte("one line of words\nand another line\n"))
	write(t, filepath.Join(root, "empty.parquet"), nil)
	write(t, filepath.Join(root, "hashes.csv"), []byte("hash\n1\n18446744073709551615\n")) // whole: pandas reads it as uint64
	v := verify(t, root)
	if damaged := reasons(v.Damaged); len(damaged) != 5 || !strings.Contains(damaged["broken.csv"], "2") || !strings.Contains(damaged["a.csv"], "line 2") ||
		!strings.Contains(damaged["empty.parquet"], "the file is empty") || damaged["no.parquet"] == "" || !strings.Contains(damaged["page.csv"], "HTML") ||
		v.Tables != 7 || len(v.Unchecked) != 1 {
		t.Errorf("%v %+v", damaged, v)
	}
}

// A program that reads the JSON need not ask whether a list is there.
func TestListsAreNeverNull(t *testing.T) {
	text, err := json.Marshal(verify(t, t.TempDir()))
	for _, list := range []string{"hdf5", "damaged", "unchecked", "unreadable_folders"} {
		if err != nil || !strings.Contains(string(text), `"`+list+`":[]`) {
			t.Errorf("%s: %v %s", list, err, text)
		}
	}
}

// What is no ordinary file must neither hang nor end it.
func TestOddFiles(t *testing.T) {
	root := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(root, "pipe.jpg"), 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "\xff\x1b[31m.jpg"), []byte("bytes"))
	if v := verify(t, root); v.Files != 2 || len(v.Damaged) != 2 {
		t.Errorf("%+v", v)
	} else {
		text, err := json.Marshal(v)
		var back Verification
		if err != nil || json.Unmarshal(text, &back) != nil || back.Damaged[1].Path != v.Damaged[1].Path || !strings.Contains(string(text), `\udcff`) {
			t.Errorf("%v %s", err, text)
		}
	}
	loop := t.TempDir()
	if err := os.Symlink(loop, filepath.Join(loop, "again")); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(t.Context(), []string{filepath.Join(root, "pipe.jpg", "x")}, Options{}); !errors.Is(err, errs.ErrRead) || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("%v", err)
	}
	write(t, filepath.Join(loop, "a.txt"), []byte("text"))
	v := verify(t, loop)
	if v.Files != 1 || len(v.Damaged) != 1 || string(v.Damaged[0].Path) != filepath.Join(loop, "again") || !strings.Contains(v.Damaged[0].Reason, "leads back") {
		t.Errorf("%+v", v)
	}
	for _, paths := range [][]string{{filepath.Join(root, "none*")}, {}} {
		if _, err := Verify(t.Context(), paths, Options{}); err == nil {
			t.Errorf("%q: no error", paths)
		}
	}
}

func TestUnreadableFiles(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	root := t.TempDir()
	file := write(t, filepath.Join(root, "a.jpg"), []byte("x"))
	if err := errors.Join(os.Chmod(file, 0), os.Mkdir(filepath.Join(root, "closed"), 0)); err != nil {
		t.Fatal(err)
	}
	if v := verify(t, root); len(v.Damaged) != 1 || v.Damaged[0].Kind != "Read" || len(v.Unreadable) != 1 {
		t.Errorf("%+v", v)
	}
}

func TestTheSamePathCountsOnceAndPatternsMatch(t *testing.T) {
	root := t.TempDir()
	for i := range 5 {
		write(t, filepath.Join(root, fmt.Sprint(i, ".png")), pngOf(t, i+1, 1))
	}
	file := filepath.Join(root, "0.png")
	if r := verify(t, file, file, root+"/./0.png"); r.Files != 1 {
		t.Errorf("%+v", r)
	}
	if r := verify(t, filepath.Join(root, "[1-3]*.png")); r.Files != 3 {
		t.Errorf("%+v", r)
	}
	if r := verify(t, file, root); r.Files != 6 {
		t.Errorf("%+v", r)
	}
}

func TestCancelEndsIt(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "a.png"), pngOf(t, 4, 4))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Verify(ctx, []string{root}, Options{}); !errors.Is(err, errs.ErrCanceled) {
		t.Errorf("%v", err)
	}
}

// A report must not depend on which thread looked at which file.
func TestThreadsChangeNothing(t *testing.T) {
	root := t.TempDir()
	for i := range 300 {
		write(t, filepath.Join(root, fmt.Sprint("c", i%7), fmt.Sprint(i, ".png")), pngOf(t, 1+i%5, 1+i%3)[:60+i%20])
	}
	texts := map[string]bool{}
	for _, threads := range []int{1, 2, 9} {
		r, err := Verify(t.Context(), []string{root}, Options{Threads: threads})
		if err != nil {
			t.Fatal(err)
		}
		r.Seconds = 0
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		texts[string(text)] = true
	}
	if len(texts) != 1 {
		t.Errorf("%d reports", len(texts))
	}
}

func FuzzKinds(f *testing.F) {
	f.Add(jpegOf(f, 9, 7))
	f.Add(pngOf(f, 9, 7))
	for _, head := range []string{"II*\x00\x08\x00\x00\x00\x01\x00", "RIFF\x00\x00\x00\x00WEBPVP8X", "P6 1 1 255\n", "BM", "GIF89a"} {
		f.Add([]byte(head))
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		for i := range pictures {
			magic := strings.ReplaceAll(pictures[i].magics[0], "?", "\x00")
			whole := append([]byte(magic), head...)
			if pictures[i].sure != nil {
				pictures[i].sure(whole)
			}
		}
		kindOf("a.csv", head)
	})
}

// The list of files counts against the limit.
func TestTheListKeepsTheMemoryLimit(t *testing.T) {
	root, listed := t.TempDir(), 0
	all := filepath.Join(root, "class", "*")
	for i := range 40 {
		listed += 16 + len(write(t, filepath.Join(root, "class", fmt.Sprintf("%0100d", i)), []byte("the same")))
	}
	for memory, want := range map[int]bool{listed - 1: false, listed: true} {
		o := Options{Threads: 1}
		o.Limits.Memory = int64(memory)
		if _, err := Verify(t.Context(), []string{all}, o); (err == nil) != want || err != nil && !errors.Is(err, errs.ErrLimit) {
			t.Errorf("%d bytes, of %d: %v", memory, listed, err)
		}
	}
}
