package jpeg

import (
	"bytes"
	"context"
	"encoding/binary"
	"image"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gofast-org/gofast/gofast/internal/atomicfile"
	"github.com/gofast-org/gofast/gofast/internal/store"
)

// low is a part that is entered by a mark, if there are any.
var low = image.Rect(10, 400, 300, 470)

// nextRun begins with empty memory, as the next process does, and reads what was kept.
func nextRun(t *testing.T, k KeptMarks) pair {
	t.Helper()
	keyedMarks(t, 1<<20, marksKey(filepath.Dir(k.Path)))
	delete(kept, k.Path)
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
	delete(kept, k.Path)
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
