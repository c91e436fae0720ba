package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	stdimage "image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math"
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

func scan(t testing.TB, paths ...string) *Report {
	t.Helper()
	r, err := Scan(t.Context(), paths, Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	return r
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

func TestScanSaysWhatPicturesAre(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"420", "422", "444", "progressive", "grey", "cmyk"} {
		content, err := os.ReadFile("../image/jpeg/testdata/" + name + ".jpg")
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(root, "cats", name+".jpg"), content)
	}
	turned := jpegOf(t, 8, 4)
	exif := "Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00\x00\x00\x00\x00"
	turned = slices.Concat(turned[:2], []byte{0xff, 0xe1, 0, byte(len(exif) + 2)}, []byte(exif), turned[2:])
	write(t, filepath.Join(root, "dogs", "turned.jpg"), turned)
	write(t, filepath.Join(root, "dogs", "small.png"), pngOf(t, 3, 2))
	write(t, filepath.Join(root, "dogs", "large.ppm"), append([]byte("P6\n# words\n400 300 255\n"), make([]byte, 400*300*3)...))
	write(t, filepath.Join(root, "dogs", "a.gif"), encoded(t, func(b *bytes.Buffer) error {
		return gif.Encode(b, stdimage.NewPaletted(stdimage.Rect(0, 0, 7, 5), color.Palette{color.Black}), nil)
	}))
	write(t, filepath.Join(root, "notes.txt"), []byte("words"))
	r := scan(t, root)
	p := r.Pictures
	if len(r.Broken)+len(r.Suspects) > 0 {
		t.Errorf("broken %v, suspects %v", r.Broken, r.Suspects)
	}
	if r.Files != 11 || p.Count != 10 || p.Rotated != 1 || p.Progressive != 1 || r.Others.Count != 1 {
		t.Errorf("%+v %+v", r, p)
	}
	if p.Smallest.Width != 3 || p.Smallest.Height != 2 || p.Largest.Width != 400 || p.Height.Max != 300 {
		t.Errorf("%+v %+v %+v", p.Smallest, p.Largest, p.Height)
	}
	if len(r.Classes) != 2 || r.Classes[0].Name != "cats" || r.Classes[0].Pictures != 6 || r.Classes[1].Pictures != 4 {
		t.Errorf("%+v", r.Classes)
	}
	got := map[string]int64{}
	for _, c := range slices.Concat(p.Colours, p.Subsampling) {
		got[c.Name] += c.Count
	}
	if got["grey"] < 1 || got["palette"] < 1 || got["4:2:2"] < 1 || got["4:4:4"] < 1 || got["cmyk"]+got["cmyk, stored as ycck"] != 1 {
		t.Errorf("%v", got)
	}
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
	r := scan(t, root)
	broken, suspects := reasons(r.Broken), reasons(r.Suspects)
	for name, part := range map[string]string{"header.jpg": "Damaged", "empty.jpg": "empty", "page.jpg": "HTML", "link.jpg": "NotFound"} {
		if !strings.Contains(broken[name], part) {
			t.Errorf("%s: %q, want %q", name, broken[name], part)
		}
	}
	for _, name := range []string{"cut.jpg", "cut.png", "cut.ppm"} {
		if suspects[name]+broken[name] == "" {
			t.Errorf("%s is not suspected: %v", name, suspects)
		}
	}
	if len(broken)+len(suspects) != 7 {
		t.Errorf("%v %v", broken, suspects)
	}
	damaged := reasons(verify(t, root).Damaged)
	if len(damaged) != 7 || damaged["whole.jpg"]+damaged["tail.jpg"] != "" {
		t.Errorf("%v", damaged)
	}
}

