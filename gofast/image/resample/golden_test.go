package resample

import (
	"hash/crc32"
	"image"
	"testing"
)

// CRC-32 of the RGB bytes that Image.resize((width, height), filter).tobytes() gives for goldenPicture, taken from
// Pillow 13.0.0, 12.3.0 and 12.1.1, one for each order; and that interpolate(antialias=True) of torch 2.15.0 gives.
var golden = []struct {
	order                            Order
	inWidth, inHeight, width, height int
	sums                             [filters]uint32
}{
	{OrderPillow13, 64, 48, 224, 224, [filters]uint32{Nearest: 0xf788e066, Box: 0x906aedf0, Bilinear: 0xf4fe10ac, Hamming: 0xeffb6d8a, Bicubic: 0x175728ce, Lanczos: 0x5b302b29, TorchBilinear: 0xcd376f5f, TorchBicubic: 0x0bf57f46}},
	{OrderPillow13, 300, 257, 224, 224, [filters]uint32{Nearest: 0x0bec6f4b, Box: 0xeb6dd7f7, Bilinear: 0x84f717d0, Hamming: 0xa4d40cdd, Bicubic: 0xcd47e977, Lanczos: 0x51044cf2, TorchBilinear: 0x0be650b4, TorchBicubic: 0x22d0d9aa}},
	{OrderPillow13, 97, 311, 64, 256, [filters]uint32{Nearest: 0xa953e58a, Box: 0x4f9314b8, Bilinear: 0x5d8fccf8, Hamming: 0x1789729f, Bicubic: 0x435d86e7, Lanczos: 0x383edd70, TorchBilinear: 0xd8d9ab59, TorchBicubic: 0x0cd62877}},
	{OrderPillow13, 500, 375, 341, 256, [filters]uint32{Nearest: 0xdc2f0051, Box: 0x6ff8e7b5, Bilinear: 0x83f8b11b, Hamming: 0xac4ce9a3, Bicubic: 0xe6f6efcf, Lanczos: 0x7af4d7ea, TorchBilinear: 0xd2ee4e15, TorchBicubic: 0x1c2ebc59}},
	{OrderPillow13, 40, 900, 30, 60, [filters]uint32{Nearest: 0xbc391563, Box: 0x2311581b, Bilinear: 0x0870da66, Hamming: 0x17be1352, Bicubic: 0xc463dc04, Lanczos: 0xa6f0a8f9, TorchBilinear: 0x9753b2eb, TorchBicubic: 0x4d75266e}},
	{OrderPillow13, 1, 7, 13, 5, [filters]uint32{Nearest: 0x093f985a, Box: 0xc63a0dce, Bilinear: 0x98126536, Hamming: 0x88e3c0ce, Bicubic: 0xd3946bde, Lanczos: 0x4ecbd7fd, TorchBilinear: 0x98126536, TorchBicubic: 0xd3946bde}},
	{OrderPillow13, 1200, 16, 50, 40, [filters]uint32{Nearest: 0x0dbcff7f, Box: 0x2c66c608, Bilinear: 0xe60eff67, Hamming: 0xb3063b75, Bicubic: 0x51552b9b, Lanczos: 0xbb16227e, TorchBilinear: 0x06f29acc, TorchBicubic: 0x02e86588}},
	{OrderPillow13, 224, 300, 224, 100, [filters]uint32{Nearest: 0x23c275ee, Box: 0xe8c40a17, Bilinear: 0xae3073be, Hamming: 0x9b114b0e, Bicubic: 0xa79932e6, Lanczos: 0xb71b4325, TorchBilinear: 0xae3073be, TorchBicubic: 0xa3e1a8ac}},
	{OrderPillow13, 9, 1000, 20, 60, [filters]uint32{Nearest: 0xbb217d0c, Box: 0x415d685a, Bilinear: 0xda41d861, Hamming: 0x36a94cb8, Bicubic: 0x9c78e322, Lanczos: 0xb50801d5, TorchBilinear: 0x73255eb0, TorchBicubic: 0x6f8ed23f}},
	{OrderPillow13, 10, 1000, 20, 60, [filters]uint32{Nearest: 0x58ec1dfe, Box: 0xff365327, Bilinear: 0x38e10f46, Hamming: 0x80b364f4, Bicubic: 0x981d33ca, Lanczos: 0xb0224246, TorchBilinear: 0xce42e928, TorchBicubic: 0x08ace4df}},
	{OrderPillow12_2, 40, 900, 30, 60, [filters]uint32{Nearest: 0xbc391563, Box: 0x1fe8fc87, Bilinear: 0x9753b2eb, Hamming: 0xd1e719df, Bicubic: 0x476aa8d4, Lanczos: 0xb7844a18, TorchBilinear: 0x9753b2eb, TorchBicubic: 0x4d75266e}},
	{OrderPillow12_2, 9, 1000, 20, 60, [filters]uint32{Nearest: 0xbb217d0c, Box: 0x415d685a, Bilinear: 0xda41d861, Hamming: 0x36a94cb8, Bicubic: 0x9c78e322, Lanczos: 0xb50801d5, TorchBilinear: 0x73255eb0, TorchBicubic: 0x6f8ed23f}},
	{OrderPillow12_2, 10, 1000, 20, 60, [filters]uint32{Nearest: 0x58ec1dfe, Box: 0xff365327, Bilinear: 0x03d35a30, Hamming: 0x62914bf1, Bicubic: 0xddaffb19, Lanczos: 0x13fa5ae5, TorchBilinear: 0xce42e928, TorchBicubic: 0x08ace4df}},
	{OrderHorizontal, 40, 900, 30, 60, [filters]uint32{Nearest: 0xbc391563, Box: 0x1fe8fc87, Bilinear: 0x9753b2eb, Hamming: 0xd1e719df, Bicubic: 0x476aa8d4, Lanczos: 0xb7844a18, TorchBilinear: 0x9753b2eb, TorchBicubic: 0x4d75266e}},
	{OrderHorizontal, 9, 1000, 20, 60, [filters]uint32{Nearest: 0xbb217d0c, Box: 0x415d685a, Bilinear: 0x60c64bd2, Hamming: 0x4340e8b4, Bicubic: 0x1770a78e, Lanczos: 0xa896f626, TorchBilinear: 0x73255eb0, TorchBicubic: 0x6f8ed23f}},
	{OrderHorizontal, 10, 1000, 20, 60, [filters]uint32{Nearest: 0x58ec1dfe, Box: 0xff365327, Bilinear: 0x03d35a30, Hamming: 0x62914bf1, Bicubic: 0xddaffb19, Lanczos: 0x13fa5ae5, TorchBilinear: 0xce42e928, TorchBicubic: 0x08ace4df}},
}

