package jpeg

// #include "jpeg.h"
import "C"

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/internal/atomicfile"
	"github.com/gofast-org/gofast/gofast/internal/store"
)

// Marks of a dataset's files for later runs lie in an artefact of the store: records of marks.c, one behind the other. What
// cannot be read or written is no error, since marks only save time.

// marksVersion is that of records, and of what decides them: the hash, the mark, and how many a file has.
const marksVersion = 1

// KeptMarks are the marks of a dataset's files.
type KeptMarks struct {
	Path   string `json:"path"`   // of the artefact; in its folder lies the key too
	Number uint32 `json:"number"` // of the dataset, from 2 to 1<<31 - 1
	Files  int    `json:"files"`  // that it has
	Least  int    `json:"least"`  // bytes that are worth a file
}

// mostKept are the bytes of all datasets' marks together: a home may be small, and a dataset may have another path in each run.
const mostKept = 1 << 30

var (
	saving   sync.Mutex         // held by whoever writes marks
	kept     sync.Map           // of a path, the bytes of marks that its file is known to have; unwritable: no more are written
	patience = 30 * time.Second // for other processes that write the same file
)

const unwritable = math.MaxInt / 2

func marksArtefact(path, kind string, of []byte) *store.Artefact {
	return &store.Artefact{Op: "marks", Kind: kind, Version: marksVersion, Path: path, Of: sha256.Sum256(of), Threads: 1}
}

// marksKey is the key of hashes in a folder's files; 0: there is none yet.
func marksKey(folder string) (key uint64) {
	defer func() { _ = recover() }() // of a mapped file that somebody cuts
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	r, err := marksArtefact(filepath.Join(folder, "key"), "key", nil).Open(context.Background())
	if err != nil {
		return 0
	}
	defer r.Close()
	if len(r.Data) == 8 {
		key = binary.NativeEndian.Uint64(r.Data)
	}
	return key
}

// settleKey makes this process's key that of the folder, unless another was first. It reports whether that is the same.
func settleKey(ctx context.Context, folder string, key uint64) bool {
	path := filepath.Join(folder, "key")
	there := func() bool { return marksKey(folder) != 0 }
	if !there() {
		_ = store.Once(ctx, "marks", path, there, func(file *atomicfile.File) error {
			return written(ctx, marksArtefact(path, "key", nil), file, binary.NativeEndian.AppendUint64(nil, key))
		})
	}
	return marksKey(folder) == key
}

func written(ctx context.Context, a *store.Artefact, file *atomicfile.File, data []byte) error {
	r, err := a.Write(ctx, file, data)
	if err == nil {
		err = r.Close()
	}
	return err
}

// Load takes over what an earlier run has kept.
func (k KeptMarks) Load() {
	if key := uint64(C.gf_jpeg_marks_key()); key != 0 {
		k.load(context.Background(), key)
	}
}

// load takes over what is there, and returns how many bytes that is; 0 if it is of another version or key, or damaged.
func (k KeptMarks) load(ctx context.Context, key uint64) (size int) {
	defer func() { _ = recover() }()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	r, err := k.artefact(key).Open(ctx)
	if err != nil {
		return 0
	}
	defer r.Close()
	_ = os.Chtimes(k.Path, time.Time{}, time.Now()) // it is used: see makeRoom
	// Copied first, since a fault in C would end the process.
	piece := make([]byte, 1<<20)
	for at := 0; at < len(r.Data); {
		n := copy(piece, r.Data[at:])
		took := int(C.gf_jpeg_marks_load(C.uint32_t(k.Number), (*C.uint8_t)(unsafe.SliceData(piece)), C.size_t(n)))
		if took == 0 {
			break
		}
		at += took
	}
	kept.Store(k.Path, len(r.Data))
	return len(r.Data)
}

func (k KeptMarks) artefact(key uint64) *store.Artefact {
	return marksArtefact(k.Path, "marks", binary.NativeEndian.AppendUint64(nil, key))
}

// SaveMarks keeps marks for later runs where there are a sixteenth more of them than a file has. Unless wait is set, that is
// done in the background, or not at all if it is being done. When a call with wait returns, nobody uses the memory of marks.
func SaveMarks(ctx context.Context, all []KeptMarks, wait bool) {
	if wait {
		saving.Lock()
	} else if !saving.TryLock() {
		return
	}
	save := func() {
		defer saving.Unlock()
		for _, k := range all {
			k.save(ctx)
		}
	}
	if wait {
		save()
	} else {
		go save()
	}
}

func (k KeptMarks) size() int {
	return int(C.gf_jpeg_marks_save(C.uint32_t(k.Number), C.size_t(k.Files), nil, 0))
}

func (k KeptMarks) save(ctx context.Context) {
	defer func() { _ = recover() }()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	key := uint64(C.gf_jpeg_marks_key())
	enough := func() bool {
		known, _ := kept.Load(k.Path)
		size, has := k.size(), 0
		if known != nil {
			has = known.(int)
		}
		return size >= k.Least && size > has+has/16
	}
	if key == 0 || !enough() || !settleKey(ctx, filepath.Dir(k.Path), key) {
		return
	}
	// What another process has kept meanwhile is taken over first: ranks see different files.
	there := func() bool { return k.load(ctx, key) > 0 && !enough() }
	err := store.Once(ctx, "marks", k.Path, there, func(file *atomicfile.File) error {
		size := k.size()
		data, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			return err
		}
		defer func() { _ = unix.Munmap(data) }()
		n := int(C.gf_jpeg_marks_save(C.uint32_t(k.Number), C.size_t(k.Files), (*C.uint8_t)(unsafe.SliceData(data)), C.size_t(size)))
		makeRoom(k.Path, mostKept-int64(n))
		err = written(ctx, k.artefact(key), file, data[:n])
		if err == nil {
			kept.Store(k.Path, n)
		}
		return err
	})
	if err != nil { // a full disk is not filled again at each epoch's end, when the user writes checkpoints
		kept.Store(k.Path, unwritable)
	}
}

// makeRoom removes marks of other datasets, those first that were not used for longest, until they have so many bytes.
func makeRoom(path string, most int64) {
	stay := []string{"key", filepath.Base(path), filepath.Base(path) + ".part"}
	entries, _ := os.ReadDir(filepath.Dir(path))
	var others []fs.FileInfo
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() && !slices.Contains(stay, entry.Name()) {
			others = append(others, info)
			most -= info.Size()
		}
	}
	slices.SortFunc(others, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, other := range others {
		if most >= 0 {
			return
		}
		if os.Remove(filepath.Join(filepath.Dir(path), other.Name())) == nil {
			most += other.Size()
		}
	}
}