func TestDuplicatesAreByContent(t *testing.T) {
	root := t.TempDir()
	long := bytes.Repeat([]byte("a long file "), headBytes)
	other := slices.Clone(long)
	other[len(other)-1]++ // the same size and beginning
	for name, content := range map[string][]byte{"a": long, "b": long, "c": other, "d": []byte("x"), "e": []byte("x"), "f": []byte("y"), "g": nil, "h": nil} {
		write(t, filepath.Join(root, name), content)
	}
	d := scan(t, root).Duplicates
	if d.Files != 2 || d.Bytes != int64(len(long))+1 || len(d.Groups) != 2 || filepath.Base(string(d.Groups[0].Paths[1])) != "b" || filepath.Base(string(d.Groups[1].Paths[1])) != "e" {
		t.Errorf("%+v", d)
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
	r := scan(t, root)
	broken := reasons(r.Broken)
	if len(r.Tables) != 2 || len(broken) != 4 || broken["empty.parquet"] != "Format: open: the file is empty" || broken["no.parquet"] == "" || !strings.Contains(broken["page.csv"], "HTML") {
		t.Fatalf("%+v %v", r.Tables, broken)
	}
	a := r.Tables[0]
	if *a.Rows != 3 || a.About || a.Width != 4 || a.Columns[0].Type != "integer" || a.Columns[1].Type != "text" || a.Columns[2].Type != "real" || a.Columns[3].Type != "unknown" {
		t.Errorf("%+v", a)
	}
	if r.Tables[1].Unusable == "" {
		t.Errorf("%+v", r.Tables[1])
	}
	write(t, filepath.Join(root, "hashes.csv"), []byte("hash\n1\n18446744073709551615\n")) // whole: pandas reads it as uint64
	v := verify(t, root)
	if damaged := reasons(v.Damaged); len(damaged) != 5 || !strings.Contains(damaged["broken.csv"], "2") || !strings.Contains(damaged["a.csv"], "line 2") ||
		v.Tables != 7 || len(v.Unchecked) != 1 {
		t.Errorf("%v %+v", damaged, v)
	}
}

// A header may claim more pixels than 63 bits count.
func TestTheLargestPictureOfAll(t *testing.T) {
	root := t.TempDir()
	entry := func(tag byte) string { return string([]byte{tag, 1, 4, 0, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}) }
	path := write(t, filepath.Join(root, "a.tif"), []byte("II*\x00\x08\x00\x00\x00\x02\x00"+entry(0)+entry(1)+"\x00\x00\x00\x00"))
	r := scan(t, path)
	if s := r.Pictures.Largest; s.Width != math.MaxUint32 || s.Height != math.MaxUint32 {
		t.Errorf("%+v", r.Pictures)
	}
}

// A program that reads the JSON need not ask whether a list is there.
func TestListsAreNeverNull(t *testing.T) {
	for report, lists := range map[any][]string{
		scan(t, t.TempDir()):   {"classes", "tables", "broken", "suspects", "unreadable_folders", "groups"},
		verify(t, t.TempDir()): {"damaged", "unchecked", "unreadable_folders"},
	} {
		text, err := json.Marshal(report)
		for _, list := range lists {
			if err != nil || !strings.Contains(string(text), `"`+list+`":[]`) {
				t.Errorf("%s: %v %s", list, err, text)
			}
		}
	}
}

// What is no ordinary file must neither hang nor end a scan.
func TestOddFiles(t *testing.T) {
	root := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(root, "pipe.jpg"), 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "\xff\x1b[31m.jpg"), []byte("bytes"))
	if r := scan(t, root); r.Files != 2 || len(r.Broken) != 2 {
		t.Errorf("%+v", r)
	} else {
		text, err := json.Marshal(r)
		var back Report
		if err != nil || json.Unmarshal(text, &back) != nil || back.Broken[1].Path != r.Broken[1].Path || !strings.Contains(string(text), `\udcff`) {
			t.Errorf("%v %s", err, text)
		}
	}
	if v := verify(t, root); len(v.Damaged) != 2 {
		t.Errorf("%+v", v)
	}
	if r := scan(t, t.TempDir()); r.Files != 0 || r.Pictures != nil {
		t.Errorf("%+v", r)
	}
	loop := t.TempDir()
	if err := os.Symlink(loop, filepath.Join(loop, "again")); err != nil {
		t.Fatal(err)
	}
	if _, err := Scan(t.Context(), []string{filepath.Join(root, "pipe.jpg", "x")}, Options{}); !errors.Is(err, errs.ErrRead) || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("%v", err)
	}
	write(t, filepath.Join(loop, "a.txt"), []byte("text"))
	broken, damaged := scan(t, loop), verify(t, loop)
	for _, problems := range [][]Problem{broken.Broken, damaged.Damaged} {
		if broken.Files != 1 || damaged.Files != 1 || len(problems) != 1 || string(problems[0].Path) != filepath.Join(loop, "again") || !strings.Contains(problems[0].Reason, "leads back") {
			t.Errorf("%+v", problems)
		}
	}
	for _, paths := range [][]string{{filepath.Join(root, "none*")}, {}} {
		if _, err := Scan(t.Context(), paths, Options{}); err == nil {
			t.Errorf("%q: no error", paths)
		}
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
	if r := scan(t, root); len(r.Broken) != 1 || r.Broken[0].Kind != "Read" || len(r.Unreadable) != 1 {
		t.Errorf("%+v", r)
	}
}

