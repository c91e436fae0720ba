package image

import (
	"hash/crc32"
	stdimage "image"
	"runtime"
	"testing"
	"unsafe"
)

// CRC-32 of the RGB bytes that Image.resize((width, height), filter).tobytes() gives for goldenPicture, taken from
// Pillow 13.0.0, 12.3.0 and 12.1.1, one for each order of the passes, by filter; and that interpolate(antialias=True) of torch 2.15.0 gives.
var golden = []struct {
	order                            string
	inWidth, inHeight, width, height int
	sums                             [8]uint32
}{
	{"13", 64, 48, 224, 224, [8]uint32{0xf788e066, 0x906aedf0, 0xf4fe10ac, 0xeffb6d8a, 0x175728ce, 0x5b302b29, 0xcd376f5f, 0x0bf57f46}},
	{"13", 300, 257, 224, 224, [8]uint32{0x0bec6f4b, 0xeb6dd7f7, 0x84f717d0, 0xa4d40cdd, 0xcd47e977, 0x51044cf2, 0x0be650b4, 0x22d0d9aa}},
	{"13", 97, 311, 64, 256, [8]uint32{0xa953e58a, 0x4f9314b8, 0x5d8fccf8, 0x1789729f, 0x435d86e7, 0x383edd70, 0xd8d9ab59, 0x0cd62877}},
	{"13", 500, 375, 341, 256, [8]uint32{0xdc2f0051, 0x6ff8e7b5, 0x83f8b11b, 0xac4ce9a3, 0xe6f6efcf, 0x7af4d7ea, 0xd2ee4e15, 0x1c2ebc59}},
	{"13", 40, 900, 30, 60, [8]uint32{0xbc391563, 0x2311581b, 0x0870da66, 0x17be1352, 0xc463dc04, 0xa6f0a8f9, 0x9753b2eb, 0x4d75266e}},
	{"13", 1, 7, 13, 5, [8]uint32{0x093f985a, 0xc63a0dce, 0x98126536, 0x88e3c0ce, 0xd3946bde, 0x4ecbd7fd, 0x98126536, 0xd3946bde}},
	{"13", 1200, 16, 50, 40, [8]uint32{0x0dbcff7f, 0x2c66c608, 0xe60eff67, 0xb3063b75, 0x51552b9b, 0xbb16227e, 0x06f29acc, 0x02e86588}},
	{"13", 224, 300, 224, 100, [8]uint32{0x23c275ee, 0xe8c40a17, 0xae3073be, 0x9b114b0e, 0xa79932e6, 0xb71b4325, 0xae3073be, 0xa3e1a8ac}},
	{"13", 9, 1000, 20, 60, [8]uint32{0xbb217d0c, 0x415d685a, 0xda41d861, 0x36a94cb8, 0x9c78e322, 0xb50801d5, 0x73255eb0, 0x6f8ed23f}},
	{"13", 10, 1000, 20, 60, [8]uint32{0x58ec1dfe, 0xff365327, 0x38e10f46, 0x80b364f4, 0x981d33ca, 0xb0224246, 0xce42e928, 0x08ace4df}},
	{"12.2", 40, 900, 30, 60, [8]uint32{0xbc391563, 0x1fe8fc87, 0x9753b2eb, 0xd1e719df, 0x476aa8d4, 0xb7844a18, 0x9753b2eb, 0x4d75266e}},
	{"12.2", 9, 1000, 20, 60, [8]uint32{0xbb217d0c, 0x415d685a, 0xda41d861, 0x36a94cb8, 0x9c78e322, 0xb50801d5, 0x73255eb0, 0x6f8ed23f}},
	{"12.2", 10, 1000, 20, 60, [8]uint32{0x58ec1dfe, 0xff365327, 0x03d35a30, 0x62914bf1, 0xddaffb19, 0x13fa5ae5, 0xce42e928, 0x08ace4df}},
	{"horizontal", 40, 900, 30, 60, [8]uint32{0xbc391563, 0x1fe8fc87, 0x9753b2eb, 0xd1e719df, 0x476aa8d4, 0xb7844a18, 0x9753b2eb, 0x4d75266e}},
	{"horizontal", 9, 1000, 20, 60, [8]uint32{0xbb217d0c, 0x415d685a, 0x60c64bd2, 0x4340e8b4, 0x1770a78e, 0xa896f626, 0x73255eb0, 0x6f8ed23f}},
	{"horizontal", 10, 1000, 20, 60, [8]uint32{0x58ec1dfe, 0xff365327, 0x03d35a30, 0x62914bf1, 0xddaffb19, 0x13fa5ae5, 0xce42e928, 0x08ace4df}},
}

// goldenPicture holds the high bytes of a linear congruential generator, in the order of Pillow's RGB bytes.
func goldenPicture(width, height int) *stdimage.RGBA {
	pic := stdimage.NewRGBA(stdimage.Rect(0, 0, width, height))
	state := uint32(1)
	for i := range pic.Pix {
		if i%4 != 3 {
			state = state*1664525 + 1013904223
			pic.Pix[i] = byte(state >> 24)
		}
	}
	return pic
}

func TestGoldenPictures(t *testing.T) {
	for _, g := range golden {
		files, held := inMemory(ppm(goldenPicture(g.inWidth, g.inHeight)))
		for filter, name := range []string{"nearest", "box", "bilinear", "hamming", "bicubic", "lanczos", "torch_bilinear", "torch_bicubic"} {
			options := options
			options.PassOrder = g.order
			p, err := NewProgram(Plan{Steps: []Step{{"op": "resize", "size": []int{g.height, g.width}, "filter": name}}}, files, options)
			if err != nil {
				t.Fatal(err)
			}
			sample, faults := made(t, p, 1, nil)
			p.Free()
			if len(faults) > 0 {
				t.Fatal(faults[0].Text)
			}
			var rgb []byte
			rgbx := unsafe.Slice((*madePicture)(unsafe.Pointer(unsafe.SliceData(sample))).data, 4*g.width*g.height)
			for i := 0; i < len(rgbx); i += 4 {
				rgb = append(rgb, rgbx[i:i+3]...)
			}
			if got := crc32.ChecksumIEEE(rgb); got != g.sums[filter] {
				t.Errorf("%d x %d to %d x %d, %s, order %s: %08x instead of %08x", g.inWidth, g.inHeight, g.width, g.height, name, g.order, got, g.sums[filter])
			}
		}
		runtime.KeepAlive(held)
	}
}
