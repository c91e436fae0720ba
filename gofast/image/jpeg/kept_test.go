package jpeg

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"image"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gofast-org/gofast/gofast/internal/atomicfile"
	"github.com/gofast-org/gofast/gofast/internal/store"
)

// low is a part that is entered by a mark, if there are any.
var low = image.Rect(10, 400, 300, 470)

// nextRun begins with empty memory, as the next process does, and reads what was kept.
func nextRun(t *testing.T, k KeptMarks) pair {
	t.Helper()
	keyedMarks(t, 1<<20, marksKey(filepath.Dir(k.Path)))
	kept.Delete(k.Path)
	k.Load()
	p := newPair(t)
	p.ours.ComesAgain = true
	return p
}

// keptOf are marks of files, on disk.
func keptOf(t *testing.T, files ...[]byte) KeptMarks {
	t.Helper()
	k := KeptMarks{Path: filepath.Join(t.TempDir(), "marks"), Number: 1, Files: len(files)}
	p := nextRun(t, k)
	for _, file := range files {
		p.agree(t, file, low)
	}
	SaveMarks(t.Context(), []KeptMarks{k}, true)
	if _, err := os.Stat(k.Path); err != nil || marked(p.ours) > 0 {
		t.Fatalf("%v, %d had marks", err, marked(p.ours))
	}
	return k
}

func TestKeptMarks(t *testing.T) {
	files := [][]byte{photo(t, 640, 480, false), photo(t, 520, 480, true), photo(t, 500, 480, false)}
	k := keptOf(t, files...)
	p := nextRun(t, k)
	r := rand.New(rand.NewPCG(21, 22))
	for _, file := range files {
		size, _ := sizeOf(file)
		before := marked(p.ours)
		if p.agree(t, file, low); marked(p.ours) == before {
			t.Fatal("there are no marks")
		}
		for range 20 {
			p.agree(t, file, part(r, size))
		}
	}
	// Another dataset's, or one without a file.
	for _, other := range []KeptMarks{{Path: k.Path, Number: 2, Files: 3}, {Path: k.Path + "x", Number: 1, Files: 3}} {
		p := nextRun(t, k)
		p.agree(t, files[0], low)
		other.Least = 1 << 20
		SaveMarks(t.Context(), []KeptMarks{other}, true)
		if left, _ := os.ReadDir(filepath.Dir(k.Path)); len(left) != 2 { // and the key
			t.Errorf("there is %v", left)
		}
	}
}

// Each of two ranks has met other files: what is kept has both.
func TestRanksKeepTheirMarksTogether(t *testing.T) {
	files := [][]byte{photo(t, 640, 480, false), photo(t, 641, 480, false)}
	k := keptOf(t, files[0])
	k.Files = 2
	keyedMarks(t, 64<<20, marksKey(filepath.Dir(k.Path))) // began before the other had kept anything
	kept.Delete(k.Path)
	p := newPair(t)
	p.ours.ComesAgain = true
	p.agree(t, files[1], low)
	SaveMarks(t.Context(), []KeptMarks{k}, true)
	p = nextRun(t, k)
	for _, file := range files {
		p.agree(t, file, low)
	}
	if marked(p.ours) != 2 {
		t.Errorf("%d of 2 had marks", marked(p.ours))
	}
}

// Marks of files that are no more in the dataset go when those of others come.
func TestReplacedFilesAreForgotten(t *testing.T) {
	k := keptOf(t, photo(t, 640, 480, false))
	p := nextRun(t, k)
	for i := range 2 {
		p.agree(t, photo(t, 650+i, 480, false), low)
	}
	k.Files = 2
	SaveMarks(t.Context(), []KeptMarks{k}, true)
	p = nextRun(t, k)
	p.agree(t, photo(t, 640, 480, false), low)
	if marked(p.ours) != 0 {
		t.Error("the file that was replaced still has marks")
	}
	p.agree(t, photo(t, 650, 480, false), low)
	if marked(p.ours) != 1 {
		t.Error("a new file has none")
	}
}

