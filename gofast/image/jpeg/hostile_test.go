package jpeg

import (
	"bytes"
	"errors"
	"image"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/gofast-org/gofast/gofast/image/picture"
	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// damage changes a file in one of many ways.
func damage(r *rand.Rand, file []byte) []byte {
	file = bytes.Clone(file)
	at := r.IntN(len(file))
	switch r.IntN(6) {
	case 0:
		return file[:at]
	case 1:
		file[at] ^= 1 << r.IntN(8)
	case 2:
		file[at] = []byte{0, 0xff, 0xd9, 0xda, byte(r.Uint32())}[r.IntN(5)]
	case 3:
		return append(file[:at], file[min(len(file), at+1+r.IntN(30)):]...)
	case 4:
		marker := []byte{0xff, []byte{0xd9, 0xda, 0xc0, 0xc4, 0xd0, 1, 2, byte(r.Uint32())}[r.IntN(8)]}
		return append(file[:at:at], append(marker, file[at:]...)...)
	case 5:
		return append(file, file[at:]...)
	}
	return file
}

// judge decodes a region and the whole of a file, and fails where they differ in verdict or pixels.
func judge(t *testing.T, d *picture.Decoder, file []byte, r *rand.Rand) (accepted bool) {
	t.Helper()
	size, err := sizeOf(file)
	if err != nil {
		if _, again := d.Decode(file, image.Rectangle{}); again == nil {
			t.Fatalf("a file without a size is decoded: %v", err)
		}
		return false
	}
	if int64(size.X)*int64(size.Y) > d.MaxPixels {
		return false
	}
	region := part(r, size)
	whole, wholeErr := d.Decode(file, image.Rectangle{})
	some, partErr := d.Decode(file, region)
	if (wholeErr == nil) != (partErr == nil) || errs.Name(wholeErr) != errs.Name(partErr) && wholeErr != nil {
		t.Fatalf("the verdict depends on the region: whole %v, %v %v", wholeErr, region, partErr)
	}
	if wholeErr != nil {
		return false
	}
	if !bytes.Equal(some.Pix, crop(whole, region)) {
		t.Fatalf("%v of %v differs from the whole picture's", region, size)
	}
	return true
}

func TestDamageIsJudgedAlikeForEveryRegion(t *testing.T) {
	needLibrary(t)
	d := Format.NewDecoder()
	defer d.Close()
	d.MaxPixels = 1 << 18
	r := rand.New(rand.NewPCG(5, 6))
	accepted, count := 0, 0
	for _, g := range goldens(t) {
		for range 500 {
			if judge(t, d, damage(r, g.file), r) {
				accepted++
			}
			count++
		}
	}
	if accepted < count/20 || accepted > count*19/20 {
		t.Errorf("%d of %d damaged files are accepted: this tests little", accepted, count)
	}
}

// Each verdict here was taken from Pillow 13.0.0.
func TestVerdictsArePillows(t *testing.T) {
	needLibrary(t)
	good := photo(t, 200, 150, false)
	scan := bytes.Index(good, []byte{0xff, 0xda}) + 14
	cut := func(from, to int, insert ...byte) []byte {
		return append(append(bytes.Clone(good[:from]), insert...), good[to:]...)
	}
	middle, end := (scan+len(good))/2, len(good)
	for good[middle] == 0xff || good[middle-1] == 0xff {
		middle++
	}
	for name, c := range map[string]struct {
		file     []byte
		accepted bool
	}{
		"without its end":             {good[:end-2], false},
		"garbage behind":              {cut(end, end, 1, 2, 3, 0xff, 0xc4, 0xff, 0xf0), true},
		"garbage before the end":      {cut(end-2, end-2, 1, 2, 3), true},
		"end in the middle":           {cut(middle, middle, 0xff, 0xd9), true},
		"cut, with an end":            {cut(middle, end, 0xff, 0xd9), true},
		"cut":                         {good[:middle], false},
		"restart marker in it":        {cut(middle, middle, 0xff, 0xd2), true},
		"reserved marker in it":       {cut(middle, middle, 0xff, 0xf1), false},
		"marker below C0 in it":       {cut(middle, middle, 0xff, 0x02), false},
		"bad table in it":             {cut(middle, middle, 0xff, 0xc4, 0, 3, 9), false},
		"comment in it":               {cut(middle, middle, 0xff, 0xfe, 0, 3, 9), true},
		"comment beyond the file":     {cut(middle, middle, 0xff, 0xfe, 0xff, 0xff), true},
		"second scan":                 {cut(end-2, end-2, good[scan-14:scan]...), false},
		"second picture behind":       {cut(end, end, good...), true},
		"an end in the header":        {cut(2, 2, 0xff, 0xd9), false},
		"reserved marker at the end":  {cut(end-2, end, 0xff, 0xf1), false},
		"lone 0xff at the end":        {cut(end-2, end, 0xff), false},
		"comment for an end":          {cut(end-2, end, 0xff, 0xfe, 0, 2), true},
		"zeroes for an end":           {cut(end-2, end, make([]byte, 100)...), true},
		"64 kB of zeroes, then a bad": {cut(end-2, end, append(make([]byte, 1<<16), 0xff, 0xf1)...), true},
	} {
		_, err := Format.NewDecoder().Decode(c.file, image.Rect(5, 5, 6, 6))
		if (err == nil) != c.accepted {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// A file that lacks its tables must not be decoded with those of the file before.
func TestTablesDoNotLeakIntoTheNextFile(t *testing.T) {
	needLibrary(t)
	d := Format.NewDecoder()
	defer d.Close()
	good := photo(t, 40, 30, false)
	at := bytes.Index(good, []byte{0xff, 0xdb})
	bare := append(bytes.Clone(good[:at]), good[bytes.Index(good, []byte{0xff, 0xc0}):]...)
	for range 3 {
		if _, err := d.Decode(good, image.Rectangle{}); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Decode(bare, image.Rectangle{}); !errors.Is(err, errs.ErrDamaged) {
			t.Fatalf("a file without quantisation tables: error %v", err)
		}
	}
}

func TestManyDecodersAtOnce(t *testing.T) {
	needLibrary(t)
	files := goldens(t)
	var group sync.WaitGroup
	for seed := range 8 {
		group.Go(func() {
			d := Format.NewDecoder()
			defer d.Close()
			r := rand.New(rand.NewPCG(7, uint64(seed)))
			for range 200 {
				g := files[r.IntN(len(files))]
				if !judge(t, d, g.file, r) {
					t.Errorf("%s was refused", g.name)
				}
				judge(t, d, damage(r, g.file), r)
			}
		})
	}
	group.Wait()
}

// resident is this process's memory in bytes.
func resident(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("needs /proc to see memory")
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

func TestMemoryDoesNotGrow(t *testing.T) {
	if testing.Short() {
		t.Skip("the sanitizers' own memory grows")
	}
	needLibrary(t)
	files := goldens(t)
	d := Format.NewDecoder()
	defer d.Close()
	d.MaxPixels = 1 << 16
	r := rand.New(rand.NewPCG(8, 9))
	round := func() {
		for range 4000 {
			file := files[r.IntN(len(files))].file
			if r.IntN(2) == 0 {
				file = damage(r, file)
			}
			_, _ = d.Decode(file, image.Rect(0, 0, 1, 1)) // verdicts are other tests' matter
		}
	}
	round()
	before := resident(t)
	for range 3 {
		round()
	}
	if grown := resident(t) - before; grown > 2<<20 {
		t.Errorf("12,000 files leave %d bytes behind", grown)
	}
}

// No bytes crash the decoder, and the verdict and pixels do not depend on the region.
func FuzzDecode(f *testing.F) {
	needLibrary(f)
	for _, g := range goldens(f) {
		f.Add(g.file, uint64(1))
	}
	d := Format.NewDecoder()
	d.MaxPixels = 1 << 18
	f.Fuzz(func(t *testing.T, file []byte, seed uint64) {
		judge(t, d, file, rand.New(rand.NewPCG(seed, 1)))
	})
}
