package jpeg

import (
	"bytes"
	"image"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast/image/picture"
	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// pair decodes coefficients in both ways.
type pair struct{ ours, library *picture.Decoder }

func newPair(t testing.TB) pair {
	t.Helper()
	needLibrary(t)
	p := pair{Format.NewDecoder(), Format.NewDecoder()}
	byLibrary(p.library)
	for _, d := range []*picture.Decoder{p.ours, p.library} {
		d.MaxPixels = 1 << 20
		t.Cleanup(d.Close)
	}
	return p
}

// agree decodes a region of a file in both ways and fails where they differ.
func (p pair) agree(t *testing.T, file []byte, region image.Rectangle) (accepted bool) {
	t.Helper()
	a, aErr := p.ours.Decode(file, region)
	b, bErr := p.library.Decode(file, region)
	if errs.Name(aErr) != errs.Name(bErr) || (aErr == nil) != (bErr == nil) {
		t.Fatalf("verdicts differ: %v, the library's %v", aErr, bErr)
	}
	if aErr == nil && !bytes.Equal(a.Pix, b.Pix) {
		t.Fatalf("%v: other pixels than the library's", a.Rect)
	}
	return aErr == nil
}

// part is some region of a picture.
func part(r *rand.Rand, size image.Point) image.Rectangle {
	x, y := r.IntN(size.X), r.IntN(size.Y)
	return image.Rect(x, y, x+1+r.IntN(size.X-x), y+1+r.IntN(size.Y-y))
}

func TestCoefficientsAreTheLibrarys(t *testing.T) {
	p := newPair(t)
	r := rand.New(rand.NewPCG(11, 12))
	for _, g := range goldens(t) {
		before := exchanged(p.ours)
		p.agree(t, g.file, image.Rectangle{})
		for range 50 {
			p.agree(t, g.file, part(r, g.size))
		}
		if ours, baseline := exchanged(p.ours)-before, !strings.Contains(g.name, "progressive"); (ours == 51) != baseline {
			t.Errorf("%s: %d of 51 times, coefficients were decoded here", g.name, ours)
		}
	}
	for range 200 {
		size := image.Pt(1+r.IntN(400), 1+r.IntN(300))
		file := photo(t, size.X, size.Y, r.IntN(4) == 0)
		if !p.agree(t, file, part(r, size)) {
			t.Fatalf("a picture of %v is refused", size)
		}
	}
	if exchanged(p.library) != 0 {
		t.Error("the library's pixels were ours")
	}
}

func TestDamagedCoefficientsAreTheLibrarys(t *testing.T) {
	p := newPair(t)
	r := rand.New(rand.NewPCG(13, 14))
	accepted, count := 0, 0
	for _, g := range goldens(t) {
		for range 500 {
			file := damage(r, g.file)
			size, err := sizeOf(file)
			if err != nil || size.X*size.Y > 1<<20 {
				continue
			}
			if p.agree(t, file, part(r, size)) {
				accepted++
			}
			count++
		}
	}
	if accepted < count/20 || accepted > count*19/20 || exchanged(p.ours) < count/4 {
		t.Errorf("of %d damaged files %d are accepted, and %d were tried here: this tests little", count, accepted, exchanged(p.ours))
	}
}

// The data may be all that a file declares them to be.
func FuzzCoefficients(f *testing.F) {
	for _, g := range goldens(f) {
		f.Add(g.file, uint64(1))
	}
	p := newPair(f)
	f.Fuzz(func(t *testing.T, file []byte, seed uint64) {
		size, err := sizeOf(file)
		if err != nil || int64(size.X)*int64(size.Y) > 1<<18 {
			return
		}
		p.agree(t, file, part(rand.New(rand.NewPCG(seed, 1)), size))
	})
}

// A skip is what some of the look-up's symbols come to, one after the other: all, where the block may go on behind them.
func TestSkipsAreSymbols(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	several := 0
	for range 200 {
		var bits [17]byte
		var values [256]byte
		left := 1 << 16 // of the codes' room
		for length := 1; length <= 16; length++ {
			most := left >> (16 - length)
			if length < 16 && most > 1 {
				bits[length] = byte(r.IntN(min(most, 12)))
			}
			left -= int(bits[length]) << (16 - length)
		}
		for i := range values {
			values[i] = byte(r.IntN(16)<<4 | r.IntN(12))
		}
		values[r.IntN(4)] = 0
		skips, symbols := skipsOf(bits, values)
		for at, skip := range skips {
			each, got := symbols(at), [2]int{int(skip & 255), int(skip >> 8)}
			all := len(each) == 0 || each[len(each)-1][1]%128 < 64
			if len(each) == 0 && got != [2]int{0, 64} || len(each) > 0 && !slices.Contains(each, got) || len(each) > 0 && all && got != each[len(each)-1] {
				t.Fatalf("look-up %b: %v of symbols %v", at, got, each)
			}
			if len(each) > 1 {
				several++
			}
		}
	}
	if several < 10000 {
		t.Errorf("%d look-ups have several symbols: this tests little", several)
	}
}