// With any byte changed, or cut anywhere, nothing is used, and the next run keeps anew.
func TestDamagedMarks(t *testing.T) {
	file := photo(t, 640, 480, false)
	k := keptOf(t, file)
	good, err := os.ReadFile(k.Path)
	if err != nil {
		t.Fatal(err)
	}
	used := func() bool {
		p := nextRun(t, k)
		p.agree(t, file, low)
		return marked(p.ours) > 0
	}
	for i := 0; i < len(good); i += 1 + i/16 {
		flipped := slices.Clone(good)
		flipped[i] ^= 1 << (i % 8)
		for _, bad := range [][]byte{flipped, good[:i], append(slices.Clone(good), 0)} {
			if err := os.WriteFile(k.Path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			if used() {
				t.Fatalf("byte %d: a damaged file is used", i)
			}
		}
	}
	SaveMarks(t.Context(), []KeptMarks{k}, true)
	if !used() {
		t.Error("a damaged file was not replaced")
	}
	// Hashes by another key are another file's.
	if err := os.Remove(filepath.Join(filepath.Dir(k.Path), "key")); err != nil {
		t.Fatal(err)
	}
	if used() {
		t.Error("another key's marks are used")
	}
}

// Records with right checksums that no gofast wrote: they may be of no use, but memory is safe.
func TestForgedMarks(t *testing.T) {
	file := photo(t, 640, 480, false)
	k := keptOf(t, file)
	key := marksKey(filepath.Dir(k.Path))
	r, err := k.artefact(key).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	good := bytes.Clone(r.Data)
	r.Close()
	random := rand.New(rand.NewPCG(23, 24))
	for i := range 100 {
		forged := slices.Clone(good)
		for range 1 + i%3 {
			switch at := random.IntN(len(forged)/4) * 4; {
			case i%2 == 0: // sizes and counts
				binary.NativeEndian.PutUint32(forged[16+random.IntN(3)*4:], []uint32{0, 1, 1 << 20, 1<<31 - 1, 1<<32 - 1}[random.IntN(5)])
			case i >= 50: // the marks alone
				binary.NativeEndian.PutUint32(forged[max(at, 32):], random.Uint32())
			default:
				binary.NativeEndian.PutUint32(forged[at:], random.Uint32())
			}
		}
		if i%5 == 0 {
			forged = append(forged, forged...)
		}
		err := store.Once(t.Context(), "test", k.Path, func() bool { return false }, func(part *atomicfile.File) error {
			return written(context.Background(), k.artefact(key), part, forged)
		})
		if err != nil {
			t.Fatal(err)
		}
		p := nextRun(t, k)
		for range 3 {
			_, _ = p.ours.Decode(file, part(random, image.Pt(640, 480)))
		}
		SaveMarks(t.Context(), []KeptMarks{k}, true)
	}
}

// Whoever opens a dataset does not wait until another's marks are on disk, which may take seconds.
func TestLoadingDoesNotWaitForSaving(t *testing.T) {
	file := photo(t, 640, 480, false)
	k := keptOf(t, file)
	saving.Lock()
	defer saving.Unlock()
	p := nextRun(t, k)
	if p.agree(t, file, low); marked(p.ours) != 1 {
		t.Error("there are no marks")
	}
}

// A process that holds the lock for ever, as a stopped one does, does not keep others from their end.
func TestSavingDoesNotWaitForEver(t *testing.T) {
	k := keptOf(t, photo(t, 640, 480, false))
	defer func(was time.Duration) { patience = was }(patience)
	patience = 10 * time.Millisecond
	kept.Delete(k.Path)
	held, err := atomicfile.Begin(t.Context(), "test", k.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	SaveMarks(t.Context(), []KeptMarks{k}, true)
	if has, _ := kept.Load(k.Path); has != unwritable {
		t.Errorf("%v", has)
	}
}

func TestAFailedSaveIsNotTriedAgain(t *testing.T) {
	k := keptOf(t, photo(t, 640, 480, false))
	other := k
	other.Path += "x"
	inside := filepath.Join(other.Path, "inside")
	if err := os.MkdirAll(inside, 0o700); err != nil { // cannot be replaced
		t.Fatal(err)
	}
	SaveMarks(t.Context(), []KeptMarks{other}, true)
	if err := errors.Join(os.Remove(inside), os.Remove(other.Path)); err != nil {
		t.Fatal(err)
	}
	SaveMarks(t.Context(), []KeptMarks{other}, true)
	if _, err := os.Stat(other.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// A folder of marks does not grow for ever where each run has its data somewhere else.
func TestMarksThatNobodyUsesGo(t *testing.T) {
	k := keptOf(t, photo(t, 640, 480, false))
	folder := filepath.Dir(k.Path)
	for i, name := range []string{"damaged", "older", "newer"} {
		path, at := filepath.Join(folder, name), time.Unix(int64(1000+i), 0)
		if err := errors.Join(os.WriteFile(path, make([]byte, 100), 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	KeptMarks{Path: filepath.Join(folder, "damaged")}.Load()
	before, _ := os.Stat(k.Path)
	makeRoom(filepath.Join(folder, "new"), before.Size()+100)
	var left []string
	entries, _ := os.ReadDir(folder)
	for _, entry := range entries {
		left = append(left, entry.Name())
	}
	if !slices.Equal(left, []string{"key", "marks", "newer"}) {
		t.Errorf("left: %q", left)
	}
	at := time.Unix(1000, 0)
	_ = os.Chtimes(k.Path, at, at)
	nextRun(t, k)
	makeRoom(filepath.Join(folder, "new"), before.Size())
	if _, err := os.Stat(k.Path); err != nil {
		t.Error("what was used last is gone")
	}
}
