//go:build cgo

package resample

import (
	"bytes"
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

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

// agree compares every variant with the Go twin.
func agree(t *testing.T, variants []*Resizer, pic *image.RGBA, plan Plan) {
	t.Helper()
	want := ResizeGeneric(pic, plan)
	for i, resizer := range variants {
		got, err := resizer.Resize(pic, plan)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("variant %d: %+v: differs from the twin", i+1, plan)
		}
	}
}

// The states are kept from plan to plan, as the engine keeps them.
func TestVariantsAgreeWithTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	variants := resizers(t)
	cases := 4000
	if testing.Short() {
		cases = 400
	}
	for range cases {
		pic, plan := randomPlan(r)
		agree(t, variants, pic, plan)
	}
}

// Long and thin, so that four windows do not fit one load and tables have many groups of taps.
func TestLargeScales(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	variants := resizers(t)
	for range 60 {
		width, height := 1+r.IntN(3000), 1+r.IntN(4)
		if r.IntN(2) == 0 {
			width, height = height, width
		}
		pic, crop := randomPicture(r, width, height)
		plan := Plan{Crop: crop, Width: 1 + r.IntN(40), Height: 1 + r.IntN(40), Filter: Filter(r.IntN(int(filters)))}
		plan.Window = image.Rect(0, 0, plan.Width, plan.Height)
		agree(t, variants, pic, plan)
	}
}

func FuzzVariants(f *testing.F) {
	f.Add([]byte{1, 2, 3, 200, 255, 0}, uint16(300), uint16(257), uint16(224), uint16(224), uint16(0), uint16(0), uint16(224), uint16(224), uint8(2), uint8(0), true)
	f.Add([]byte{255, 0}, uint16(4), uint16(300), uint16(9), uint16(31), uint16(3), uint16(2), uint16(5), uint16(7), uint8(5), uint8(1), false)
	f.Add([]byte{7}, uint16(400), uint16(2), uint16(3), uint16(2), uint16(1), uint16(0), uint16(1), uint16(2), uint8(4), uint8(2), false)
	f.Fuzz(func(t *testing.T, pixels []byte, width, height, outWidth, outHeight, x, y, w, h uint16, filter, order uint8, flip bool) {
		size := func(v uint16) int { return int(v)%400 + 1 }
		pic := image.NewRGBA(image.Rect(0, 0, size(width), size(height)))
		for i := range pic.Pix {
			if len(pixels) > 0 {
				pic.Pix[i] = pixels[i%len(pixels)] + byte(i/len(pixels))
			}
		}
		plan := Plan{Crop: pic.Rect, Width: size(outWidth), Height: size(outHeight), Filter: Filter(filter) % filters,
			Order: Order(order) % orders, Flip: flip}
		left, top := int(x)%plan.Width, int(y)%plan.Height
		plan.Window = image.Rect(left, top, left+1+int(w)%(plan.Width-left), top+1+int(h)%(plan.Height-top))
		agree(t, resizers(t), pic, plan)
	})
}

// The tables themselves, with ends of the input that are not whole (Pillow's box), windows and flips.
func TestTablesAgreeWithTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 3000 {
		s := AxisSpec{InSize: randomSize(r), OutSize: randomSize(r), Filter: Filter(r.IntN(int(filters))), Flip: r.IntN(2) == 0}
		s.In1 = float32(s.InSize)
		if r.IntN(2) == 0 {
			s.In0 = r.Float32() * float32(s.InSize) * 0.9
			s.In1 = s.In0 + (float32(s.InSize)-s.In0)*(0.01+0.98*r.Float32())
		}
		s.From = r.IntN(s.OutSize)
		s.To = s.From + 1 + r.IntN(s.OutSize-s.From)
		want := MakeAxis(s)
		for v := Plain; v <= BestVariant(); v++ {
			if got, _ := makeAxis(s, v); !reflect.DeepEqual(got, want) {
				t.Fatalf("%+v, variant %d:\n got %v\nwant %v", s, v, got, want)
			}
		}
	}
}

// The vector kernels hold taps up to GF_TAP_FITS, 1.99 in fixed point, and give up beyond; the largest there are lie
// at the edges of pictures a few pixels wide, where the filter's negative part is missing.
func TestTapsFit(t *testing.T) {
	largest := 0
	for filter := range filters {
		for in := 1; in <= 40; in++ {
			for _, out := range []int{1, 2, 3, 5, 7, 16, 31, 100, 1000} {
				_, tap := makeAxis(AxisSpec{In1: float32(in), InSize: in, OutSize: out, To: out, Filter: filter}, Plain)
				largest = max(largest, tap)
			}
		}
	}
	if largest < tapOne || float64(largest) > 1.5*tapOne {
		t.Errorf("the largest tap is %.3f, expected 1 to 1.5", float64(largest)/tapOne)
	}
}

// BenchmarkResize is the work of a training and of a validation picture: random crops of a 468 x 401 picture to 224 x
// 224 (scale 0.08 to 1, ratio 3/4 to 4/3), and its short side to 256 with the middle 224 x 224 wanted; and the tables alone.
func BenchmarkResize(b *testing.B) {
	pic := goldenPicture(468, 402) // a row more, for the slack
	r := rand.New(rand.NewPCG(9, 10))
	var train []Plan
	for len(train) < 64 {
		area, ratio := (0.08+0.92*r.Float64())*468*401, 0.75+r.Float64()*(1/0.75-0.75)
		if w, h := int(math.Sqrt(area*ratio)), int(math.Sqrt(area/ratio)); w <= 468 && h <= 401 {
			x, y := r.IntN(468-w+1), r.IntN(401-h+1)
			train = append(train, Plan{Crop: image.Rect(x, y, x+w, y+h), Width: 224, Height: 224, Filter: Bilinear, Window: image.Rect(0, 0, 224, 224), Flip: r.IntN(2) == 0})
		}
	}
	// The width changes from picture to picture, so that the table of the columns is made anew.
	var val []Plan
	for i := range 2 {
		val = append(val, Plan{Crop: image.Rect(0, 0, 468-i, 401), Width: 298, Height: 256, Filter: Bilinear, Window: image.Rect(37, 16, 261, 240)})
	}
	for _, kind := range []struct {
		name  string
		plans []Plan
	}{{"train", train}, {"val", val}} {
		for v := Plain; v <= BestVariant(); v++ {
			for _, tables := range []bool{false, true} {
				b.Run(fmt.Sprintf("%s/variant%d/tables=%v", kind.name, v, tables), func(b *testing.B) {
					resizer := NewResizer(v)
					defer resizer.Close()
					for i := 0; b.Loop(); i++ {
						plan := kind.plans[i%len(kind.plans)]
						if rows := resizer.stream(pic, plan, tables); rows != 224 && !tables {
							b.Fatalf("%d rows", rows)
						}
					}
				})
			}
		}
	}
}
