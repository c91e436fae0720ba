package jpeg

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	stdjpeg "image/jpeg"
	"math/rand/v2"
	"testing"

	"github.com/gofast-org/gofast/gofast/image/picture"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/pillowtest"
)

func needLibrary(t testing.TB) {
	t.Helper()
	pillowtest.Library(t, "libjpeg-*.so*", Format.Load)
}

// photo is a picture of smooth shapes and noise, as a JPEG of Go's encoder, which halves the colours.
func photo(t testing.TB, width, height int, grey bool) []byte {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(width), uint64(height)))
	colours := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			n := uint8(r.IntN(40))
			colours.SetRGBA(x, y, color.RGBA{uint8(x*3) + n, uint8(y*5) ^ n, uint8(x+y) - n, 255})
		}
	}
	var source image.Image = colours
	if grey {
		g := image.NewGray(colours.Rect)
		for i := range g.Pix {
			g.Pix[i] = colours.Pix[4*i]
		}
		source = g
	}
	var b bytes.Buffer
	if err := stdjpeg.Encode(&b, source, &stdjpeg.Options{Quality: 85}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// crop is a region of a picture with its own memory, for comparison.
func crop(m *image.RGBA, region image.Rectangle) []byte {
	var out []byte
	for y := region.Min.Y; y < region.Max.Y; y++ {
		out = append(out, m.Pix[m.PixOffset(region.Min.X, y):m.PixOffset(region.Max.X-1, y)+4]...)
	}
	return out
}

func TestRegionEqualsWhole(t *testing.T) {
	needLibrary(t)
	d := Format.NewDecoder()
	defer d.Close()
	r := rand.New(rand.NewPCG(1, 2))
	for _, size := range []image.Point{{1, 1}, {2, 3}, {8, 8}, {17, 9}, {63, 65}, {64, 1}, {1, 64}, {129, 131}, {400, 300}} {
		for _, grey := range []bool{false, true} {
			file := photo(t, size.X, size.Y, grey)
			for range 200 {
				if !judge(t, d, file, r) {
					t.Fatalf("a picture of %v, grey %v, is refused", size, grey)
				}
			}
		}
	}
}

// sizeOf is what the header of a whole file claims.
func sizeOf(file []byte) (image.Point, error) { return Format.Size(file, len(file)) }

func TestSize(t *testing.T) {
	file := photo(t, 300, 200, false)
	size, err := sizeOf(file)
	if err != nil || size != image.Pt(300, 200) {
		t.Fatalf("size %v, error %v", size, err)
	}
	var more *picture.NeedMore
	for n := range 700 {
		got, err := Format.Size(file[:n], len(file))
		switch {
		case err == nil && got == size:
		case !errors.As(err, &more):
			t.Fatalf("%d bytes: size %v, error %v", n, got, err)
		case more.Bytes <= int64(n) || more.Bytes > int64(len(file)):
			t.Fatalf("%d bytes: %d are asked for", n, more.Bytes)
		}
	}
	if got, err := Format.Size(file[:700], len(file)); err != nil || got != size {
		t.Fatalf("700 bytes: size %v, error %v", got, err)
	}
}

func TestRefusals(t *testing.T) {
	needLibrary(t)
	good := photo(t, 40, 30, false)
	frame := bytes.Index(good, []byte{0xff, 0xc0})
	change := func(at int, b ...byte) []byte {
		file := bytes.Clone(good)
		copy(file[at:], b)
		return file
	}
	for name, c := range map[string]struct {
		file []byte
		kind error
	}{
		"empty":             {nil, errs.ErrUnsupported},
		"png":               {[]byte("\x89PNG\r\n\x1a\n"), errs.ErrUnsupported},
		"start only":        {good[:3], errs.ErrDamaged},
		"header only":       {good[:frame+10], errs.ErrDamaged},
		"half":              {good[:len(good)/2], errs.ErrDamaged},
		"no height":         {change(frame+5, 0, 0), errs.ErrDamaged},
		"12 bits":           {change(frame+4, 12), errs.ErrDamaged},
		"two components":    {change(frame+9, 2), errs.ErrDamaged},
		"lossless":          {change(frame+1, 0xc3), errs.ErrUnsupported},
		"arithmetic coding": {change(frame+1, 0xc9), errs.ErrUnsupported},
		"huge":              {change(frame+5, 0xff, 0xdc, 0xff, 0xdc), errs.ErrLimit},
		"no such table":     {change(frame+12, 3), errs.ErrDamaged},
	} {
		if _, err := Format.NewDecoder().Decode(c.file, image.Rectangle{}); !errors.Is(err, c.kind) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := Format.NewDecoder().Decode(good, image.Rect(30, 0, 41, 10)); !errors.Is(err, errs.ErrConfig) {
		t.Errorf("a region outside: error %v", err)
	}
	d := Format.NewDecoder()
	d.MaxPixels = 1199
	if _, err := d.Decode(good, image.Rectangle{}); !errors.Is(err, errs.ErrLimit) {
		t.Errorf("a picture above the limit: error %v", err)
	}
	d.Close()
	if _, err := d.Decode(good, image.Rectangle{}); !errors.Is(err, errs.ErrClosed) {
		t.Errorf("a closed decoder: error %v", err)
	}
}
