package cache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
)

// Format is the version of the file's layout.
const Format = 1

// header is the JSON in gofast.npy. This is the last member, so it ends where the
// zip directory begins. After these fields come the size of the file, the length of
// the JSON, and the SHA-256 of all JSON before it, each with a fixed width.
// python/gofast/_tables/cache.py reads it too.
type header struct {
	Format      int      `json:"format"`
	ByteOrder   string   `json:"byteorder"`
	Fingerprint string   `json:"fingerprint"`
	Rows        int64    `json:"rows"`
	Width       int      `json:"width"`
	DType       string   `json:"dtype"`
	Bool        bool     `json:"bool"`
	Shape       []int    `json:"shape"`
	Names       []string `json:"names"`
	Dropped     []string `json:"dropped"`
	Labels      []label  `json:"labels"`
	Texts       []text   `json:"texts,omitempty"`
	Arrays      []stored `json:"arrays"`
	Size        int64    `json:"-"`
}

type label struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`    // "int", "float" or "text"
	Classes int    `json:"classes"` // number of words of a text label
}

// stored is the place of a member's values.
type stored struct {
	Name   string `json:"name"`
	DType  string `json:"dtype"` // numpy's
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
	Sum    string `json:"sum"` // CRC-32 and CRC-32C of the member, in hex
}

var kindNames = [...]string{table.IntLabel: "int", table.FloatLabel: "float", table.TextLabel: "text"}

const (
	sealFormat = `,"size":%20d,"length":%10d,"sha256":"`
	sealLength = len(`,"size":,"length":,"sha256":"`) + 20 + 10
	sumLength  = sha256.Size * 2
	tailLength = sealLength + sumLength + len(`"}`)
)

func byteOrder() string {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return "little"
	}
	return "big"
}

// seal is the JSON with its size, length and checksum.
func (h *header) seal() ([]byte, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	text = text[:len(text)-1]
	text = fmt.Appendf(text, sealFormat, h.Size, len(text)+tailLength)
	sum := sha256.Sum256(text[:len(text)-len(`,"sha256":"`)])
	text = hex.AppendEncode(text, sum[:])
	return append(text, `"}`...), nil
}

const (
	end64Size, locateSize, endSize = 56, 20, 22
	zipTail                        = end64Size + locateSize + endSize
	maxHeader                      = 1 << 30
)

// Is reports whether a file is an npz file whose last member is a cache's header, so that Verify is to be asked about it.
func Is(f *source.File) bool {
	var magic [4]byte
	if f.ReadFull(magic[:], 0) != nil || string(magic[:]) != "PK\x03\x04" {
		return false
	}
	tail := make([]byte, min(f.Size(), searched))
	if _, _, err := findHeader(f); err == nil {
		return true
	}
	// A byte that was flipped there makes it no other file.
	return f.ReadFull(tail, f.Size()-int64(len(tail))) == nil && bytes.Contains(tail, []byte("gofast.npy"))
}

// searched is where the name of the last member is looked for, which stands before the header and behind it.
const searched = 1 << 20

// readHeader finds, checks and parses the header. Any failure except one of the
// operating system is ErrDamaged, and the caller builds the cache again.
func readHeader(f *source.File) (h *header, text []byte, err error) {
	bad := func(what string) (*header, []byte, error) {
		return nil, nil, fail(errs.ErrDamaged, f.Path(), "not a complete cache of this version of gofast (%s): delete it, or let it be built again", what)
	}
	directory, length, err := findHeader(f)
	var why missing
	switch {
	case errors.As(err, &why):
		return bad(string(why))
	case err != nil:
		return nil, nil, err
	}
	text = make([]byte, length)
	if err := f.ReadFull(text, directory-length); err != nil {
		return nil, nil, err
	}
	body := text[:len(text)-sumLength-len(`,"sha256":""}`)]
	sum := sha256.Sum256(body)
	if string(text[len(text)-sumLength-2:]) != hex.EncodeToString(sum[:])+`"}` {
		return bad("the header's checksum differs")
	}
	h = &header{Size: f.Size()}
	if err := json.Unmarshal(text, h); err != nil || h.Format != Format || h.ByteOrder != byteOrder() {
		return bad("another version or byte order")
	}
	if !h.consistent() {
		return bad("the header contradicts itself")
	}
	return h, text, nil
}

// consistent checks every number that is used to address memory. The checksum finds
// damage, but not a header that was made to deceive.
func (h *header) consistent() bool {
	t := table.TypeNamed(h.DType)
	width := int64(1)
	for _, d := range h.Shape {
		var ok bool
		if width, ok = limits.Mul(width, int64(d)); !ok || d < 0 || d == 0 && len(h.Texts) == 0 {
			return false
		}
	}
	features, ok := limits.Mul(h.Rows, width, int64(t.Size()))
	labels, ok2 := limits.Mul(h.Rows, int64(len(h.Labels)+len(h.Texts)), 8)
	if t == table.Invalid || h.Bool && t != table.Uint8 || !ok || !ok2 || width != int64(h.Width) {
		return false
	}
	want := []stored{{Name: "features", Bytes: features}}
	if len(h.Labels)+len(h.Texts) > 0 {
		want = append(want, stored{Name: "labels", Bytes: labels})
	}
	for i, l := range h.Labels {
		if l.Kind == "text" {
			want = append(want, stored{Name: classesName(i, len(h.Labels)), Bytes: -1})
		}
	}
	for i := range h.Texts {
		for _, name := range h.Texts[i].arrays(i) {
			want = append(want, stored{Name: name, Bytes: -1})
		}
	}
	if len(want) != len(h.Arrays) {
		return false
	}
	for i, a := range h.Arrays {
		if a.Name != want[i].Name || want[i].Bytes >= 0 && a.Bytes != want[i].Bytes {
			return false
		}
		if a.Offset < 0 || a.Bytes < 0 || a.Offset%align != 0 || a.Offset > h.Size || a.Bytes > h.Size-a.Offset {
			return false
		}
	}
	return true
}

// missing says why a file is no cache.
type missing string

func (m missing) Error() string { return string(m) }

// findHeader finds the header's end, which is where the zip directory begins, and its length.
func findHeader(f *source.File) (directory, length int64, err error) {
	if f.Size() < zipTail+int64(tailLength) {
		return 0, 0, missing("too short")
	}
	var end [zipTail]byte
	if err := f.ReadFull(end[:], f.Size()-zipTail); err != nil {
		return 0, 0, err
	}
	directory = int64(le.Uint64(end[48:]))
	if string(end[:4]) != "PK\x06\x06" || directory < int64(tailLength) || directory > f.Size()-zipTail {
		return 0, 0, missing("no zip directory")
	}
	tail := make([]byte, tailLength)
	if err := f.ReadFull(tail, directory-int64(tailLength)); err != nil {
		return 0, 0, err
	}
	var size int64
	if n, _ := fmt.Sscanf(string(tail), sealFormat, &size, &length); n != 2 || size != f.Size() ||
		length < int64(tailLength) || length > min(directory, maxHeader) {
		return 0, 0, missing("no header")
	}
	return directory, length, nil
}
