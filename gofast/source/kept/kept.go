// Package kept reads and appends records of samples that are kept for later epochs; kept.h says how. Its records are found
// by an array in shared memory, which whoever opens the files fills: python/gofast/_images/cache_files.py.
package kept

/*
#cgo CFLAGS: -O3 -std=gnu11 -Wall -Wextra
#include <stdlib.h>
#include "kept.h"

static gf_kept *make(uintptr_t files, int32_t own, int32_t index, uintptr_t mapped, int64_t limit, uintptr_t shared, uintptr_t records,
                     uintptr_t names, uintptr_t offsets) {
    return gf_kept_new((gf_kept){.files = (const int32_t *)files, .own = own, .index = index, .mapped = (const uint8_t *)mapped, .limit = limit,
                                 .shared = (gf_kept_shared *)shared, .records = (_Atomic uint64_t *)records,
                                 .names = (const char *)names, .offsets = (const uint64_t *)offsets});
}

static void keys_of(uintptr_t names, uintptr_t offsets, int64_t count, uintptr_t keys) {
    for (int64_t i = 0; i < count; i++) ((uint64_t *)keys)[i] = gf_kept_key((const char *)names + ((const uint64_t *)offsets)[i]);
}
*/
import "C"

import (
	"context"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	_ "github.com/gofast-org/gofast/gofast/internal/fault"
	"github.com/gofast-org/gofast/gofast/internal/store"
	"github.com/gofast-org/gofast/gofast/source"
	_ "github.com/gofast-org/gofast/gofast/source/reader"
)

// Other packages' C code includes these headers. TestHeadersRebuildTheirUsers says what this is for.
//
//go:embed *.h
var _ embed.FS

// Config is where that lies which kept.h's gf_kept points to.
type Config struct {
	Files   uintptr `json:"files"`
	Own     int32   `json:"own"`
	Index   int32   `json:"index"`
	Mapped  uintptr `json:"mapped"`
	Limit   int64   `json:"limit"`
	Shared  uintptr `json:"shared"`
	Records uintptr `json:"records"`
	Names   uintptr `json:"names"`
	Offsets uintptr `json:"offsets"`
}

// New makes a gf_kept in C memory; Free releases it.
func New(c Config) (unsafe.Pointer, error) {
	if c.Files == 0 || c.Shared == 0 || c.Records == 0 || c.Own >= C.GF_KEPT_MOST_FILES {
		return nil, errs.New(errs.ErrConfig, "cache", "nothing says where records are kept")
	}
	k := C.make(C.uintptr_t(c.Files), C.int32_t(c.Own), C.int32_t(c.Index), C.uintptr_t(c.Mapped), C.int64_t(c.Limit), C.uintptr_t(c.Shared), C.uintptr_t(c.Records),
		C.uintptr_t(c.Names), C.uintptr_t(c.Offsets))
	if k == nil {
		return nil, errs.New(errs.ErrLimit, "cache", "memory is short")
	}
	return unsafe.Pointer(k), nil
}

// Keys writes what samples' names are found by.
func Keys(names, offsets uintptr, count int, keys uintptr) {
	C.keys_of(C.uintptr_t(names), C.uintptr_t(offsets), C.int64_t(count), C.uintptr_t(keys))
}

const (
	ending    = ".records"
	entrySize = int64(unsafe.Sizeof(C.gf_kept_entry{}))
)

// Is says whether a file is one of records, by its name and its first bytes.
func Is(path string, head []byte) bool {
	return strings.HasSuffix(path, ending) && strings.HasPrefix(string(head), store.Magic)
}

// Verify compares all records of a file that its index has with their checksums.
func Verify(ctx context.Context, f *source.File) error {
	index, err := source.Open(strings.TrimSuffix(f.Path(), ending) + ".index")
	if errors.Is(err, errs.ErrNotFound) {
		return nil // its writer came no further
	}
	if err != nil {
		return err
	}
	defer index.Close()
	var memory C.gf_bytes
	defer func() { C.free(unsafe.Pointer(memory.data)) }()
	records, damaged, first := 0, 0, int64(0)
	block := make([]byte, 4096*entrySize)
	for at := int64(0); index.Size()-at >= entrySize && ctx.Err() == nil; at += int64(len(block)) {
		block = block[:min(int64(len(block)), (index.Size()-at)/entrySize*entrySize)]
		if err := index.ReadFull(block, at); err != nil {
			return err
		}
		for e := range slices.Chunk(block, int(entrySize)) {
			key, place := binary.NativeEndian.Uint64(e), int64(binary.NativeEndian.Uint64(e[8:]))
			if key == 0 && place == 0 {
				continue // a writer was killed before it came to this one
			}
			if records++; C.gf_kept_check(C.int(f.Fd()), C.int64_t(place), C.uint64_t(key), &memory) == 0 {
				if damaged++; damaged == 1 || place < first {
					first = place // an index has no order
				}
			}
		}
	}
	if damaged == 0 {
		return ctx.Err()
	}
	what := fmt.Sprintf("%d of %d records are not as they were written, the first of them here", damaged, records)
	return errs.New(errs.ErrDamaged, "cache", what).At(f.Path()).AtOffset(first)
}

// Free releases it; nil is none.
func Free(k unsafe.Pointer) { C.free(k) }
