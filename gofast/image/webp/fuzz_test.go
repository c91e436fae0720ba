package webp

import (
	"math/rand/v2"
	"os"
	"testing"
)

// FuzzDecode wants no crash, and of what decodes the size that the header said.
func FuzzDecode(f *testing.F) {
	m := randomPicture(rand.New(rand.NewPCG(5, 6)), 5, 4)
	p := lossless(m)
	f.Add(riff(p))
	f.Add(riff(extended(0x10, 5, 4), p))
	f.Add(riff(extended(2, 9, 8), animation, frame(2, 2, m, p)))
	lossy, err := os.ReadFile("testdata/lossy.webp")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(lossy)
	d := decoder(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decode(d, data, 1<<16)
		if err != nil {
			return
		}
		if w, h, err := sizeOf(data); err != nil || w != got.Rect.Dx() || h != got.Rect.Dy() {
			t.Fatalf("decoded %v, but Size says %d x %d, %v", got.Rect, w, h, err)
		}
		for i := 3; i < len(got.Pix); i += 4 {
			if got.Pix[i] != 255 {
				t.Fatal("a pixel is not opaque")
			}
		}
	})
}
