package png

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast/image/picture"
	"github.com/gofast-org/gofast/gofast/internal/errs"
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
	if err := Format.Load(""); err != nil {
		t.Fatal(err)
	}
	d := Format.NewDecoder()
	t.Cleanup(d.Close)
	return d
}

// expected is what Go's own decoder sees, with Pillow's ways where they differ:
// alpha is dropped, not multiplied, and grey of 16 bits is clipped.
func expected(t testing.TB, k kind, data []byte) *image.NRGBA {
	t.Helper()
	m, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("image/png: %v", err)
	}
	out := image.NewNRGBA(m.Bounds())
	switch m := m.(type) {
	case *image.NRGBA:
		copy(out.Pix, m.Pix)
	case *image.NRGBA64:
		for i := range out.Pix {
			out.Pix[i] = m.Pix[2*i]
		}
	case *image.Gray16:
		for i := 0; i < len(m.Pix); i += 2 {
			v := m.Pix[i+1]
			if m.Pix[i] > 0 {
				v = 255
			}
			copy(out.Pix[2*i:], []byte{v, v, v})
		}
	default:
		draw.Draw(out, out.Bounds(), m, image.Point{}, draw.Src)
	}
	for i := 3; i < len(out.Pix); i += 4 {
		out.Pix[i] = 255
	}
	return out
}

func TestEveryKindAgreesWithGo(t *testing.T) {
	d := decoder(t)
	r := rand.New(rand.NewPCG(1, 2))
	for _, k := range everyKind {
		for range 60 {
			w, h, interlaced := 1+r.IntN(67), 1+r.IntN(40), r.IntN(2) == 1
			data := pack(k.file(r, w, h, interlaced)...)
			want := expected(t, k, data)
			if gotW, gotH, err := sizeOf(data[:24]); err != nil || gotW != w || gotH != h {
				t.Fatalf("Size: %d x %d, %v; want %d x %d", gotW, gotH, err, w, h)
			}
			got, err := decode(d, data, int64(w*h))
			if err != nil || got.Rect != want.Rect || !bytes.Equal(got.Pix, want.Pix) {
				t.Fatalf("%+v %d x %d, interlaced %v: pixels differ, %v", k, w, h, interlaced, err)
			}
		}
	}
}

