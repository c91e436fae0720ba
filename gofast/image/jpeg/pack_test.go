package jpeg

import (
	"bytes"
	"encoding/binary"
	"image"
	stdjpeg "image/jpeg"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast/image/picture"
)

// packer makes records, and decodes them and their files.
type packer struct{ maker, records, library *picture.Decoder }

func newPacker(t testing.TB) packer {
	t.Helper()
	needLibrary(t)
	p := packer{Format.NewDecoder(), coefficientsFormat.NewDecoder(), Format.NewDecoder()}
	byLibrary(p.library)
	for _, d := range []*picture.Decoder{p.maker, p.records, p.library} {
		t.Cleanup(d.Close)
	}
	return p
}

// pack makes a file's record, and decodes little of it for its pixels.
func (p packer) pack(file []byte) []byte {
	record, _ := pack(p.maker, file, image.Rect(0, 0, 1, 1))
	return record
}

// agree decodes a region of a record, which must have the library's pixels of the file.
func (p packer) agree(t *testing.T, file, record []byte, region image.Rectangle) {
	t.Helper()
	ours, err := p.records.Decode(record, region)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := p.library.Decode(file, region)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(ours.Pix, theirs.Pix) {
		t.Fatalf("%v: other pixels than the library's", region)
	}
}

// samples are files of many kinds.
func samples(t testing.TB, r *rand.Rand) [][]byte {
	var files [][]byte
	for _, g := range goldens(t) {
		if !strings.Contains(g.name, "progressive") {
			files = append(files, g.file)
		}
	}
	for range 60 {
		files = append(files, photo(t, 1+r.IntN(400), 1+r.IntN(300), r.IntN(4) == 0))
	}
	return files
}

func TestRecordsAreTheLibrarys(t *testing.T) {
	p := newPacker(t)
	r := rand.New(rand.NewPCG(21, 22))
	for i, file := range samples(t, r) {
		size, err := sizeOf(file)
		if err != nil {
			t.Fatal(err)
		}
		coefficientForms(0)
		record := p.pack(file)
		for form := 1; form <= allForms; form++ {
			coefficientForms(form)
			if other := p.pack(file); record == nil || !bytes.Equal(record, other) {
				t.Fatalf("file %d: %d bytes of a record, in plain C, and %d in form %d", i, len(record), len(other), form)
			}
		}
		p.agree(t, file, record, image.Rectangle{})
		for k := range 30 {
			coefficientForms(k % (allForms + 1))
			region := part(r, size)
			p.agree(t, file, record, region)
			other, pixels := pack(p.maker, file, region)
			if theirs, err := p.library.Decode(file, region); err != nil || !bytes.Equal(record, other) || !bytes.Equal(pixels.Pix, theirs.Pix) {
				t.Fatalf("file %d: beside %v: another record or other pixels, %v", i, region, err)
			}
		}
		coefficientForms(allForms)
	}
}

// Values of all sizes, in pictures of noise.
func TestExtremeCoefficients(t *testing.T) {
	p := newPacker(t)
	r := rand.New(rand.NewPCG(23, 24))
	for quality := 1; quality <= 100; quality += 11 {
		file := noise(t, r, 120, 90, quality)
		coefficientForms(0)
		record := p.pack(file)
		coefficientForms(allForms)
		if record == nil || !bytes.Equal(record, p.pack(file)) {
			t.Fatalf("quality %d: %d bytes of a record, or others in another form", quality, len(record))
		}
		for range 20 {
			p.agree(t, file, record, part(r, image.Pt(120, 90)))
		}
	}
}

// Bytes that fill may stand before any marker, and metadata that is left out may look like segments.
func TestRecordsOfOddHeaders(t *testing.T) {
	p := newPacker(t)
	r := rand.New(rand.NewPCG(29, 30))
	for range 200 {
		file := photo(t, 100, 80, r.IntN(3) == 0)
		end := bytes.Index(file, []byte{0xff, 0xda})
		var odd []byte
		for at := 2; at < end; {
			next := at + 2 + int(binary.BigEndian.Uint16(file[at+2:]))
			odd = append(odd, bytes.Repeat([]byte{0xff}, r.IntN(3))...)
			if r.IntN(2) == 0 {
				text := bytes.Repeat([]byte{0xff, 0xe2, 0, 20, 0xff, 0xff}, r.IntN(2000))
				odd = append(odd, 0xff, []byte{0xe1, 0xe5, 0xfe}[r.IntN(3)])
				odd = binary.BigEndian.AppendUint16(odd, uint16(2+len(text)))
				odd = append(append(odd, text...), bytes.Repeat([]byte{0xff}, r.IntN(2))...)
			}
			odd = append(odd, file[at:next]...)
			at = next
		}
		odd = append(append([]byte{0xff, 0xd8}, odd...), file[end:]...)
		record := p.pack(odd)
		if record == nil {
			t.Fatal("no record")
		}
		p.agree(t, odd, record, part(r, image.Pt(100, 80)))
	}
}