func TestTheSamePathCountsOnceAndPatternsMatch(t *testing.T) {
	root := t.TempDir()
	for i := range 5 {
		write(t, filepath.Join(root, fmt.Sprint(i, ".png")), pngOf(t, i+1, 1))
	}
	file := filepath.Join(root, "0.png")
	if r := scan(t, file, file, root+"/./0.png"); r.Files != 1 {
		t.Errorf("%+v", r)
	}
	if r := scan(t, filepath.Join(root, "[1-3]*.png")); r.Files != 3 {
		t.Errorf("%+v", r)
	}
	if r := scan(t, file, root); r.Files != 6 || r.Duplicates.Files != 0 {
		t.Errorf("%+v", r)
	}
}

func TestCancelEndsBoth(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "a.png"), pngOf(t, 4, 4))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, scanned := Scan(ctx, []string{root}, Options{})
	_, verified := Verify(ctx, []string{root}, Options{})
	if !errors.Is(scanned, errs.ErrCanceled) || !errors.Is(verified, errs.ErrCanceled) {
		t.Errorf("%v %v", scanned, verified)
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
		r, err := Scan(t.Context(), []string{root}, Options{Threads: threads})
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

func FuzzHeaders(f *testing.F) {
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
			if pictures[i].header != nil {
				if d := pictures[i].header(whole); d.orientation < 0 || d.orientation > 8 {
					t.Errorf("%s: %+v", pictures[i].name, d)
				}
			}
		}
		kindOf("a.csv", head)
	})
}

// The list of files, the prints, and what is kept of doubles count against the limit.
func TestListsKeepTheMemoryLimit(t *testing.T) {
	root, listed := t.TempDir(), 0
	all := filepath.Join(root, "class", "*")
	for i := range 40 {
		listed += 24 + len(write(t, filepath.Join(root, "class", fmt.Sprintf("%0100d", i)), []byte("the same")))
	}
	for memory, want := range map[int]struct{ scan, verify bool }{
		listed - 1:               {false, false},
		listed:                   {false, true},
		listed + 40*(32+48) - 1:  {false, true},
		listed + 40*(32+48) + 64: {true, true},
	} {
		o := Options{Threads: 1}
		o.Limits.Memory = int64(memory)
		if _, err := Scan(t.Context(), []string{all}, o); (err == nil) != want.scan || err != nil && !errors.Is(err, errs.ErrLimit) {
			t.Errorf("a scan with %d bytes, of %d: %v", memory, listed, err)
		}
		if _, err := Verify(t.Context(), []string{all}, o); (err == nil) != want.verify || err != nil && !errors.Is(err, errs.ErrLimit) {
			t.Errorf("a verification with %d bytes, of %d: %v", memory, listed, err)
		}
	}
}
