package folder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
)

var jpg = []Name{".jpg", ".png"}

// grow makes files, directories ("a/") and links ("a -> target") in root.
func grow(t *testing.T, root string, entries ...string) {
	t.Helper()
	for _, entry := range entries {
		link, target, isLink := strings.Cut(entry, " -> ")
		path := filepath.Join(root, link)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		switch {
		case err != nil:
		case isLink:
			err = os.Symlink(target, path)
		case strings.HasSuffix(entry, "/"):
			err = os.MkdirAll(path, 0o755)
		default:
			err = os.WriteFile(path, nil, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func mustScan(t *testing.T, options Options) *Index {
	t.Helper()
	x, err := Scan(context.Background(), options)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// samples are "path class".
func samples(x *Index) []string {
	out := []string{}
	for i := range x.Count() {
		out = append(out, fmt.Sprintf("%s %d", x.Path(i), x.Class(i)))
	}
	return out
}

func wantSamples(t *testing.T, x *Index, want ...string) {
	t.Helper()
	if got := samples(x); !slices.Equal(got, want) {
		t.Errorf("samples\n%q, want\n%q", got, want)
	}
}

func TestOrderOfImageFolder(t *testing.T) {
	root := t.TempDir()
	grow(t, root,
		"b/2.jpg", "b/10.jpg", "b/1.PNG", "b/note.txt", "b/a/c.jpg", "b/a b.jpg/d.jpg", "b/a/c/e.jpg", "B/x.jpg", "empty/", "only text/x.txt",
		"loose.jpg", "b/\U0001f600.jpg", "b/\uffee.jpg", "b/\xff.jpg", "b/\ud7ff.jpg", "b/jpg", "\xe9/z.jpg")
	x := mustScan(t, Options{Kind: Classes, Root: Name(root), Extensions: jpg})
	if want := []string{"B", "b", "empty", "only text", "\xe9"}; !slices.Equal(x.Classes(), want) {
		t.Errorf("classes %q, want %q", x.Classes(), want)
	}
	wantSamples(t, x, "B/x.jpg 0", "b/1.PNG 1", "b/10.jpg 1", "b/2.jpg 1", "b/\ud7ff.jpg 1", "b/\xff.jpg 1", "b/\uffee.jpg 1", "b/\U0001f600.jpg 1",
		"b/a/c.jpg 1", "b/a b.jpg/d.jpg 1", "b/a/c/e.jpg 1", "\xe9/z.jpg 4")
	if s := x.Schema(); !slices.Equal(s.EmptyClasses, []Name{"empty", "only text"}) || string(s.Root) != root+"/" || s.Count != 12 {
		t.Errorf("schema %+v", s)
	}
}

func TestLinksAndOddFiles(t *testing.T) {
	root := t.TempDir()
	grow(t, root,
		"outside/o.jpg", "in/c/dir.jpg/x.txt", "in/c/to dir.jpg -> ../../outside", "in/c/broken.jpg -> nowhere", "in/c/file.jpg -> ../../outside/o.jpg",
		"in/c/self.jpg -> self.jpg", "in/c/text -> ../../outside/o.jpg", "in/linked -> ../outside", "in/broken -> nowhere", "in/file -> ../outside/o.jpg")
	if err := unix.Mkfifo(filepath.Join(root, "in/c/pipe.jpg"), 0o644); err != nil {
		t.Fatal(err)
	}
	x := mustScan(t, Options{Kind: Classes, Root: Name(root + "/in/"), Extensions: jpg})
	wantSamples(t, x, "c/broken.jpg 0", "c/file.jpg 0", "c/pipe.jpg 0", "c/self.jpg 0", "c/to dir.jpg/o.jpg 0", "linked/o.jpg 1")

	grow(t, root, "in/self -> self")
	if _, err := Scan(context.Background(), Options{Kind: Classes, Root: Name(root + "/in"), Extensions: jpg}); !errors.Is(err, errs.ErrRead) || !errors.Is(err, unix.ELOOP) {
		t.Errorf("a class that links to itself: %v", err)
	}
}

func TestCircles(t *testing.T) {
	circlesOf := map[string][]Name{"self": {"c/x/loop"}, "parent": {"c/loop/in"}, "class": {"c/x/y/loop"}, "two": {"c/d/c", "e/c/d"}, "from outside": {"c/out/back"}}
	for name, entries := range map[string][]string{
		"self": {"in/c/x/loop -> ."}, "parent": {"in/c/loop -> ../.."}, "class": {"in/c/x/y/loop -> ../../../c"},
		"two": {"in/c/d -> ../e", "in/e/c -> ../c"}, "from outside": {"in/c/out -> ../../out", "out/back -> ../in"},
	} {
		root := t.TempDir()
		grow(t, root, append(entries, "in/c/a.jpg")...)
		for _, kind := range []Kind{Classes, Tree} {
			_, err := Scan(context.Background(), Options{Kind: kind, Root: Name(root + "/in"), Extensions: jpg})
			if !errors.Is(err, errs.ErrUnsupported) {
				t.Errorf("%s, %s: %v, want ErrUnsupported", name, kind, err)
			}
			all := mustScan(t, Options{Kind: kind, Root: Name(root + "/in"), Extensions: jpg, LeaveCircles: true})
			circles := all.Schema().Circles
			if want := circlesOf[name]; !slices.Equal(circles, want) {
				t.Errorf("%s, %s: circles %q, want %q", name, kind, circles, want)
			}
			if !slices.ContainsFunc(samples(all), func(sample string) bool { return strings.HasPrefix(sample, "c/a.jpg ") }) {
				t.Errorf("%s, %s: %q", name, kind, samples(all))
			}
		}
		x := mustScan(t, Options{Kind: Flat, Root: Name(root + "/in/c"), Extensions: jpg})
		wantSamples(t, x, "a.jpg -1")
	}
	root := t.TempDir()
	grow(t, root, "c/a.jpg", "d/c -> ../c", "e/c -> ../c") // twice the same, but no circle
	wantSamples(t, mustScan(t, Options{Kind: Classes, Root: Name(root), Extensions: jpg}), "c/a.jpg 0", "d/c/a.jpg 1", "e/c/a.jpg 2")
}

// asNobody runs f on one thread that may read only what everybody may.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const nobody = 65534
	if _, err := unix.SetfsuidRetUid(nobody); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = unix.SetfsuidRetUid(0) }()
	if now, _ := unix.SetfsuidRetUid(-1); now != nobody {
		t.Skip("the user of file accesses cannot be changed here")
	}
	f()
}

func TestUnreadableFolders(t *testing.T) {
	root, err := os.MkdirTemp("", "folder")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, p := range []string{"", "a/locked", "locked", "b"} {
			_ = os.Chmod(filepath.Join(root, p), 0o755)
		}
		os.RemoveAll(root)
	})
	grow(t, root, "a/1.jpg", "a/locked/2.jpg", "locked/3.jpg", "b/4.jpg", "b/inner/5.jpg")
	for path, mode := range map[string]os.FileMode{"": 0o755, "a/locked": 0, "locked": 0o300, "b": 0o444} {
		if err := os.Chmod(filepath.Join(root, path), mode); err != nil {
			t.Fatal(err)
		}
	}
	options := Options{Kind: Classes, Root: Name(root), Extensions: jpg, Threads: 1}
	asNobody(t, func() {
		x := mustScan(t, options)
		wantSamples(t, x, "a/1.jpg 0", "b/4.jpg 1")
		if s := x.Schema(); !slices.Equal(s.Unreadable, []Name{"a/locked", "b/inner", "locked"}) || !slices.Equal(s.EmptyClasses, []Name{"locked"}) {
			t.Errorf("unreadable %q, empty %q", s.Unreadable, s.EmptyClasses)
		}
		for _, kind := range []Kind{Classes, Flat, Tree} {
			if _, err := Scan(context.Background(), Options{Kind: kind, Root: Name(root + "/locked"), Threads: 1}); !errors.Is(err, errs.ErrRead) {
				t.Errorf("an unreadable root, %s: %v, want ErrRead", kind, err)
			}
		}
	})
}

// walk is os.walk and sorted, in the plainest words: the paths of the files with these endings.
func walk(root, path string, extensions []Name, deep bool) (found []string) {
	entries, _ := os.ReadDir(filepath.Join(root, path))
	for _, e := range entries {
		inner := filepath.Join(path, e.Name())
		info, err := os.Stat(filepath.Join(root, inner))
		ends := func(extension Name) bool { return pythonEnds(e.Name(), string(extension)) }
		switch {
		case err == nil && info.IsDir():
			if deep {
				found = append(found, walk(root, inner, extensions, deep)...)
			}
		case slices.ContainsFunc(extensions, ends):
			found = append(found, inner)
		}
	}
	slices.SortFunc(found, func(a, b string) int { // folder by folder
		return cmp.Or(comparePoints(filepath.Dir(a), filepath.Dir(b)), comparePoints(a, b))
	})
	return found
}

func comparePoints(a, b string) int { return slices.Compare(points(a), points(b)) }

// plant fills a directory at random.
func plant(t *testing.T, r *rand.Rand, root, path, outside string, depth int) {
	letters := []string{"a", "b", "B", " ", "-", ".x", "é", "\xe9", "\xff", "\uffee", "😀", "\ud7ff", "0"}
	endings := []string{".jpg", ".JPG", ".png", ".txt", "", "jpg", ".jp\u212a"}
	for range r.IntN(7) {
		name := "n"
		for range r.IntN(3) {
			name += letters[r.IntN(len(letters))]
		}
		inner := filepath.Join(path, name+endings[r.IntN(len(endings))])
		if _, err := os.Lstat(filepath.Join(root, inner)); err == nil {
			continue
		}
		switch kind := r.IntN(10); {
		case kind < 3 && depth < 4 || depth == 0 && kind < 8:
			grow(t, root, inner+"/")
			plant(t, r, root, inner, outside, depth+1)
		case kind == 3:
			grow(t, root, inner+" -> "+outside)
		case kind == 4:
			grow(t, root, inner+" -> nowhere")
		default:
			grow(t, root, inner)
		}
	}
}

func TestRandomTrees(t *testing.T) {
	outside := t.TempDir()
	grow(t, outside, "o.jpg", "o.txt", "deep/p.png")
	total := 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		root := t.TempDir()
		plant(t, r, root, "", outside, 0)
		extensions := []Name{".jpg", ".png", "k"}[:1+r.IntN(3)]
		threads := 1 + r.IntN(8)

		x := mustScan(t, Options{Kind: Classes, Root: Name(root), Extensions: extensions, Threads: threads})
		var want []string
		for i, class := range x.Classes() {
			for _, path := range walk(root, class, extensions, true) {
				want = append(want, fmt.Sprintf("%s %d", path, i))
			}
		}
		if got := samples(x); !slices.Equal(got, want) {
			t.Errorf("seed %d: classes\n%q, want\n%q", seed, got, want)
		}
		total += len(want)
		for _, kind := range []Kind{Flat, Tree} {
			x := mustScan(t, Options{Kind: kind, Root: Name(root), Extensions: extensions, Threads: threads})
			want := walk(root, "", extensions, kind == Tree)
			slices.SortFunc(want, comparePoints)
			for i := range want {
				want[i] += " -1"
			}
			if got := samples(x); !slices.Equal(got, want) {
				t.Errorf("seed %d: %s\n%q, want\n%q", seed, kind, got, want)
			}
		}
	}
	if total < 500 {
		t.Errorf("only %d samples were compared", total)
	}
}

