package inspect

import (
	"bytes"
	"fmt"
)

// jpegHeader walks the markers as the core's own reader does (image/jpeg/header.c), which decides
// whether the file is one; this only looks for what is worth telling.
func jpegHeader(head []byte) (d details) {
	components, adobe := 0, -1
	for at := 2; ; {
		for at < len(head) && head[at] != 0xff {
			at++
		}
		for at < len(head) && head[at] == 0xff {
			at++
		}
		if at >= len(head) {
			return d
		}
		marker := head[at]
		at++
		if marker < 0xc0 || marker >= 0xd0 && marker <= 0xd9 || marker == 0xc8 || marker >= 0xf0 && marker != 0xfe {
			continue
		}
		if at+2 > len(head) {
			return d
		}
		size := max(int(big.Uint16(head[at:])), 2)
		segment := head[min(at+2, len(head)):min(at+size, len(head))]
		at += size
		switch {
		case marker == 0xda:
			d.colour = jpegColour(components, adobe)
			d.body = int64(at)
			return d
		case marker == 0xe1 && bytes.HasPrefix(segment, []byte("Exif\x00\x00")):
			if d.orientation == 0 {
				d.orientation = firstDirectory(segment[6:]).orientation
			}
		case marker == 0xee && len(segment) >= 12 && bytes.HasPrefix(segment, []byte("Adobe")):
			adobe = int(segment[11])
		case marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xcc && len(segment) >= 6:
			d.height, d.width = int(big.Uint16(segment[1:])), int(big.Uint16(segment[3:]))
			components = int(segment[5])
			d.progressive = marker&3 == 2
			d.subsampling = subsampling(segment[6:], components)
		}
	}
}

// jpegColour says how the pixels are stored; Adobe's marker tells RGB and the two kinds of CMYK apart.
func jpegColour(components, adobe int) string {
	switch {
	case components == 1:
		return "grey"
	case components == 3 && adobe == 0:
		return "rgb, stored as such"
	case components == 3:
		return "rgb"
	case components == 4 && adobe == 2:
		return "cmyk, stored as ycck"
	case components == 4:
		return "cmyk"
	}
	return ""
}

// subsampling is the usual name of the sampling factors of a colour picture.
func subsampling(factors []byte, components int) string {
	if components < 3 || len(factors) < 9 {
		return ""
	}
	h, v := int(factors[1]>>4), int(factors[1]&15)
	ch, cv := int(factors[4]>>4), int(factors[4]&15)
	if factors[7] == factors[4] && ch > 0 && cv > 0 && h%ch == 0 && v%cv == 0 {
		names := map[[2]int]string{{1, 1}: "4:4:4", {2, 1}: "4:2:2", {2, 2}: "4:2:0", {1, 2}: "4:4:0", {4, 1}: "4:1:1", {4, 2}: "4:1:0"}
		if name := names[[2]int{h / ch, v / cv}]; name != "" {
			return name
		}
	}
	return fmt.Sprintf("%dx%d, %dx%d, %dx%d", h, v, ch, cv, factors[7]>>4, factors[7]&15)
}
