package inspect

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// The headers of formats other than JPEG: sizes and colours. Each function may be given any
// bytes that begin with its format's magic, of any length.

var little, big = binary.LittleEndian, binary.BigEndian

func pngHeader(head []byte, _ int64) (d details) {
	if len(head) < 33 || string(head[12:16]) != "IHDR" {
		return d
	}
	d.width, d.height = int(big.Uint32(head[16:])), int(big.Uint32(head[20:]))
	d.colour = map[byte]string{0: "grey", 2: "rgb", 3: "palette", 4: "grey with alpha", 6: "rgb with alpha"}[head[25]]
	if head[24] == 16 {
		d.colour += ", 16 bits"
	}
	d.progressive = head[28] == 1
	for at := 33; at+8 <= len(head); {
		size, name := int64(big.Uint32(head[at:])), string(head[at+4:at+8])
		if name == "IDAT" {
			d.body = int64(at)
			break
		}
		if end := int64(at) + 8 + size; name == "eXIf" && end <= int64(len(head)) {
			d.orientation = firstDirectory(head[at+8 : end]).orientation
		}
		if size > int64(len(head)) {
			break
		}
		at += 12 + int(size)
	}
	return d
}

func webpHeader(head []byte, _ int64) (d details) {
	if len(head) < 30 {
		return d
	}
	switch string(head[12:16]) {
	case "VP8 ": // lossy; the size stands behind the start code
		if string(head[23:26]) == "\x9d\x01\x2a" {
			d.width, d.height = int(little.Uint16(head[26:])&0x3fff), int(little.Uint16(head[28:])&0x3fff)
		}
		d.colour = "rgb"
	case "VP8L":
		bits := little.Uint32(head[21:])
		d.width, d.height = int(bits&0x3fff)+1, int(bits>>14&0x3fff)+1
		d.colour = "rgb"
		if bits>>28&1 == 1 {
			d.colour = "rgb with alpha"
		}
	case "VP8X":
		d.width = int(little.Uint32(head[23:])>>8) + 1
		d.height = int(little.Uint32(head[26:])>>8) + 1
		d.colour = "rgb"
		if head[20]&0x10 != 0 {
			d.colour = "rgb with alpha"
		}
	}
	return d
}

// pnmHeader reads binary PGM and PPM: width, height and maximum between blanks and comments.
func pnmHeader(head []byte, length int64) (d details) {
	d.colour = map[byte]string{'5': "grey", '6': "rgb"}[head[1]]
	var numbers [3]int
	at := 2
	for i := range numbers {
		for at < len(head) && (head[at] <= ' ' || head[at] == '#') {
			if head[at] == '#' {
				end := bytes.IndexByte(head[at:], '\n')
				if end < 0 {
					return d
				}
				at += end
			}
			at++
		}
		from := at
		for ; at < len(head) && head[at] >= '0' && head[at] <= '9' && at-from < 9; at++ {
			numbers[i] = 10*numbers[i] + int(head[at]-'0')
		}
		if from == at {
			return d
		}
	}
	if numbers[2] > 255 {
		d.colour += ", 16 bits"
	}
	d.width, d.height, d.body = numbers[0], numbers[1], int64(at)+1
	return d
}

func gifHeader(head []byte, _ int64) (d details) {
	if len(head) >= 10 {
		d.width, d.height, d.colour = int(little.Uint16(head[6:])), int(little.Uint16(head[8:])), "palette"
	}
	return d
}

func bmpHeader(head []byte, _ int64) (d details) {
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

func tiffHeader(head []byte, _ int64) details { return firstDirectory(head) }

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

// describe is how a beginning that no format has is shown.
func describe(head []byte) string {
	return fmt.Sprintf("it begins with % x", head[:min(len(head), 8)])
}