func TestGivenClasses(t *testing.T) {
	root := t.TempDir()
	grow(t, root, "a/1.jpg", "b/2.jpg", "c/3.jpg", "file")
	options := Options{Kind: Classes, Root: Name(root), Extensions: jpg, Classes: []Name{"c", "gone", "a", "file"}}
	x := mustScan(t, options)
	wantSamples(t, x, "a/1.jpg 0", "c/3.jpg 1")
	if s := x.Schema(); !slices.Equal(s.EmptyClasses, []Name{"file", "gone"}) {
		t.Errorf("empty %q", s.EmptyClasses)
	}
	options.ClassIDs = []int32{7, 8, -5, 9}
	wantSamples(t, mustScan(t, options), "a/1.jpg -5", "c/3.jpg 7")
}

func TestGivenPaths(t *testing.T) {
	options := Options{Kind: List, Paths: []Name{"/b/x.jpg", "a\xff", ""}, Labels: []int32{3, -1, 2}}
	x := mustScan(t, options)
	wantSamples(t, x, "/b/x.jpg 3", "a\xff -1", " 2")
	if x.Root() != "" || len(x.Classes()) != 0 {
		t.Errorf("root %q, classes %q", x.Root(), x.Classes())
	}
	options.Labels = nil
	wantSamples(t, mustScan(t, options), "/b/x.jpg -1", "a\xff -1", " -1")
	wantSamples(t, mustScan(t, Options{Kind: List}))
}

