package resample

import (
	"bytes"
	"errors"
	"image"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// randomSize is often tiny, where edges meet, and sometimes large.
func randomSize(r *rand.Rand) int {
	switch k := r.IntN(20); {
	case k < 4:
		return 1 + r.IntN(8)
	case k < 19:
		return 1 + r.IntN(90)
	default:
		return 1 + r.IntN(900)
	}
}

// randomPicture is the part of a larger one, which may end with it.
func randomPicture(r *rand.Rand, width, height int) (*image.RGBA, image.Rectangle) {
	pic := image.NewRGBA(image.Rect(-r.IntN(3), -r.IntN(3), width+r.IntN(3), height+r.IntN(3)))
	contrast := r.IntN(2) == 0
	for i := range pic.Pix {
		pic.Pix[i] = byte(r.Uint32())
		if contrast { // sums that must be clipped
			pic.Pix[i] = byte(int8(pic.Pix[i]) >> 7)
		}
	}
	return pic, image.Rect(0, 0, width, height)
}

func randomPlan(r *rand.Rand) (*image.RGBA, Plan) {
	width, height := randomSize(r), randomSize(r)
	pic, crop := randomPicture(r, width, height)
	p := Plan{Crop: crop, Width: randomSize(r), Height: randomSize(r), Filter: Filter(r.IntN(int(filters))),
		Order: Order(r.IntN(int(orders))), Flip: r.IntN(2) == 0}
	switch r.IntN(6) {
	case 0:
		p.Width = width
	case 1:
		p.Height = height
	}
	p.Window = image.Rect(0, 0, p.Width, p.Height)
	if r.IntN(2) == 0 {
		x, y := r.IntN(p.Width), r.IntN(p.Height)
		p.Window = image.Rect(x, y, x+1+r.IntN(p.Width-x), y+1+r.IntN(p.Height-y))
	}
	return pic, p
}

func mustResize(t *testing.T, pic *image.RGBA, p Plan) []byte {
	t.Helper()
	out, err := Resize(pic, p)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWindowsAreCutOuts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		pic, p := randomPlan(r)
		whole := p
		whole.Window, whole.Flip = image.Rectangle{}, false
		all := &image.RGBA{Pix: mustResize(t, pic, whole), Stride: 4 * p.Width, Rect: image.Rect(0, 0, p.Width, p.Height)}
		var want []byte
		for y := p.Window.Min.Y; y < p.Window.Max.Y; y++ {
			row := all.Pix[all.PixOffset(p.Window.Min.X, y):all.PixOffset(p.Window.Max.X, y)]
			if p.Flip {
				var mirrored []byte
				for pixel := range slices.Chunk(row, 4) {
					mirrored = append(slices.Clone(pixel), mirrored...)
				}
				row = mirrored
			}
			want = append(want, row...)
		}
		if !bytes.Equal(mustResize(t, pic, p), want) {
			t.Fatalf("%+v is not what the whole picture has there", p)
		}
	}
}

func TestSameSizeIsACopy(t *testing.T) {
	pic := goldenPicture(37, 21)
	for i := 3; i < len(pic.Pix); i += 4 {
		pic.Pix[i] = 255
	}
	for filter := range filters {
		if !bytes.Equal(mustResize(t, pic, Plan{Width: 37, Height: 21, Filter: filter}), pic.Pix) {
			t.Errorf("filter %d changed a picture of the same size", filter)
		}
	}
}

func TestOrderOf(t *testing.T) {
	for version, want := range map[[2]int]Order{{9, 5}: OrderHorizontal, {12, 1}: OrderHorizontal, {12, 2}: OrderPillow12_2,
		{12, 3}: OrderPillow12_2, {13, 0}: OrderPillow13, {14, 1}: OrderPillow13} {
		if got := OrderOf(version[0], version[1]); got != want {
			t.Errorf("Pillow %d.%d: order %d, want %d", version[0], version[1], got, want)
		}
	}
}

func TestImpossiblePlansAreRefused(t *testing.T) {
	pic := goldenPicture(10, 10)
	for name, p := range map[string]Plan{
		"no width":       {Height: 5},
		"huge":           {Width: 1<<26 + 1, Height: 1},
		"crop outside":   {Width: 5, Height: 5, Crop: image.Rect(5, 5, 11, 10)},
		"window outside": {Width: 5, Height: 5, Window: image.Rect(0, 0, 6, 5)},
		"filter":         {Width: 5, Height: 5, Filter: filters},
		"order":          {Width: 5, Height: 5, Order: -1},
	} {
		if _, err := Resize(pic, p); !errors.Is(err, errs.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Resize(goldenPicture(1200, 1), Plan{Width: 1 << 25, Height: 1}); !errors.Is(err, errs.ErrLimit) {
		t.Errorf("tables of 2^25 outputs: %v", err)
	}
}
