package reader

/*
#cgo CFLAGS: -O3 -std=gnu11 -Wall -Wextra
#include "reader.h"

gf_reader *gf_file_reader(const char *root, const char *paths, const uint64_t *offsets, const gf_stamp *stamps, size_t most);
gf_reader *gf_memory_reader(const uint8_t *const *starts, const uint64_t *lengths, size_t most);

static const void *as_pointer(uintptr_t address) { return (const void *)address; }
*/
import "C"

import (
	"embed"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	_ "github.com/gofast-org/gofast/gofast/internal/fault"
	"github.com/gofast-org/gofast/gofast/source"
)

// What C reads is laid out as Go's structures are: else one of these is no length of an array.
var (
	_ [C.sizeof_gf_extent - unsafe.Sizeof(source.Extent{})]struct{}
	_ [unsafe.Sizeof(source.Extent{}) - C.sizeof_gf_extent]struct{}
	_ [C.sizeof_gf_facts - unsafe.Sizeof(source.Facts{})]struct{}
	_ [unsafe.Sizeof(source.Facts{}) - C.sizeof_gf_facts]struct{}
	_ [C.sizeof_gf_stamp - unsafe.Sizeof(source.Stamp{})]struct{}
	_ [unsafe.Sizeof(source.Stamp{}) - C.sizeof_gf_stamp]struct{}
)

// Other packages' C code includes these headers, and this package's those of the
// import above. TestHeadersRebuildTheirUsers says what both are for.
//
//go:embed *.h
var _ embed.FS

// Config chooses a reader: that of the field that is set.
type Config struct {
	File   *File   `json:"file"`
	Memory *Memory `json:"memory"`
}

// File reads local files. The arrays outlive the reader.
type File struct {
	Root    string  `json:"root"`    // stands before every path
	Paths   uintptr `json:"paths"`   // address of the paths, each with a zero behind it
	Offsets uintptr `json:"offsets"` // address of uint64[count], where each path begins
	Stamps  uintptr `json:"stamps"`  // address of source.Stamp[count], which each read compares; 0 without
}

// Path is the path of a file.
func (f *File) Path(object int64) string {
	at := func(address uintptr) unsafe.Pointer { return unsafe.Pointer(C.as_pointer(C.uintptr_t(address))) }
	begins := *(*C.uint64_t)(at(f.Offsets + 8*uintptr(object)))
	return f.Root + C.GoString((*C.char)(at(f.Paths+uintptr(begins))))
}

// Memory reads objects where they lie. They and the arrays outlive the reader.
type Memory struct {
	Starts  uintptr `json:"starts"`  // address of uint64[count], the objects' addresses
	Lengths uintptr `json:"lengths"` // address of uint64[count], their bytes
}

// New makes a reader, a gf_reader in C memory: its free function releases it.
// Samples of more than most bytes are not read.
func New(config Config, most int64) (unsafe.Pointer, error) {
	var made *C.gf_reader
	switch {
	case config.File != nil:
		f := config.File
		root := append([]byte(f.Root), 0)
		made = C.gf_file_reader((*C.char)(unsafe.Pointer(&root[0])), (*C.char)(C.as_pointer(C.uintptr_t(f.Paths))),
			(*C.uint64_t)(C.as_pointer(C.uintptr_t(f.Offsets))), (*C.gf_stamp)(C.as_pointer(C.uintptr_t(f.Stamps))), C.size_t(most))
	case config.Memory != nil:
		m := config.Memory
		made = C.gf_memory_reader((**C.uint8_t)(C.as_pointer(C.uintptr_t(m.Starts))), (*C.uint64_t)(C.as_pointer(C.uintptr_t(m.Lengths))), C.size_t(most))
	default:
		return nil, errs.New(errs.ErrConfig, "reader", "nothing says where the samples are")
	}
	if made == nil {
		return nil, errs.New(errs.ErrLimit, "reader", "memory is short")
	}
	return unsafe.Pointer(made), nil
}
