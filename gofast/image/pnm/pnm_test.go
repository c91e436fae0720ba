package pnm

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"math/rand/v2"
	"testing"

	"github.com/gofast-org/gofast/gofast/image/picture"
	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// made is a file of noise and what it shows.
func made(r *rand.Rand, kind byte, w, h int) (file []byte, want *image.RGBA) {
	space := func() string { return []string{" ", "\n", "\t", "\r\n", " \v\f"}[r.IntN(5)] }
	file = fmt.Appendf(nil, "P%c%s%d%s%d%s255\n", kind, space(), w, space(), h, space())
	want = image.NewRGBA(image.Rect(0, 0, w, h))
	for i := 0; i < len(want.Pix); i += 4 {
		pixel := []byte{byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32())}
		if kind == '5' {
			pixel[1], pixel[2] = pixel[0], pixel[0]
			file = append(file, pixel[0])
		} else {
			file = append(file, pixel...)
		}
		copy(want.Pix[i:], append(pixel, 255))
	}
	return file, want
}

func TestPixels(t *testing.T) {
	d := Format.NewDecoder()
	defer d.Close()
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		w, h := 1+r.IntN(50), 1+r.IntN(40)
		file, want := made(r, "56"[r.IntN(2)], w, h)
		file = append(file, make([]byte, r.IntN(3))...) // what follows is not looked at
		if size, err := Format.Size(file, len(file)); err != nil || size != want.Rect.Max {
			t.Fatalf("size %v, %v", size, err)
		}
		whole, err := d.Decode(file, image.Rectangle{})
		if err != nil || !bytes.Equal(whole.Pix, want.Pix) {
			t.Fatalf("%d x %d: other pixels, %v", w, h, err)
		}
		x, y := r.IntN(w), r.IntN(h)
		region := image.Rect(x, y, x+1+r.IntN(w-x), y+1+r.IntN(h-y))
		part, err := d.Decode(file, region)
		if err != nil {
			t.Fatal(err)
		}
		for y := region.Min.Y; y < region.Max.Y; y++ {
			for x := region.Min.X; x < region.Max.X; x++ {
				if part.At(x, y) != want.At(x, y) {
					t.Fatalf("region %v: another pixel at %d, %d", region, x, y)
				}
			}
		}
	}
}

// What is not plain and whole is Pillow's: picture_files.py compares with it.
func TestVerdicts(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		want error
	}{
		"grey":             {"P5 2 1 255\nab", nil},
		"no pixels":        {"P5 2 1 255\n", errs.ErrDamaged},
		"cut":              {"P6 2 1 255\nabcde", errs.ErrDamaged},
		"header alone":     {"P5 2 1 255", errs.ErrUnsupported},
		"magic alone":      {"P5", errs.ErrUnsupported},
		"width 0":          {"P5 0 1 255\n", errs.ErrUnsupported},
		"negative":         {"P5 -2 -1 255\nab", errs.ErrUnsupported},
		"4 bits":           {"P5 2 1 15\nab", errs.ErrUnsupported},
		"16 bits":          {"P5 2 1 65535\nabcd", errs.ErrUnsupported},
		"text":             {"P2 2 1 255\n1 2", errs.ErrUnsupported},
		"bits":             {"P4 2 1\na", errs.ErrUnsupported},
		"PAM":              {"P7\nWIDTH 2\n", errs.ErrUnsupported},
		"a comment":        {"P5 # no\n2 1 255\nab", errs.ErrUnsupported},
		"a long number":    {"P5 0000000002 1 255\nab", errs.ErrUnsupported},
		"a larger picture": {"P5 999999999 999999999 255\nab", errs.ErrLimit},
		"no magic":         {"P51 1 2 255\na", errs.ErrUnsupported},
	} {
		if _, err := Format.NewDecoder().Decode([]byte(c.file), image.Rectangle{}); c.want == nil && err != nil || !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}

func TestSizeOfPrefix(t *testing.T) {
	const file = "P6\n12 345\n255\n"
	var more *picture.NeedMore
	for n := 2; n < len(file); n++ {
		if _, err := Format.Size([]byte(file[:n]), 1000); !errors.As(err, &more) || more.Bytes != int64(n+1) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if size, err := Format.Size([]byte(file), 1000); err != nil || size != image.Pt(12, 345) {
		t.Errorf("%v, %v", size, err)
	}
}

// FuzzDecode wants no crash, and of what decodes the size that the header said.
func FuzzDecode(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, kind := range "56" {
		file, _ := made(r, byte(kind), 5, 3)
		f.Add(file)
	}
	d := Format.NewDecoder()
	d.MaxPixels = 1 << 16
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) < 2 || file[0] != 'P' {
			return // the table tells these apart
		}
		size, sizeErr := Format.Size(file, len(file))
		got, err := d.Decode(file, image.Rectangle{})
		if err == nil && (sizeErr != nil || got.Rect.Max != size) {
			t.Fatalf("decoded %v, but the size is %v, %v", got.Rect, size, sizeErr)
		}
	})
}
