package webp

import (
	"bytes"
	"errors"
	"image"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/gofast-org/gofast/gofast/image/picture"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/pillowtest"
)

const manyPixels = 1 << 24

func decode(d *picture.Decoder, data []byte, maxPixels int64) (*image.RGBA, error) {
	d.MaxPixels = maxPixels
	return d.Decode(data, image.Rectangle{})
}

func sizeOf(data []byte) (width, height int, err error) {
	size, err := Format.Size(data, len(data))
	return size.X, size.Y, err
}

func decoder(t testing.TB) *picture.Decoder {
	t.Helper()
	pillowtest.Library(t, "libwebpdemux-*.so*", Format.Load)
	d := Format.NewDecoder()
	t.Cleanup(d.Close)
	return d
}

func mustEqual(t *testing.T, d *picture.Decoder, name string, data []byte, want *image.NRGBA) {
	t.Helper()
	got, err := decode(d, data, manyPixels)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if got.Rect != want.Rect || !bytes.Equal(got.Pix, want.Pix) {
		t.Fatalf("%s: pixels differ", name)
	}
	if w, h, err := sizeOf(data[:30]); err != nil || w != want.Rect.Dx() || h != want.Rect.Dy() {
		t.Fatalf("%s: Size: %d x %d, %v", name, w, h, err)
	}
}

func TestStillsAndFirstFrames(t *testing.T) {
	d := decoder(t)
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		w, h := 1+r.IntN(60), 1+r.IntN(40)
		m := randomPicture(r, w, h)
		p := lossless(m)
		mustEqual(t, d, "still", riff(p), opaque(m))
		mustEqual(t, d, "extended still", riff(extended(0x10|0x20|8, w, h), part{"ICCP", []byte("profile")}, p, part{"EXIF", []byte("x")}), opaque(m))
		x, y := 2*r.IntN(9), 2*r.IntN(9)
		other := randomPicture(r, 2, 2)
		animated := riff(extended(2|0x10, x+w+3, y+h+1), animation, frame(x, y, m, p), frame(0, 0, other, lossless(other)))
		mustEqual(t, d, "animation", animated, onCanvas(x+w+3, y+h+1, x, y, m))
	}
}

// testdata/lossy.webp and its pixels were made by testdata/make.py with Pillow.
func TestLossy(t *testing.T) {
	d := decoder(t)
	data, err := os.ReadFile("testdata/lossy.webp")
	if err != nil {
		t.Fatal(err)
	}
	pixels, err := os.ReadFile("testdata/lossy.rgb")
	if err != nil {
		t.Fatal(err)
	}
	want := image.NewNRGBA(image.Rect(0, 0, 37, 22))
	for i := range 37 * 22 {
		copy(want.Pix[4*i:], append(pixels[3*i:3*i+3:3*i+3], 255))
	}
	mustEqual(t, d, "lossy", data, want)
}

// The verdicts are Pillow's, found by asking it.
func TestVerdicts(t *testing.T) {
	d := decoder(t)
	m := randomPicture(rand.New(rand.NewPCG(3, 4)), 6, 5)
	p := lossless(m)
	still := riff(p)
	larger := bytes.Clone(still)
	larger[4] += 10
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"whole":                    {still, nil},
		"bytes behind":             {append(bytes.Clone(still), "rubbish"...), nil},
		"empty":                    {nil, errs.ErrUnsupported},
		"not WebP":                 {[]byte("RIFF\x00\x00\x00\x00WAVEfmt and so on, long enough"), errs.ErrUnsupported},
		"unknown first chunk":      {riff(part{"ABCD", nil}, p), errs.ErrUnsupported},
		"cut":                      {still[:len(still)-9], errs.ErrDamaged},
		"header only":              {still[:30], errs.ErrDamaged},
		"RIFF larger than file":    {larger, errs.ErrDamaged},
		"no picture":               {riff(extended(0, 6, 5)), errs.ErrDamaged},
		"another canvas":           {riff(extended(0x10, 7, 5), p), errs.ErrDamaged},
		"frame beyond the canvas":  {riff(extended(2, 6, 5), animation, frame(2, 0, m, p)), errs.ErrDamaged},
		"broken second frame":      {riff(extended(2, 6, 5), animation, frame(0, 0, m, p), part{"ANMF", make([]byte, 7)}), errs.ErrDamaged},
		"more pixels than allowed": {riff(extended(0x10, 1<<24, 1<<24), p), errs.ErrLimit},
	} {
		_, err := decode(d, c.data, manyPixels)
		if c.want == nil && err != nil || !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}