func TestBadOptions(t *testing.T) {
	root := Name(t.TempDir())
	for name, c := range map[string]struct {
		options Options
		want    error
	}{
		"kind":            {Options{Root: root}, errs.ErrConfig},
		"no root":         {Options{Kind: Flat}, errs.ErrNotFound},
		"missing root":    {Options{Kind: Classes, Root: root + "/gone"}, errs.ErrNotFound},
		"labels":          {Options{Kind: List, Paths: []Name{"a"}, Labels: []int32{1, 2}}, errs.ErrConfig},
		"paths":           {Options{Kind: Flat, Root: root, Paths: []Name{"a"}}, errs.ErrConfig},
		"classes":         {Options{Kind: Tree, Root: root, Classes: []Name{"a"}}, errs.ErrConfig},
		"class ids":       {Options{Kind: Classes, Root: root, Classes: []Name{"a"}, ClassIDs: []int32{1, 2}}, errs.ErrConfig},
		"twice":           {Options{Kind: Classes, Root: root, Classes: []Name{"a", "a"}}, errs.ErrConfig},
		"nested class":    {Options{Kind: Classes, Root: root, Classes: []Name{"a/b"}}, errs.ErrUnsupported},
		"parent":          {Options{Kind: Classes, Root: root, Classes: []Name{".."}}, errs.ErrUnsupported},
		"wide extension":  {Options{Kind: Flat, Root: root, Extensions: []Name{".σ"}}, errs.ErrUnsupported},
		"slash":           {Options{Kind: Flat, Root: root, Extensions: []Name{"a/b"}}, errs.ErrUnsupported},
		"zero byte":       {Options{Kind: Flat, Root: root + "\x00x"}, errs.ErrConfig},
		"negative memory": {Options{Kind: Flat, Root: root, Limits: limits.Limits{Memory: -1}}, errs.ErrConfig},
	} {
		if _, err := Scan(context.Background(), c.options); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestLimitProgressAndCancel(t *testing.T) {
	root := t.TempDir()
	for i := range 200 {
		grow(t, root, fmt.Sprintf("c%d/%s.jpg", i%20, strings.Repeat("x", i+1)))
	}
	options := Options{Kind: Classes, Root: Name(root), Extensions: jpg, Threads: 1}
	last := int64(0)
	options.Progress = func(entries int64) { last = entries }
	mustScan(t, options)
	if last != 220 {
		t.Errorf("%d entries were reported, want 220", last)
	}
	options.Limits.Memory = 20 << 10
	if _, err := Scan(context.Background(), options); !errors.Is(err, errs.ErrLimit) {
		t.Errorf("20 KiB: %v, want ErrLimit", err)
	}
	options.Limits.Memory = 0
	ctx, cancel := context.WithCancel(context.Background())
	options.Progress = func(entries int64) {
		if last = entries; entries > 100 {
			cancel()
		}
	}
	if _, err := Scan(ctx, options); !errors.Is(err, errs.ErrCanceled) || last > 150 {
		t.Errorf("cancelled: %v after %d entries", err, last)
	}
	if _, _, err := Build(ctx, options, ""); !errors.Is(err, errs.ErrCanceled) {
		t.Errorf("cancelled before: %v", err)
	}
}
