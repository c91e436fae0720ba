package png

import (
	"bytes"
	"image/png"
	"math/rand/v2"
	"testing"
)

// FuzzDecode compares with Go's decoder where that takes the file and means the same by it.
func FuzzDecode(f *testing.F) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, k := range everyKind {
		chunks := k.file(r, 9, 5, r.IntN(2) == 1)
		f.Add(pack(chunks...))
		f.Add(pack(append(chunks[:1:1], chunks...)...))
		f.Add(pack(chunks...)[:60])
	}
	d := decoder(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 1 << 16
		got, err := decode(d, data, limit)
		if err != nil {
			return
		}
		// Go knows transparency of colours, Pillow drops it; it also forgives other things.
		if w, h, err := sizeOf(data); err != nil || w != got.Rect.Dx() || h != got.Rect.Dy() || data[24] != 8 || data[25] == 3 || bytes.Contains(data, []byte("tRNS")) {
			return
		}
		if _, err := png.Decode(bytes.NewReader(data)); err != nil {
			return
		}
		if theirs := expected(t, kind{}, data); !bytes.Equal(got.Pix, theirs.Pix) {
			t.Fatal("the pixels differ from image/png's")
		}
	})
}
