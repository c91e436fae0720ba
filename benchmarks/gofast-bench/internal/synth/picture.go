package synth

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"math/rand/v2"
)

// picture is one picture's file.
func (o *Options) picture(ctx context.Context, index int64) ([]byte, error) {
	r := o.source(index)
	side := func(n int) int { return max(1, int(math.Round(float64(n)*(1+o.Spread*(2*r.Float64()-1))))) }
	picture, err := paint(ctx, side(o.Width), side(o.Height), r)
	if err != nil {
		return nil, err
	}
	var file bytes.Buffer
	if o.Kind == PNG {
		err = png.Encode(&file, picture)
	} else {
		err = jpeg.Encode(&file, picture, &jpeg.Options{Quality: o.Quality})
	}
	return file.Bytes(), err
}

// grain is the noise that makes a JPEG of quality 90 about as large as a photograph: 110 kB of 468 x 401.
const grain = 24

// paint makes waves of three lengths in each channel, with noise.
func paint(ctx context.Context, width, height int, r *rand.Rand) (*image.RGBA, error) {
	picture := image.NewRGBA(image.Rect(0, 0, width, height))
	type wave struct{ x, y, phase, strength float64 }
	var waves [3][3]wave
	for c := range waves {
		for i := range waves[c] {
			length := float64(width) / (1 + 5*r.Float64()*float64(i+1))
			angle := 2 * math.Pi * r.Float64()
			waves[c][i] = wave{2 * math.Pi * math.Cos(angle) / length, 2 * math.Pi * math.Sin(angle) / length, 7 * r.Float64(), 60 / float64(i+1)}
		}
	}
	for y := range height {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for x := range width {
			noise := float64(r.IntN(2*grain+1) - grain)
			var rgb [3]uint8
			for c := range waves {
				v := 128 + noise
				for _, w := range waves[c] {
					v += w.strength * math.Sin(w.x*float64(x)+w.y*float64(y)+w.phase)
				}
				rgb[c] = uint8(min(max(v, 0), 255))
			}
			picture.SetRGBA(x, y, color.RGBA{rgb[0], rgb[1], rgb[2], 255})
		}
	}
	return picture, nil
}

// damages are ways in which files are broken.
var damages = []struct {
	how string
	do  func([]byte) []byte
}{
	{"cut in the middle", func(file []byte) []byte { return file[:len(file)/2] }},
	{"empty", func([]byte) []byte { return nil }},
	{"no picture", func([]byte) []byte { return []byte("<html>404 Not Found</html>\n") }},
	{"its first bytes overwritten", func(file []byte) []byte {
		return append(make([]byte, min(16, len(file))), file[min(16, len(file)):]...)
	}},
	{"cut in its header", func(file []byte) []byte { return file[:min(20, len(file))] }},
}
