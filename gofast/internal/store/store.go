// Package store keeps on disk what was made of something else, so that later processes need not make it again: the list of
// a large folder, a decoded table, a compiled kernel.
//
// An artefact goes with its source: it says what it was made of, and is replaced by the next process that finds that to be
// something else. Nothing else evicts it, and any file of the store may be removed at any time. One process makes it, and
// others wait for that one (Once). It exists completely or not at all (package atomicfile).
//
// The file of an Artefact is its content, which can be mapped from offset 0, and then a seal: what the content is, what it
// was made of, its checksum, and the seal's own. A table's cache has its checksums in a form of its own, since numpy opens
// it, and uses Once alone.
package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/internal/atomicfile"
	"github.com/gofast-org/gofast/gofast/internal/crc"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/pool"
)

// Artefact is what a file of the store is to hold.
type Artefact struct {
	Op      string // of errors
	Kind    string // at most eight letters
	Version uint32 // of the content's layout
	Path    string
	Of      [sha256.Size]byte // all that decides the content, but for what its owner checks itself
	Threads int               // for checksums
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

// seal stands behind the content.
type seal struct {
	Magic, Kind        [8]byte
	Version, ByteOrder uint32
	Bytes              int64
	Of                 [sha256.Size]byte
	IEEE, Castagnoli   uint32
	Sum                [sha256.Size]byte // of all before
}

const (
	magic     = "gofastST"
	byteOrder = 0x01020304
)

var (
	native    = binary.NativeEndian
	sealBytes = int64(binary.Size(seal{}))
)

func (a *Artefact) fail(kind error, format string, args ...any) *errs.Error {
	return errs.New(kind, a.Op, fmt.Sprintf(format, args...)).At(a.Path)
}

// sealed is the seal of a content.
func (a *Artefact) sealed(ctx context.Context, data []byte) ([]byte, error) {
	sum, err := crc.Parallel(ctx, a.Threads, int64(len(data)), func(from, to int64) ([]byte, error) { return data[from:to], nil })
	if err != nil {
		return nil, a.fail(errs.ErrCanceled, "canceled").Because(err)
	}
	s := seal{Version: a.Version, ByteOrder: byteOrder, Bytes: int64(len(data)), Of: a.Of, IEEE: sum.IEEE, Castagnoli: sum.Castagnoli}
	copy(s.Magic[:], magic)
	copy(s.Kind[:], a.Kind)
	text, err := binary.Append(nil, native, &s)
	if err != nil {
		return nil, err
	}
	whole := text[:len(text)-sha256.Size]
	own := sha256.Sum256(whole)
	return append(whole, own[:]...), nil
}

// Record is an open artefact: read-only mapped memory, and the file, until Close.
type Record struct {
	Data []byte
	File *os.File

	mapping []byte
}

// Close may be called twice.
func (r *Record) Close() error {
	mapping := r.mapping
	r.Data, r.mapping = nil, nil
	if mapping == nil {
		return nil
	}
	return errors.Join(unix.Munmap(mapping), r.File.Close())
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

// mapped maps an open file and checks its seal.
func (a *Artefact) mapped(ctx context.Context, file *os.File) (r *Record, err error) {
	bad := func(what string) (*Record, error) {
		return nil, a.fail(errs.ErrDamaged, "not a complete %s of this version of gofast (%s): delete it, or let it be built again", a.Kind, what)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, a.fail(errs.ErrRead, "cannot stat the %s", a.Kind).Because(err)
	}
	if !info.Mode().IsRegular() || info.Size() < sealBytes || info.Size() > math.MaxInt {
		return bad("too short, or no file")
	}
	mapping, err := unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, a.fail(errs.ErrRead, "cannot map the %s", a.Kind).Because(err)
	}
	defer func() {
		if r == nil {
			_ = unix.Munmap(mapping) // cannot fail for a mapping of ours
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	data, has := mapping[:info.Size()-sealBytes], bytes.Clone(mapping[info.Size()-sealBytes:])
	var s seal
	if _, err := binary.Decode(has, native, &s); err != nil || string(s.Magic[:]) != magic || s.ByteOrder != byteOrder {
		return bad("no seal of this byte order")
	}
	own := *a
	own.Of = s.Of
	switch should, err := own.sealed(ctx, data); {
	case err != nil:
		return nil, err
	case !bytes.Equal(has, should):
		return bad("another version, or a checksum that differs")
	case s.Of != a.Of:
		return nil, a.fail(errs.ErrChanged, "the %s was made with other options", a.Kind)
	}
	return &Record{Data: data, File: file, mapping: mapping}, nil
}

// Write makes data the artefact, in a file that Once began, and maps it.
func (a *Artefact) Write(ctx context.Context, file *atomicfile.File, data []byte) (r *Record, err error) {
	end, err := a.sealed(ctx, data)
	if err != nil {
		return nil, err
	}
	err = file.Part.Truncate(0)
	if err == nil {
		_, err = file.Part.WriteAt(data, 0)
	}
	if err == nil {
		_, err = file.Part.WriteAt(end, int64(len(data)))
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
