package jpeg

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"image"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// golden is one picture of testdata, and what Pillow makes of it.
type golden struct {
	name string
	file []byte
	size image.Point
	sum  uint32
}

func goldens(t testing.TB) []golden {
	t.Helper()
	list, err := os.ReadFile("testdata/golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []golden
	for line := range strings.Lines(string(list)) {
		var g golden
		if _, err := fmt.Sscanf(line, "%s %d %d %x", &g.name, &g.size.X, &g.size.Y, &g.sum); err != nil {
			t.Fatal(err)
		}
		if g.file, err = os.ReadFile("testdata/" + g.name + ".jpg"); err != nil {
			t.Fatal(err)
		}
		out = append(out, g)
	}
	if len(out) < 10 {
		t.Fatalf("testdata/golden.txt lists %d pictures only", len(out))
	}
	return out
}

// colours are the bytes of a picture without the fourth of each pixel.
func colours(pix []byte) []byte {
	out := make([]byte, 0, len(pix)/4*3)
	for i := 0; i < len(pix); i += 4 {
		out = append(out, pix[i:i+3]...)
	}
	return out
}

func TestPixelsArePillows(t *testing.T) {
	needLibrary(t)
	d := Format.NewDecoder()
	defer d.Close()
	r := rand.New(rand.NewPCG(3, 4))
	for _, g := range goldens(t) {
		whole, err := d.Decode(g.file, image.Rectangle{})
		if err != nil {
			t.Fatalf("%s: %v", g.name, err)
		}
		if whole.Rect.Max != g.size || crc32.ChecksumIEEE(colours(whole.Pix)) != g.sum {
			t.Errorf("%s: other pixels than Pillow's", g.name)
		}
		for range 100 {
			region := part(r, g.size)
			some, err := d.Decode(g.file, region)
			if err != nil || !bytes.Equal(some.Pix, crop(whole, region)) {
				t.Fatalf("%s: %v differs from the whole picture's; error %v", g.name, region, err)
			}
		}
	}
}
