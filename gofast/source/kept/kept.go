// Package kept reads and appends records of samples that are kept for later epochs; kept.h says how. Its records are found
// by an array in shared memory, which whoever opens the files fills: python/gofast/_images/kept.py.
package kept

/*
#cgo CFLAGS: -O3 -std=gnu11 -Wall -Wextra
#include <stdlib.h>
#include "kept.h"

static gf_kept *make(uintptr_t files, int32_t own, int32_t index, uintptr_t mapped, int64_t limit, uintptr_t shared, uintptr_t records) {
    return gf_kept_new((gf_kept){.files = (const int32_t *)files, .own = own, .index = index, .mapped = (const uint8_t *)mapped, .limit = limit,
                                 .shared = (gf_kept_shared *)shared, .records = (_Atomic uint64_t *)records});
}
*/
import "C"

import (
	"embed"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	_ "github.com/gofast-org/gofast/gofast/internal/fault"
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
}

// New makes a gf_kept in C memory; Free releases it.
func New(c Config) (unsafe.Pointer, error) {
	if c.Files == 0 || c.Shared == 0 || c.Records == 0 || c.Own >= C.GF_KEPT_MOST_FILES {
		return nil, errs.New(errs.ErrConfig, "cache", "nothing says where records are kept")
	}
	k := C.make(C.uintptr_t(c.Files), C.int32_t(c.Own), C.int32_t(c.Index), C.uintptr_t(c.Mapped), C.int64_t(c.Limit), C.uintptr_t(c.Shared), C.uintptr_t(c.Records))
	if k == nil {
		return nil, errs.New(errs.ErrLimit, "cache", "memory is short")
	}
	return unsafe.Pointer(k), nil
}

// Free releases it; nil is none.
func Free(k unsafe.Pointer) { C.free(k) }