func TestNoRecords(t *testing.T) {
	p := newPacker(t)
	for _, g := range goldens(t) {
		if strings.Contains(g.name, "progressive") && p.pack(g.file) != nil {
			t.Errorf("%s has a record", g.name)
		}
		if p.pack(g.file[:len(g.file)*2/3]) != nil {
			t.Errorf("%s has a record though it is cut", g.name)
		}
	}
	// A damaged file has a record only if the library decodes it alike.
	r := rand.New(rand.NewPCG(25, 26))
	made := 0
	for _, g := range goldens(t) {
		for range 100 {
			file := damage(r, g.file)
			size, err := sizeOf(file)
			if err != nil || size.X*size.Y > 1<<20 {
				continue
			}
			// A sample is made beside its record, also where damage is found that the sample does not need.
			region := part(r, size)
			record, pixels := pack(p.maker, file, region)
			if part, err := p.library.Decode(file, region); (err == nil) != (pixels != nil) || err == nil && !bytes.Equal(pixels.Pix, part.Pix) {
				t.Fatalf("%s, damaged: other pixels in %v, the library's %v", g.name, region, err)
			}
			if record == nil {
				continue
			}
			made++
			ours, err := p.records.Decode(record, image.Rectangle{})
			theirs, theirErr := p.library.Decode(file, image.Rectangle{})
			if err != nil || theirErr != nil || !bytes.Equal(ours.Pix, theirs.Pix) {
				t.Fatalf("%s, damaged: %v, the library's %v", g.name, err, theirErr)
			}
		}
	}
	if made < 100 {
		t.Errorf("%d damaged files have records: this tests little", made)
	}
}

// A record is trusted only behind its sum, but whatever it says, nothing lies outside of it.
func TestDamagedRecords(t *testing.T) {
	p := newPacker(t)
	r := rand.New(rand.NewPCG(27, 28))
	for _, file := range [][]byte{photo(t, 150, 100, false), photo(t, 90, 120, true)} {
		size, _ := sizeOf(file)
		record := p.pack(file)
		for range 3000 {
			bad := bytes.Clone(record)
			switch r.IntN(4) {
			case 0:
				bad = bad[:r.IntN(len(bad))]
			case 1:
				binary.LittleEndian.PutUint32(bad[8+4*r.IntN(4):], r.Uint32()>>r.IntN(32))
			default:
				for range 1 + r.IntN(8) {
					bad[r.IntN(len(bad))] = byte(r.Uint32())
				}
			}
			_, _ = p.records.Decode(bytes.Clone(bad), part(r, size))
		}
		p.agree(t, file, record, image.Rectangle{})
	}
}

// BenchmarkRecords decodes crops of photographs as RandomResizedCrop draws them, from files and from their records.
func BenchmarkRecords(b *testing.B) {
	p := newPacker(b)
	names, _ := filepath.Glob(filepath.Join(os.Getenv("GOFAST_TEST_DATA"), "imagenet-500", "*", "*"))
	if len(names) == 0 {
		b.Skip("GOFAST_TEST_DATA has no photographs")
	}
	var files, records [][]byte
	all, packed := 0, 0
	for _, name := range names {
		file, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		if record := p.pack(file); record != nil {
			files, records = append(files, file), append(records, record)
			all, packed = all+len(file), packed+len(record)
		}
	}
	crop := func(r *rand.Rand, file []byte) image.Rectangle {
		size, _ := sizeOf(file)
		area, ratio := 0.08+0.92*r.Float64(), 3./4+r.Float64()*7/12
		width := min(int(math.Sqrt(area*ratio)*float64(size.X)), size.X)
		height := min(int(math.Sqrt(area/ratio)*float64(size.Y)), size.Y)
		x, y := r.IntN(size.X-width+1), r.IntN(size.Y-height+1)
		return image.Rect(x, y, x+width, y+height)
	}
	run := func(name string, decode func(i int, region image.Rectangle)) {
		b.Run(name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			for i := 0; b.Loop(); i++ {
				decode(i%len(files), crop(r, files[i%len(files)]))
			}
			b.ReportMetric(float64(packed)/float64(all), "bytes/byte")
		})
	}
	run("file", func(i int, region image.Rectangle) { _, _ = p.maker.Decode(files[i], region) })
	run("record", func(i int, region image.Rectangle) { _, _ = p.records.Decode(records[i], region) })
	run("pack", func(i int, _ image.Rectangle) { p.pack(files[i]) })
	run("beside", func(i int, region image.Rectangle) { pack(p.maker, files[i], region) })
}

func noise(t testing.TB, r *rand.Rand, width, height, quality int) []byte {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for i := range m.Pix {
		m.Pix[i] = byte(r.IntN(2) * 255)
	}
	var b bytes.Buffer
	if err := stdjpeg.Encode(&b, m, &stdjpeg.Options{Quality: quality}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
