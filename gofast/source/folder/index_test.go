package folder

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/store"
)

// later is a clock by which every directory has been left alone for long.
func later() time.Time { return time.Now().Add(time.Hour) }

// settle waits until a change gives a directory other times: they count in ticks.
func settle() { time.Sleep(20 * time.Millisecond) }

func mustBuild(t *testing.T, options Options, path string) (fd int, schema Schema) {
	t.Helper()
	fd, schema, err := Build(context.Background(), options, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd, schema
}

// plantSmall is a folder with two classes, one of them nested.
func plantSmall(t *testing.T) Options {
	t.Helper()
	root := t.TempDir()
	grow(t, root, "a/1.jpg", "a/2.jpg", "b/deep/3.png", "b/deep/note.txt", "b/broken -> ../../gone", "empty/", "link -> b")
	return Options{Kind: Classes, Root: Name(root), Extensions: jpg, now: later}
}

func TestRoundTrip(t *testing.T) {
	options := plantSmall(t)
	path := filepath.Join(t.TempDir(), "index")
	if _, err := Open(context.Background(), path, options); !errors.Is(err, errs.ErrNotFound) {
		t.Errorf("no file: %v", err)
	}
	scanned := mustScan(t, options)
	fd, schema := mustBuild(t, options, path)
	_, again := mustBuild(t, options, path)
	if schema.Reused || !again.Reused {
		t.Errorf("reused: %v, then %v", schema.Reused, again.Reused)
	}
	again.Reused = false
	if a, b := fmt.Sprint(schema), fmt.Sprint(again); a != b || a != fmt.Sprint(scanned.Schema()) {
		t.Errorf("schemas %s\n%s\n%s", a, b, fmt.Sprint(scanned.Schema()))
	}
	x, err := Open(context.Background(), path, options)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(samples(x), samples(scanned)) || x.Count() != 4 || !slices.Equal(x.Classes(), []string{"a", "b", "empty", "link"}) {
		t.Errorf("%q, scanned %q", samples(x), samples(scanned))
	}
	if err := errors.Join(x.Close(), x.Close()); err != nil {
		t.Error(err)
	}
	// The descriptor and the schema are all that another process needs.
	data := make([]byte, schema.Size)
	if _, err := unix.Pread(fd, data, 0); err != nil {
		t.Fatal(err)
	}
	at := schema.PathsOffset + int64(binary.NativeEndian.Uint64(data[schema.PathOffsetsOffset+8*2:]))
	if got := string(data[at : at+15]); got != "b/deep/3.png\x00li" || data[schema.SampleClassesOffset+4*2] != 1 {
		t.Errorf("sample 2 is %q", got)
	}
	text, err := json.Marshal(schema)
	if err != nil || !strings.Contains(string(text), `"class_names":"a\u0000b\u0000empty\u0000link\u0000","empty_classes":["empty"]`) {
		t.Errorf("%s, %v", text, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 {
		t.Errorf("files %q are left", left)
	}
}

func TestMemoryIsSealed(t *testing.T) {
	for _, options := range []Options{plantSmall(t), {Kind: List, Paths: []Name{"x"}}} {
		fd, schema := mustBuild(t, options, "")
		seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
		if want := unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL; err != nil || seals&want != want {
			t.Errorf("seals %x, %v", seals, err)
		}
		var s unix.Stat_t
		if err := unix.Fstat(fd, &s); err != nil || s.Size != schema.Size {
			t.Errorf("%d bytes, the schema says %d, %v", s.Size, schema.Size, err)
		}
	}
	if _, _, err := Build(context.Background(), Options{Kind: List}, "index"); !errors.Is(err, errs.ErrConfig) {
		t.Errorf("a list with an index file: %v", err)
	}
}

func TestStaleIndex(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, root string, o *Options){
		"add file":    func(t *testing.T, root string, _ *Options) { grow(t, root, "b/deep/4.jpg") },
		"add folder":  func(t *testing.T, root string, _ *Options) { grow(t, root, "a/new/") },
		"add class":   func(t *testing.T, root string, _ *Options) { grow(t, root, "new/") },
		"fill class":  func(t *testing.T, root string, _ *Options) { grow(t, root, "empty/1.jpg") },
		"link's end":  func(t *testing.T, root string, _ *Options) { grow(t, root, "../gone/") },
		"remove":      func(t *testing.T, root string, _ *Options) { os.Remove(filepath.Join(root, "a/2.jpg")) },
		"rename":      func(t *testing.T, root string, _ *Options) { os.Rename(root+"/a/2.jpg", root+"/a/3.jpg") },
		"move folder": func(t *testing.T, root string, _ *Options) { os.Rename(root+"/b/deep", root+"/b/deeper") },
		"mode":        func(t *testing.T, root string, _ *Options) { os.Chmod(root+"/a", 0o711) },
		"same times": func(t *testing.T, root string, _ *Options) {
			was, err := os.Stat(root + "/a")
			if err != nil {
				t.Fatal(err)
			}
			grow(t, root, "a/0.jpg")
			if err := os.Chtimes(root+"/a", was.ModTime(), was.ModTime()); err != nil {
				t.Fatal(err)
			}
		},
		"other folder": func(t *testing.T, root string, _ *Options) {
			os.Rename(root+"/a", root+"/../was a")
			grow(t, root, "a/1.jpg", "a/2.jpg")
		},
		"extensions": func(_ *testing.T, _ string, o *Options) { o.Extensions = []Name{".jpg"} },
		"kind":       func(_ *testing.T, _ string, o *Options) { o.Kind = Tree },
		"spelling":   func(_ *testing.T, _ string, o *Options) { o.Root += "/" },
		"ids":        func(_ *testing.T, _ string, o *Options) { o.Classes, o.ClassIDs = []Name{"a"}, []int32{4} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent := t.TempDir()
			options := plantSmall(t)
			os.Rename(string(options.Root), parent+"/in")
			options.Root = Name(parent + "/in")
			path := filepath.Join(t.TempDir(), "index")
			mustBuild(t, options, path)
			settle()
			if _, s := mustBuild(t, options, path); !s.Reused {
				t.Error("an index of a folder that did not change was thrown away")
			}
			change(t, parent+"/in", &options)
			if _, err := Open(context.Background(), path, options); !errors.Is(err, errs.ErrChanged) {
				t.Errorf("after the change: %v, want ErrChanged", err)
			}
			if _, s := mustBuild(t, options, path); s.Reused {
				t.Error("a stale index was reused")
			}
			x, err := Open(context.Background(), path, options)
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			if got, want := samples(x), samples(mustScan(t, options)); !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

func TestAnIndexOfAnotherHost(t *testing.T) {
	options := plantSmall(t)
	x := mustScan(t, options)
	for at := x.header.Places.At; at < x.header.Places.end(); at += recordBytes {
		x.data[at+16]++ // the device, behind where the path begins, and the kind
	}
	if record, _ := x.place(0); record.Device == 0 {
		t.Fatal("no device was changed")
	}
	if err := x.check(t.Context(), "index", &options, 0); err != nil {
		t.Errorf("a network drive has another device number on each host: %v", err)
	}
}

func TestJustChangedFoldersAreNotTrusted(t *testing.T) {
	options := plantSmall(t)
	options.now = nil // the true clock: the folder is some milliseconds old
	path := filepath.Join(t.TempDir(), "index")
	mustBuild(t, options, path)
	if _, s := mustBuild(t, options, path); s.Reused {
		t.Error("a scan right after a change was trusted")
	}
	options.now = later
	if _, s := mustBuild(t, options, path); s.Reused {
		t.Error("what the early scan found was trusted later")
	}
	if _, s := mustBuild(t, options, path); !s.Reused {
		t.Error("the late scan was not trusted")
	}
	future := later().Add(24 * time.Hour) // what a user sets does not make it young
	if err := os.Chtimes(string(options.Root)+"/a", future, future); err != nil {
		t.Fatal(err)
	}
	mustBuild(t, options, path)
	if _, s := mustBuild(t, options, path); !s.Reused {
		t.Error("a time in the future makes every start a scan")
	}
}

func TestDamagedIndex(t *testing.T) {
	options := plantSmall(t)
	path := filepath.Join(t.TempDir(), "index")
	mustBuild(t, options, path)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	try := func(name string, data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if x, err := Open(context.Background(), path, options); !errors.Is(err, errs.ErrDamaged) {
			t.Errorf("%s: %v, %v, want ErrDamaged", name, x, err)
		}
	}
	for i := range good { // every byte, of the header and of what follows
		bad := slices.Clone(good)
		bad[i] ^= 1 << (i % 8)
		try(fmt.Sprintf("byte %d", i), bad)
	}
	for _, n := range []int{0, 1, int(headerBytes) - 1, int(headerBytes), len(good) - 8, len(good) - 1} {
		try(fmt.Sprintf("cut to %d", n), good[:n])
	}
	try("longer", append(slices.Clone(good), make([]byte, 8)...))
	try("foreign", []byte(strings.Repeat("PK\x03\x04", 1000)))
	if _, s := mustBuild(t, options, path); s.Reused || s.Count != 4 {
		t.Errorf("rebuilt: %+v", s)
	}
	if _, s := mustBuild(t, options, path); !s.Reused {
		t.Error("the index was not repaired")
	}
	os.Remove(path)
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Build(context.Background(), options, path); !errors.Is(err, errs.ErrRead) {
		t.Errorf("a folder instead of the index: %v", err)
	}
}

func TestDeceivingIndex(t *testing.T) {
	x := mustScan(t, plantSmall(t))
	for name, lie := range map[string]func(h *header, data []byte){
		"truth":             func(*header, []byte) {},
		"count":             func(h *header, _ []byte) { h.Count++ },
		"huge count":        func(h *header, _ []byte) { h.Count = 1 << 61 },
		"negative count":    func(h *header, _ []byte) { h.Count = -1; h.PathOffsets.Bytes = 0 },
		"class count":       func(h *header, _ []byte) { h.ClassCount = 1 << 62 },
		"place count":       func(h *header, _ []byte) { h.PlaceCount-- },
		"paths outside":     func(h *header, _ []byte) { h.Paths.Bytes += 1 << 40 },
		"negative bytes":    func(h *header, _ []byte) { h.Paths.Bytes = -8 },
		"overlap":           func(h *header, _ []byte) { h.Paths.At = h.Places.At },
		"class names":       func(h *header, d []byte) { d[h.ClassNames.At+1] = 'x' },
		"class names' end":  func(h *header, d []byte) { d[h.ClassNames.end()-1] = 'x' },
		"root":              func(h *header, d []byte) { d[h.Root.end()-1] = 'x' },
		"root's middle":     func(h *header, d []byte) { d[h.Root.At] = 0 },
		"first offset":      func(h *header, d []byte) { d[h.PathOffsets.At] = 1 },
		"offset":            func(h *header, d []byte) { d[h.PathOffsets.At+8]++ },
		"offset outside":    func(h *header, d []byte) { native.PutUint64(d[h.PathOffsets.At+8:], 1<<63) },
		"equal offsets":     func(h *header, d []byte) { copy(d[h.PathOffsets.At+8:], d[h.PathOffsets.At+16:h.PathOffsets.At+24]) },
		"last offset":       func(h *header, d []byte) { native.PutUint64(d[h.PathOffsets.end()-8:], 8) },
		"path's end":        func(h *header, d []byte) { d[h.Paths.end()-1] = 'x' },
		"place's path":      func(h *header, d []byte) { d[h.Places.At+3] = 1 },
		"place paths's end": func(h *header, d []byte) { d[h.PlacePaths.end()-1] = 'x' },
	} {
		data, h := slices.Clone(x.data), x.header
		lie(&h, data)
		if _, err := binary.Encode(data[store.HeadBytes:], native, &h); err != nil {
			t.Fatal(err)
		}
		forged, err := parse(context.Background(), data, name, 2)
		if name == "truth" {
			if err != nil || !slices.Equal(samples(forged), samples(x)) {
				t.Errorf("the forger is no good: %v", err)
			}
		} else if !errors.Is(err, errs.ErrDamaged) {
			t.Errorf("%s: %v, want ErrDamaged", name, err)
		}
	}
}

// The young folder's waiters take what was scanned since they came.
func TestWaiterTakesAFreshScan(t *testing.T) {
	options := plantSmall(t)
	options.now = nil
	path := filepath.Join(t.TempDir(), "index")
	since := time.Now().UnixNano()
	mustBuild(t, options, path)
	if err := options.check(); err != nil {
		t.Fatal(err)
	}
	x, err := load(context.Background(), &options, path, since)
	if err != nil {
		t.Fatal(err)
	}
	x.Close()
	if _, err := load(context.Background(), &options, path, time.Now().UnixNano()); !errors.Is(err, errs.ErrChanged) {
		t.Errorf("an older scan of a young folder: %v, want ErrChanged", err)
	}
}
