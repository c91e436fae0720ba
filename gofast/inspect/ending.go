package inspect

import (
	"bytes"
	"encoding/binary"

	"github.com/gofast-org/gofast/gofast/source"
)

// tailBytes of a file are searched for the mark of its end: cameras put up to some KB of their own behind it.
const tailBytes = 64 << 10

// unended says why a picture was probably cut: the end that its format has is not there. "" where all seems well.
// It reads a few bytes, and more only when the end is not where it should be.
func unended(f *source.File, format string, d details) string {
	switch format {
	case "jpeg":
		// Behind the header, no byte FF is followed by D9 but at the end.
		if !endsWith(f, "\xff\xd9", d.body) {
			return "no end-of-image marker in the last 64 KiB: the file was probably cut"
		}
	case "png":
		if !endsWith(f, "IEND\xaeB`\x82", d.body) {
			return "no IEND chunk in the last 64 KiB: the file was probably cut"
		}
	case "webp":
		var size [4]byte
		if f.ReadFull(size[:], 4) == nil && int64(binary.LittleEndian.Uint32(size[:]))+8 > f.Size() {
			return "the header declares more bytes than the file has: it was probably cut"
		}
	case "pnm":
		if samples := map[string]int64{"grey": 1, "rgb": 3}[d.colour]; d.body > 0 && d.body+samples*int64(d.width)*int64(d.height) > f.Size() {
			return "the header declares more pixels than the file has: it was probably cut"
		}
	}
	return ""
}

// endsWith reports whether mark stands in the tail of the file, behind body. A file that cannot be read here is
// not suspected: it was, a moment ago.
func endsWith(f *source.File, mark string, body int64) bool {
	for _, n := range []int64{int64(len(mark)), tailBytes} {
		from := max(f.Size()-n, body, 0)
		tail := make([]byte, f.Size()-from)
		if err := f.ReadFull(tail, from); err != nil || bytes.Contains(tail, []byte(mark)) {
			return true
		}
	}
	return false
}