// The verdicts are Pillow's, found by asking it.
func TestVerdicts(t *testing.T) {
	d := decoder(t)
	r := rand.New(rand.NewPCG(5, 6))
	k := kind{2, 8, 3}
	const w, h = 9, 7
	raw := k.rows(r, w, h, false)
	z := deflate(raw)
	header, end := k.header(w, h, false), chunk{"IEND", nil}
	whole := []chunk{header, {"IDAT", z}, end}
	wrongSum := func(file []byte, at int) []byte { file[at] ^= 1; return file }
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"whole":                      {pack(whole...), nil},
		"empty":                      {nil, errs.ErrUnsupported},
		"signature only":             {[]byte(signature), errs.ErrDamaged},
		"not PNG":                    {[]byte("GIF89a and so on"), errs.ErrUnsupported},
		"header's checksum":          {wrongSum(pack(whole...), 8+8+13), errs.ErrDamaged},
		"image data's checksum":      {wrongSum(pack(whole...), 8+25+8+len(z)), nil},
		"no end":                     {pack(whole[:2]...), nil},
		"cut in the last checksum":   {pack(whole...)[:8+25+8+len(z)+2], nil},
		"cut in the image data":      {pack(whole...)[:8+25+8+len(z)/2], errs.ErrDamaged},
		"rubbish behind the end":     {append(pack(whole...), "rubbish"...), nil},
		"rubbish instead of an end":  {append(pack(whole[:2]...), "\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8\xf7"...), nil},
		"cut text behind the data":   {append(pack(whole[:2]...), 0, 0, 1, 0, 't', 'E', 'X', 't', 'a'), errs.ErrDamaged},
		"no image data":              {pack(header, end), errs.ErrDamaged},
		"no header":                  {pack(whole[1:]...), errs.ErrDamaged},
		"two headers":                {pack(header, header, whole[1], end), errs.ErrUnsupported},
		"short header":               {pack(chunk{"IHDR", header.data[:12]}, whole[1], end), errs.ErrDamaged},
		"long header":                {pack(chunk{"IHDR", append(bytes.Clone(header.data), 1)}, whole[1], end), nil},
		"unknown critical chunk":     {pack(header, chunk{"QQQQ", []byte("x")}, whole[1], end), nil},
		"no pixels":                  {pack(k.header(0, 5, false), whole[1], end), errs.ErrDamaged},
		"bad depth":                  {pack(kind{2, 4, 3}.header(w, h, false), whole[1], end), errs.ErrDamaged},
		"too many pixels":            {pack(k.header(5000, 5000, false), whole[1], end), errs.ErrLimit},
		"less data than pixels":      {pack(k.header(4000, 4000, false), whole[1], end), errs.ErrUnsupported},
		"empty image data":           {pack(header, chunk{"IDAT", nil}, whole[1], chunk{"IDAT", nil}, end), nil},
		"chunk within image data":    {pack(header, chunk{"IDAT", z[:20]}, chunk{"tEXt", nil}, chunk{"IDAT", z[20:]}, end), errs.ErrDamaged},
		"wrong adler":                {pack(header, chunk{"IDAT", append(bytes.Clone(z[:len(z)-1]), z[len(z)-1]^1)}, end), errs.ErrDamaged},
		"no adler":                   {pack(header, chunk{"IDAT", z[:len(z)-4]}, end), nil},
		"a row too many":             {pack(header, chunk{"IDAT", deflate(append(bytes.Clone(raw), raw[:28]...))}, end), nil},
		"ends inside a row":          {pack(header, chunk{"IDAT", deflate(raw[:len(raw)-1])}, end), errs.ErrDamaged},
		"unknown filter":             {pack(header, chunk{"IDAT", deflate(append([]byte{5}, raw[1:]...))}, end), errs.ErrDamaged},
		"gamma too short":            {pack(header, chunk{"gAMA", []byte{1}}, whole[1], end), errs.ErrDamaged},
		"gamma too short behind":     {pack(header, whole[1], chunk{"gAMA", []byte{1}}, end), errs.ErrDamaged},
		"huge compressed text":       {pack(header, chunk{"zTXt", append([]byte("k\x00\x00"), deflate(make([]byte, 2<<20))...)}, whole[1], end), errs.ErrUnsupported},
		"text that steers Pillow":    {pack(header, chunk{"tEXt", []byte("interlace\x001")}, whole[1], end), errs.ErrUnsupported},
		"frame before the animation": {pack(header, chunk{"fdAT", []byte("abcdefgh")}, whole[1], end), errs.ErrUnsupported},
		"palette too long":           {pack(kind{3, 8, 1}.header(1, 1, false), chunk{"PLTE", make([]byte, 771)}, chunk{"IDAT", deflate([]byte{0, 1})}, end), errs.ErrDamaged},
		"palette missing":            {pack(kind{3, 8, 1}.header(1, 1, false), chunk{"IDAT", deflate([]byte{0, 1})}, end), nil},
	} {
		_, err := decode(d, c.data, manyPixels)
		if c.want == nil && err != nil || !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}

// Pillow takes a picture for complete when the stream ends with a row.
func TestMissingRowsAreBlack(t *testing.T) {
	d := decoder(t)
	raw := bytes.Repeat([]byte{0, 200, 200, 200}, 3)
	got, err := decode(d, pack(kind{2, 8, 3}.header(1, 5, false), chunk{"IDAT", deflate(raw)}, chunk{"IEND", nil}), manyPixels)
	if err != nil {
		t.Fatal(err)
	}
	for y := range 5 {
		want := color.RGBA{200, 200, 200, 255}
		if y >= 3 {
			want = color.RGBA{0, 0, 0, 255}
		}
		if got.RGBAAt(0, y) != want {
			t.Errorf("row %d: got %v, want %v", y, got.RGBAAt(0, y), want)
		}
	}
}

func TestFaultsSayWhere(t *testing.T) {
	_, err := decode(decoder(t), []byte(signature+"\x00\x00\x00"), 1)
	var e *errs.Error
	if !errors.As(err, &e) || e.Offset != 8 || !strings.Contains(e.Text, "chunk") {
		t.Errorf("got %v", err)
	}
}
