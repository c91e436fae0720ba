// Package store keeps on disk what was made of something else, so that later processes need not make it again: the list of
// a large folder, a decoded table, a compiled kernel.
//
// An artefact goes with its source: it says what it was made of, and is replaced by the next process that finds that to be
// something else. Nothing else evicts it, and any file of the store may be removed at any time. One process makes it, and
// others wait for that one (Once). It exists completely or not at all (package atomicfile).
//
// An Artefact is a file of records (record.h) with one record: a head says what records of the file are like, and the record's name
// what its content was made of. Whoever makes a content leaves HeadBytes free in front of it, so that offsets in it are those in
// the file, or in memory that is not kept. A table's cache is a folder of arrays, since numpy opens it, and uses Once alone.
//
// Why artefacts are no folders of arrays: a spawned process is handed one descriptor, a rename replaces all of it at once, and
// its content is compared with its checksum whenever it is opened. SHA-256, which a folder of arrays has, takes ten times as
// long for that as a record's sum: the list of 1.3 million files has 73 MB.
package store

/*
#cgo CFLAGS: -O3 -std=gnu11 -Wall -Wextra
#include <string.h>
#include "record.h"

static gf_record begin(int32_t name, int64_t bytes) {
    gf_record h = {.name = name, .bytes = bytes};
    memcpy(h.magic, GF_RECORD_MAGIC, sizeof h.magic);
    return h;
}
*/
import "C"

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/internal/atomicfile"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/pool"
)

// Other packages' C code includes these headers. TestHeadersRebuildTheirUsers says what this is for.
//
//go:embed *.h
var _ embed.FS

// Artefact is what a file of the store is to hold.
type Artefact struct {
	Op      string // of errors
	Kind    string // at most eight letters
	Version uint32 // of the content's layout
	Path    string
	Of      [sha256.Size224]byte // all that decides the content, but for what its owner checks itself
}

// Folder is where artefacts of a kind lie that the user gave no path for; "" if there is no such place.
// python/gofast/_core/cache_folder.py says the same.
func Folder(kind string) string {
	caches, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(caches, "gofast", kind)
}

// Magic is what a file of records begins with; python/gofast/_images/cache_files.py writes it too.
const Magic = magic

const (
	magic       = "gofastP1"
	fileBytes   = 64 // of a file, before its first record
	kindAt      = 40 // in them: behind the magic and the digest of what decides what records are like
	recordBytes = int(unsafe.Sizeof(C.gf_record{}))
	nameAt      = fileBytes + recordBytes
	nameBytes   = 2*sha256.Size224 + 8
	pieceBytes  = 64 << 10 // of a content, that a sum is made of at a time
)

// HeadBytes is the room for all that stands before the content, a multiple of 8.
const HeadBytes = int64(nameAt + nameBytes)

func (a *Artefact) fail(kind error, format string, args ...any) *errs.Error {
	return errs.New(kind, a.Op, fmt.Sprintf(format, args...)).At(a.Path)
}

// head is what stands before a content.
func (a *Artefact) head(ctx context.Context, content []byte) ([]byte, error) {
	head := make([]byte, HeadBytes)
	like := sha256.Sum256(binary.NativeEndian.AppendUint32([]byte(a.Kind), a.Version))
	copy(head[copy(head, Magic):], like[:])
	copy(head[kindAt:], a.Kind)
	hex.Encode(head[nameAt:], a.Of[:])
	record := C.begin(C.int32_t(nameBytes), C.int64_t(len(content)))
	sum := C.gf_sum_add(C.gf_sum_begin(C.gf_record_seed(&record)), (*C.uint8_t)(&head[nameAt]), nameBytes)
	// C reads no mapped memory: where somebody cuts the file, that is a fault of Go's, and an error.
	for piece := make([]byte, pieceBytes); len(content) > 0; {
		n := copy(piece, content)
		content = content[n:]
		sum = C.gf_sum_add(sum, (*C.uint8_t)(&piece[0]), C.size_t(n))
		if ctx.Err() != nil {
			return nil, a.fail(errs.ErrCanceled, "canceled").Because(ctx.Err())
		}
	}
	record.sum = C.gf_sum_end(sum)
	copy(head[fileBytes:], unsafe.Slice((*byte)(unsafe.Pointer(&record)), recordBytes))
	return head, nil
}

// Record is an open artefact: read-only mapped memory, the head and the content, and the file, until Close.
type Record struct {
	Data []byte
	File *os.File
}

// Close may be called twice.
func (r *Record) Close() error {
	data := r.Data
	r.Data = nil
	if data == nil {
		return nil
	}
	return errors.Join(unix.Munmap(data), r.File.Close())
}