// goldenPicture holds the high bytes of a linear congruential generator, in the order of Pillow's RGB bytes.
func goldenPicture(width, height int) *image.RGBA {
	pic := image.NewRGBA(image.Rect(0, 0, width, height))
	state := uint32(1)
	for i := range pic.Pix {
		if i%4 != 3 { // alpha stays zero: it must not matter
			state = state*1664525 + 1013904223
			pic.Pix[i] = byte(state >> 24)
		}
	}
	return pic
}

func checksum(t *testing.T, rgbx []byte) uint32 {
	rgb := make([]byte, 0, len(rgbx)/4*3)
	for i := 0; i < len(rgbx); i += 4 {
		rgb = append(rgb, rgbx[i:i+3]...)
		if rgbx[i+3] != 255 {
			t.Fatalf("X is %d at byte %d, not 255", rgbx[i+3], i+3)
		}
	}
	return crc32.ChecksumIEEE(rgb)
}

// resize is the C kernels, or the twin with the tag twins; so this holds for both.
func TestGoldenPictures(t *testing.T) {
	for _, g := range golden {
		pic := goldenPicture(g.inWidth, g.inHeight)
		for filter, want := range g.sums {
			out, err := Resize(pic, Plan{Width: g.width, Height: g.height, Filter: Filter(filter), Order: g.order})
			if err != nil {
				t.Fatal(err)
			}
			if got := checksum(t, out); got != want {
				t.Errorf("%d x %d to %d x %d, filter %d, order %d: %08x instead of %08x",
					g.inWidth, g.inHeight, g.width, g.height, filter, g.order, got, want)
			}
		}
	}
}
