package data

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/synth"
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/transform"
	"github.com/gofast-org/gofast/gofast"
	"golang.org/x/sys/unix"
)

// pictures are a folder of PNG files, which need no library that may be missing.
func pictures(t *testing.T, broken int) string {
	t.Helper()
	to := t.TempDir()
	if _, err := synth.Make(context.Background(), to, synth.Options{Kind: synth.PNG, Count: 9, Classes: 3, Width: 20, Height: 16, Broken: broken}); err != nil {
		t.Fatal(err)
	}
	return to
}

func open(t *testing.T, o Options) (*Source, error) {
	t.Helper()
	plan, _, err := transform.Parse("resize=8x8")
	if err != nil {
		t.Fatal(err)
	}
	o.Plan = plan
	if o.As == "" {
		o.As = Auto
	}
	s, err := Open(context.Background(), o)
	if err == nil {
		t.Cleanup(s.Close)
	}
	return s, err
}

func TestWhatPathsNamePictures(t *testing.T) {
	root := pictures(t, 0)
	class := filepath.Join(root, "class001")
	list := filepath.Join(root, "list.txt")
	if err := errors.Join(os.WriteFile(list, []byte("class000/000000.png\n\n"+filepath.Join(class, "000001.png")+"\n"), 0o600),
		os.WriteFile(filepath.Join(root, "labels.csv"), []byte("name,label\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	// Data sets often lie elsewhere: a link to them, and a folder of links, are what they lead to.
	elsewhere := t.TempDir()
	link, linked := filepath.Join(elsewhere, "link"), filepath.Join(elsewhere, "linked")
	for at, to := range map[string]string{link: root, filepath.Join(linked, "a"): class, filepath.Join(linked, "b"): filepath.Join(root, "class002")} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.Symlink(to, at)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		paths  []string
		count  int64
		labels string
	}{
		{[]string{link}, 9, "int64"}, {[]string{linked}, 6, "int64"}, {[]string{root}, 9, "int64"}, {[]string{class}, 3, ""},
		{[]string{filepath.Join(root, "class00[12]", "*.png")}, 6, ""}, {[]string{filepath.Join(class, "000001.png")}, 1, ""}, {[]string{"@" + list}, 2, ""},
	} {
		s, err := open(t, Options{Paths: c.paths, Threads: 2})
		if err != nil {
			t.Errorf("%v: %v", c.paths, err)
			continue
		}
		if s.Kind != Pictures || s.Len() != c.count || s.LabelDType != c.labels {
			t.Errorf("%v: %s, %d, %q", c.paths, s.Kind, s.Len(), s.LabelDType)
		}
	}
}

func TestExpandTakesTablesOfAFolder(t *testing.T) {
	root := filepath.Join(t.TempDir(), "[a]*") // no pattern
	for _, name := range []string{"b.csv", "a.CSV", "README.md", "a.csv.crc", "_SUCCESS.csv", ".a.csv", "c.tsv.zst", "folder.csv/x.csv"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700), os.WriteFile(filepath.Join(root, name), []byte("1\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := expand([]string{root, filepath.Join(root, "README.md")})
	for i := range got {
		got[i] = filepath.Base(got[i])
	}
	if err != nil || !slices.Equal(got, []string{"a.CSV", "b.csv", "c.tsv.zst", "README.md"}) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestWhatCannotBeOpened(t *testing.T) {
	root, empty := pictures(t, 0), t.TempDir()
	pipe := filepath.Join(t.TempDir(), "pipe") // nothing writes into it
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o    Options
		says string
	}{
		{Options{Paths: []string{pipe}}, "no such file"}, {Options{Paths: []string{empty}}, empty}, {Options{Paths: []string{"nowhere/*.jpg"}}, "nowhere"},
		{Options{Paths: []string{root, "t.csv"}}, "stands alone"}, {Options{Paths: []string{"@nowhere"}}, "nowhere"},
		{Options{Paths: []string{"@" + os.DevNull}}, "nothing to measure"}, {Options{Paths: []string{root}, As: Table}, root},
	} {
		if _, err := open(t, c.o); !errors.Is(err, gofast.ErrNotFound) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v", c.o.Paths, err)
		}
	}
}

func TestADigestStandsForTheFiles(t *testing.T) {
	digest := func(root string) string {
		s, err := open(t, Options{Paths: []string{root}})
		if err != nil {
			t.Fatal(err)
		}
		sum, bytes, err := s.Digest(context.Background())
		if err != nil || bytes == 0 {
			t.Fatal(bytes, err)
		}
		return sum
	}
	first, copied := pictures(t, 0), pictures(t, 0)
	if digest(first) != digest(copied) {
		t.Error("a copy has another digest")
	}
	if err := os.WriteFile(filepath.Join(copied, "class000", "000000.png"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if digest(first) == digest(copied) {
		t.Error("another file has the same digest")
	}
}