// Open maps the artefact. ErrNotFound: there is none. ErrChanged: it was made of something else. ErrDamaged: it is not whole,
// or not of this kind and version. A checksum finds damage, but not a file that was made to deceive: its owner checks what
// addresses memory.
func (a *Artefact) Open(ctx context.Context) (r *Record, err error) {
	defer pool.Recover(&err, a.Op, a.Path)
	file, err := os.OpenFile(a.Path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, a.fail(errs.ErrNotFound, "no %s there", a.Kind).Because(err)
	case err != nil:
		return nil, a.fail(errs.ErrRead, "cannot open the %s", a.Kind).Because(err)
	}
	if r, err = a.mapped(ctx, file); err != nil {
		file.Close()
	}
	return r, err
}

// mapped maps an open file and checks its head.
func (a *Artefact) mapped(ctx context.Context, file *os.File) (r *Record, err error) {
	info, err := file.Stat()
	if err != nil {
		return nil, a.fail(errs.ErrRead, "cannot stat the %s", a.Kind).Because(err)
	}
	if !info.Mode().IsRegular() || info.Size() < HeadBytes || info.Size() > math.MaxInt {
		return nil, a.incomplete("too short, or no file")
	}
	data, err := unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, a.fail(errs.ErrRead, "cannot map the %s", a.Kind).Because(err)
	}
	defer func() {
		if r == nil {
			_ = unix.Munmap(data) // cannot fail for a mapping of ours
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	switch of, err := a.Check(ctx, data); {
	case err != nil:
		return nil, err
	case of != a.Of:
		return nil, a.Other()
	}
	return &Record{data, file}, nil
}

// Check says what an artefact of this kind and version was made of, whose bytes these are, from its head on. ErrDamaged: they
// are not whole, or of another one.
func (a *Artefact) Check(ctx context.Context, data []byte) (of [sha256.Size224]byte, err error) {
	if int64(len(data)) < HeadBytes {
		return of, a.incomplete("too short, or no file")
	}
	has, own := bytes.Clone(data[:HeadBytes]), *a
	if _, err := hex.Decode(own.Of[:], has[nameAt:nameAt+2*sha256.Size224]); err != nil {
		return of, a.incomplete("it does not say what it was made of")
	}
	should, err := own.head(ctx, data[HeadBytes:])
	if err == nil && !bytes.Equal(has, should) {
		err = a.incomplete("another version, or a checksum that differs")
	}
	return own.Of, err
}

// Other is the error of an artefact that was made of something else.
func (a *Artefact) Other() error {
	return a.fail(errs.ErrChanged, "the %s was made with other options", a.Kind)
}

func (a *Artefact) incomplete(what string) error {
	return a.fail(errs.ErrDamaged, "not a complete %s of this version of gofast (%s): delete it, or let it be built again", a.Kind, what)
}

// Is says whether a file begins as an artefact of this kind does, or is empty. It may be one that is not whole.
func (a *Artefact) Is() bool {
	file, err := os.OpenFile(a.Path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return false
	}
	begin := make([]byte, fileBytes)
	n, _ := file.ReadAt(begin, 0)
	return strings.HasPrefix(Magic, string(begin[:min(n, len(Magic))])) && (n < fileBytes || a.Kind == string(bytes.TrimRight(begin[kindAt:], "\x00")))
}

// Write makes data the artefact, in a file that Once began, and maps it. Its first HeadBytes are not of the content.
func (a *Artefact) Write(ctx context.Context, file *atomicfile.File, data []byte) (r *Record, err error) {
	begin, err := a.head(ctx, data[HeadBytes:])
	if err != nil {
		return nil, err
	}
	err = file.Part.Truncate(0)
	if err == nil {
		_, err = file.Part.WriteAt(data[HeadBytes:], HeadBytes)
	}
	if err == nil {
		_, err = file.Part.WriteAt(begin, 0)
	}
	if err != nil {
		return nil, a.fail(errs.ErrRead, "cannot write the %s: is the disk full?", a.Kind).Because(err)
	}
	// Opened under its first name, which only the holder of the lock may replace.
	first := *a
	first.Path = file.Part.Name()
	if r, err = first.Open(ctx); err != nil {
		return nil, err
	}
	if err := file.Commit(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Once has one process at a time make the file at path. Others wait, and then make it too, unless it is there now.
func Once(ctx context.Context, op, path string, there func() bool, make func(*atomicfile.File) error) error {
	file, err := atomicfile.Begin(ctx, op, path)
	if err != nil {
		return err
	}
	defer file.Release()
	if there() {
		return nil
	}
	return make(file)
}
