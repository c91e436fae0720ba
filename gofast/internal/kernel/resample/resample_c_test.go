//go:build cgo

package resample

import (
	"bytes"
	"image"
	"math/rand/v2"
	"testing"
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

// randomPicture has no byte after its last pixel, and lies in a larger one.
func randomPicture(r *rand.Rand, width, height int) (*image.RGBA, image.Rectangle) {
	around := image.Rect(-r.IntN(3), -r.IntN(3), width+r.IntN(3), height+r.IntN(3))
	pic := image.NewRGBA(around)
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

// resizers is one of each variant that the processor can do.
func resizers(t testing.TB) []*Resizer {
	var all []*Resizer
	for v := Plain; v <= BestVariant(); v++ {
		r := NewResizer(v)
		t.Cleanup(r.Close)
		all = append(all, r)
	}
	return all
}

// Every variant against the Go twin. The states are kept from plan to plan, as the engine keeps them.
func TestVariantsAgreeWithTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	variants := resizers(t)
	cases := 4000
	if testing.Short() {
		cases = 400
	}
	for range cases {
		pic, plan := randomPlan(r)
		want := ResizeGeneric(pic, plan)
		for v, resizer := range variants {
			got, err := resizer.Resize(pic, plan)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("variant %d: %+v: differs from the twin", v+1, plan)
			}
		}
	}
}
