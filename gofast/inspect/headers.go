package inspect

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"strconv"

	"github.com/gofast-org/gofast/gofast/source"
)

// What headers tell besides the size, which the core's decoders read for the formats that they know; where they leave a
// file to Pillow, and of other formats, the size too. Each function may be given any bytes that begin with its
// format's magic, of any length.

var little, big = binary.LittleEndian, binary.BigEndian

// details are what the header of a picture says; zero values where it does not.
type details struct {
	width, height int
	colour        string // "grey", "rgb", "palette", ...
	subsampling   string // of the chroma of a JPEG: "4:2:0"
	progressive   bool   // a JPEG's scans, a PNG's interlacing
	orientation   int    // of Exif: 1 is upright, 2 to 8 are turned or mirrored
	body          int64  // where the data of the pixels begin
}

// pngHeader reads IHDR, which lies behind a signature of 8 bytes and ends at 33, and the chunks before the pixels.
func pngHeader(head []byte) (d details) {
	if len(head) < 33 {
		return d
	}
	d.width, d.height = int(big.Uint32(head[16:])), int(big.Uint32(head[20:]))
	d.colour = map[byte]string{0: "grey", 2: "rgb", 3: "palette", 4: "grey with alpha", 6: "rgb with alpha"}[head[25]]
	if head[24] == 16 {
		d.colour += ", 16 bits"
	}
	d.progressive = head[28] == 1
	for at := 33; at+8 <= len(head); {
		end := at + 8 + int(big.Uint32(head[at:]))
		switch string(head[at+4 : at+8]) {
		case "IDAT":
			d.body = int64(at)
			return d
		case "eXIf":
			d.orientation = firstDirectory(head[at+8 : min(end, len(head))]).orientation
		}
		at = end + 4
	}
	return d
}

func webpHeader(head []byte) (d details) {
	d.colour = "rgb"
	const alpha = 1 << 4
	if len(head) >= 25 && (head[15] == 'X' && head[20]&alpha != 0 || head[15] == 'L' && head[24]&alpha != 0) {
		d.colour = "rgb with alpha"
	}
	return d
}

// pnm is the header of binary PGM and PPM files: width, height and maximum between blanks and comments.
var pnm = regexp.MustCompile(`^P[56]` + `(?:[\t-\r ]|#.*\n)+(\d{1,9})` + `(?:[\t-\r ]|#.*\n)+(\d{1,9})` + `(?:[\t-\r ]|#.*\n)+(\d{1,9})`)

func pnmHeader(head []byte) (d details) {
	d.colour = map[byte]string{'5': "grey", '6': "rgb"}[head[1]]
	m := pnm.FindSubmatchIndex(head)
	if m == nil {
		return d
	}
	number := func(i int) int {
		n, _ := strconv.Atoi(string(head[m[2*i]:m[2*i+1]])) // digits, as matched
		return n
	}
	if number(3) > 255 {
		d.colour += ", 16 bits"
	}
	d.width, d.height, d.body = number(1), number(2), int64(m[1])+1
	return d
}

func gifHeader(head []byte) (d details) {
	if len(head) >= 10 {
		d.width, d.height, d.colour = int(little.Uint16(head[6:])), int(little.Uint16(head[8:])), "palette"
	}
	return d
}

func bmpHeader(head []byte) (d details) {
	if len(head) < 30 {
		return d
	}
	bits := int(little.Uint16(head[28:]))
	if little.Uint32(head[14:]) == 12 { // of OS/2
		d.width, d.height, bits = int(little.Uint16(head[18:])), int(little.Uint16(head[20:])), int(little.Uint16(head[24:]))
	} else {
		d.width, d.height = int(int32(little.Uint32(head[18:]))), int(int32(little.Uint32(head[22:])))
		d.height = max(d.height, -d.height) // a negative one begins at the top
	}
	d.colour = map[bool]string{true: "palette", false: "rgb"}[bits <= 8]
	return d
}

// firstDirectory reads the first directory of a TIFF file, or of Exif data, which are one: size,
// colour and orientation, as far as they stand in the bytes that are there.
func firstDirectory(b []byte) (d details) {
	var order binary.ByteOrder = little
	switch {
	case len(b) < 8:
		return d
	case bytes.HasPrefix(b, []byte("MM\x00*")):
		order = big
	case !bytes.HasPrefix(b, []byte("II*\x00")):
		return d // BigTIFF has another layout
	}
	at := int64(order.Uint32(b[4:]))
	if at > int64(len(b))-2 {
		return d
	}
	entries := b[at+2:]
	for range order.Uint16(b[at:]) {
		if len(entries) < 12 {
			break
		}
		value := int(order.Uint16(entries[8:]))
		if order.Uint16(entries[2:]) == 4 { // a number of 32 bits
			value = int(order.Uint32(entries[8:]))
		}
		switch order.Uint16(entries) {
		case 256:
			d.width = value
		case 257:
			d.height = value
		case 262:
			d.colour = map[int]string{0: "grey", 1: "grey", 2: "rgb", 3: "palette", 5: "cmyk", 6: "rgb"}[value]
		case 274:
			if value >= 1 && value <= 8 {
				d.orientation = value
			}
		}
		entries = entries[12:]
	}
	return d
}

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
		if f.ReadFull(size[:], 4) == nil && int64(little.Uint32(size[:]))+8 > f.Size() {
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
