package png

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
)

const signature = "\x89PNG\r\n\x1a\n"

// chunk is one chunk of a file that a test makes.
type chunk struct {
	name string
	data []byte
}

func pack(chunks ...chunk) []byte {
	out := []byte(signature)
	for _, c := range chunks {
		out = binary.BigEndian.AppendUint32(out, uint32(len(c.data)))
		body := append([]byte(c.name), c.data...)
		out = append(out, body...)
		out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(body))
	}
	return out
}

func deflate(raw []byte) []byte {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	w.Write(raw)
	w.Close()
	return b.Bytes()
}

// kind is a colour type with a depth.
type kind struct{ colour, depth, bands int }

var everyKind = []kind{{0, 1, 1}, {0, 2, 1}, {0, 4, 1}, {0, 8, 1}, {0, 16, 1}, {2, 8, 3}, {2, 16, 3}, {3, 1, 1}, {3, 2, 1}, {3, 4, 1},
	{3, 8, 1}, {4, 8, 2}, {4, 16, 2}, {6, 8, 4}, {6, 16, 4}}

func (k kind) header(width, height int, interlaced bool) chunk {
	d := binary.BigEndian.AppendUint32(nil, uint32(width))
	d = binary.BigEndian.AppendUint32(d, uint32(height))
	d = append(d, byte(k.depth), byte(k.colour), 0, 0, 0)
	if interlaced {
		d[12] = 1
	}
	return chunk{"IHDR", d}
}

// rows makes filtered rows of random samples: any bytes with a filter's number
// before them are rows of some picture.
func (k kind) rows(r *rand.Rand, width, height int, interlaced bool) []byte {
	passes := [][4]int{{0, 0, 1, 1}}
	if interlaced {
		passes = [][4]int{{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}}
	}
	var out []byte
	for _, p := range passes {
		w, h := (width-p[0]+p[2]-1)/p[2], (height-p[1]+p[3]-1)/p[3]
		for range h * min(w, 1) {
			out = append(out, byte(r.IntN(5)))
			for range (w*k.bands*k.depth + 7) / 8 {
				out = append(out, byte(r.Uint32()))
			}
		}
	}
	return out
}

// file is a random picture; its image data come in pieces.
func (k kind) file(r *rand.Rand, width, height int, interlaced bool) []chunk {
	chunks := []chunk{k.header(width, height, interlaced)}
	if k.colour == 3 {
		palette := make([]byte, 3<<k.depth)
		for i := range palette {
			palette[i] = byte(r.Uint32())
		}
		chunks = append(chunks, chunk{"PLTE", palette})
	}
	for data := deflate(k.rows(r, width, height, interlaced)); len(data) > 0; {
		n := 1 + r.IntN(len(data))
		chunks = append(chunks, chunk{"IDAT", data[:n]})
		data = data[n:]
	}
	return append(chunks, chunk{"IEND", nil})
}
