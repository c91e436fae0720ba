package jpeg

// #include "jpeg.h"
import "C"

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"path/filepath"
	"runtime/debug"
	"sync"
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

// keeping is held by whoever reads or writes marks; kept are the bytes that a file is known to have.
var (
	keeping sync.Mutex
	kept    = map[string]int{}
)

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
	keeping.Lock()
	defer keeping.Unlock()
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
	kept[k.Path] = len(r.Data)
	return len(r.Data)
}

func (k KeptMarks) artefact(key uint64) *store.Artefact {
	return marksArtefact(k.Path, "marks", binary.NativeEndian.AppendUint64(nil, key))
}

// SaveMarks keeps marks for later runs where there are a sixteenth more of them than a file has. It returns at once if it is
// busy with that, unless wait is set.
func SaveMarks(ctx context.Context, all []KeptMarks, wait bool) {
	if wait {
		keeping.Lock()
	} else if !keeping.TryLock() {
		return
	}
	defer keeping.Unlock()
	for _, k := range all {
		k.save(ctx)
	}
}

func (k KeptMarks) size() int {
	return int(C.gf_jpeg_marks_save(C.uint32_t(k.Number), C.size_t(k.Files), nil, 0))
}

func (k KeptMarks) save(ctx context.Context) {
	defer func() { _ = recover() }()
	key := uint64(C.gf_jpeg_marks_key())
	enough := func() bool {
		size, has := k.size(), kept[k.Path]
		return size >= k.Least && size > has+has/16
	}
	if key == 0 || !enough() || !settleKey(ctx, filepath.Dir(k.Path), key) {
		return
	}
	// What another process has kept meanwhile is taken over first: ranks see different files.
	there := func() bool { return k.load(ctx, key) > 0 && !enough() }
	_ = store.Once(ctx, "marks", k.Path, there, func(file *atomicfile.File) error {
		size := k.size()
		data, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			return err
		}
		defer func() { _ = unix.Munmap(data) }()
		n := int(C.gf_jpeg_marks_save(C.uint32_t(k.Number), C.size_t(k.Files), (*C.uint8_t)(unsafe.SliceData(data)), C.size_t(size)))
		err = written(ctx, k.artefact(key), file, data[:n])
		if err == nil {
			kept[k.Path] = n
		}
		return err
	})
}
