package jpeg

import (
	"bytes"
	"image"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// newMarks gives the process memory for marks until the test ends.
func newMarks(t testing.TB, size int) {
	t.Helper()
	needLibrary(t)
	memory, err := unix.Mmap(-1, 0, size+1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	useMarks(memory[:size])
	t.Cleanup(func() {
		useMarks(nil)
		_ = unix.Munmap(memory)
	})
}

// Each file is decoded again and again, in parts: the marks of one decode serve the next, and it adds its own.
func TestMarkedRegionsAreTheLibrarys(t *testing.T) {
	newMarks(t, 64<<20)
	p := newPair(t)
	p.ours.ComesAgain = true
	r := rand.New(rand.NewPCG(15, 16))
	files := make([][]byte, 0, 100)
	for _, g := range goldens(t) {
		files = append(files, g.file)
	}
	for range 40 {
		files = append(files, photo(t, 100+r.IntN(500), 100+r.IntN(400), r.IntN(4) == 0))
	}
	for range 12 {
		for _, file := range files {
			size, err := sizeOf(file)
			if err != nil {
				t.Fatal(err)
			}
			p.agree(t, file, part(r, size))
		}
	}
	if marked(p.ours) < 300 {
		t.Errorf("%d files had marks: this tests little", marked(p.ours))
	}
}

// Where marks are known, two rows are decoded at a time: in whole pictures, in those of one row, and in rows that are too
// wide for it.
func TestTwoRowsAreTheLibrarys(t *testing.T) {
	newMarks(t, 64<<20)
	p := newPair(t)
	p.ours.ComesAgain = true
	r := rand.New(rand.NewPCG(23, 24))
	for _, size := range []image.Point{{640, 480}, {333, 17}, {1200, 16}, {5600, 50}, {90, 800}, {257, 129}} {
		for _, grey := range []bool{false, true} {
			file := photo(t, size.X, size.Y, grey)
			for range 3 {
				p.agree(t, file, image.Rectangle{Max: size})
				p.agree(t, file, image.Rect(0, r.IntN(size.Y), size.X, size.Y))
				x, y := r.IntN(size.X), r.IntN(size.Y)
				p.agree(t, file, image.Rect(x, 0, x+1, size.Y)) // a column
				p.agree(t, file, image.Rect(x, y, x+1, y+1))
			}
		}
	}
	if marked(p.ours) < 80 {
		t.Errorf("%d had marks: this tests little", marked(p.ours))
	}
}

// What is wrong in the row below is found while the one above is decoded.
func TestDamageInTwoRows(t *testing.T) {
	newMarks(t, 64<<20)
	p := newPair(t)
	p.ours.ComesAgain = true
	r := rand.New(rand.NewPCG(25, 26))
	var files [][]byte
	for _, g := range goldens(t) { // of all samplings
		files = append(files, g.file)
	}
	files = append(files, photo(t, 640, 480, false), photo(t, 300, 700, true))
	for range 60 {
		file := bytes.Clone(files[r.IntN(len(files))])
		size, err := sizeOf(file)
		if err != nil {
			t.Fatal(err)
		}
		for range 1 + r.IntN(3) {
			file[len(file)-3-r.IntN(len(file)/4)] ^= 1 << r.IntN(8)
		}
		for range 3 {
			p.agree(t, file, image.Rectangle{Max: image.Pt(size.X, 1+r.IntN(size.Y))})
			p.agree(t, file, image.Rectangle{Max: size})
		}
	}
}

// A file with other bytes has other marks, whatever its name and its size.
func TestMarksAreOfTheContent(t *testing.T) {
	newMarks(t, 64<<20)
	p := newPair(t)
	p.ours.ComesAgain = true
	r := rand.New(rand.NewPCG(17, 18))
	file := photo(t, 640, 480, false)
	for range 400 {
		p.agree(t, file, part(r, image.Pt(640, 480)))
		other := bytes.Clone(file)
		for range 1 + r.IntN(3) {
			other[len(other)/4+r.IntN(len(other)/2)] ^= 1 << r.IntN(8)
		}
		p.agree(t, other, part(r, image.Pt(640, 480)))
		p.agree(t, other, part(r, image.Pt(640, 480)))
	}
}

// Without being told that it comes again, a file has no marks before its second decode.
func TestMarksOfFilesThatComeAgain(t *testing.T) {
	newMarks(t, 64<<20)
	p := newPair(t)
	file, low := photo(t, 640, 480, false), image.Rect(10, 400, 300, 470)
	for i, want := range []int{0, 0, 1, 2} {
		if p.agree(t, file, low); (marked(p.ours) > 0) != (want > 0) {
			t.Fatalf("decode %d: %d had marks", i, marked(p.ours))
		}
	}
}

// Memory that is used up, or too little for anything.
func TestFullMarks(t *testing.T) {
	for _, size := range []int{0, 100, 1 << 16, 1<<16 + 9000} {
		newMarks(t, size)
		p := newPair(t)
		p.ours.ComesAgain = true
		r := rand.New(rand.NewPCG(uint64(size), 19))
		for i := range 600 {
			file := photo(t, 200+i%40, 200, false)
			p.agree(t, file, part(r, image.Pt(200+i%40, 200)))
		}
	}
}

func TestMarksOfManyThreads(t *testing.T) {
	newMarks(t, 64<<20)
	var files [][]byte
	for i := range 6 {
		files = append(files, photo(t, 400+i, 300, false))
	}
	var wait sync.WaitGroup
	for k := range 6 {
		p := newPair(t)
		p.ours.ComesAgain = true
		wait.Go(func() {
			r := rand.New(rand.NewPCG(uint64(k), 20))
			for range 60 {
				i := r.IntN(len(files))
				p.agree(t, files[i], part(r, image.Pt(400+i, 300)))
			}
		})
	}
	wait.Wait()
}

// BenchmarkCrops decodes crops of photographs as RandomResizedCrop draws them, in a first and in later epochs.
func BenchmarkCrops(b *testing.B) {
	needLibrary(b)
	names, _ := filepath.Glob(filepath.Join(os.Getenv("GOFAST_TEST_DATA"), "imagenet-500", "*", "*"))
	if len(names) == 0 {
		b.Skip("GOFAST_TEST_DATA has no photographs")
	}
	var files [][]byte
	for _, name := range names {
		file, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		files = append(files, file)
	}
	for _, marked := range []bool{false, true} {
		name := "plain"
		if marked {
			name = "marked"
		}
		b.Run(name, func(b *testing.B) {
			useMarks(nil)
			if marked {
				newMarks(b, 64<<20)
			}
			d := Format.NewDecoder()
			defer d.Close()
			d.ComesAgain = true
			r := rand.New(rand.NewPCG(1, 1))
			for i := 0; i < 2*len(files) || b.Loop(); i++ {
				if i == 2*len(files) {
					b.ResetTimer()
				}
				file := files[i%len(files)]
				size, _ := sizeOf(file)
				area, ratio := 0.08+0.92*r.Float64(), 3./4+r.Float64()*7/12
				width := min(int(math.Sqrt(area*ratio)*float64(size.X)), size.X)
				height := min(int(math.Sqrt(area/ratio)*float64(size.Y)), size.Y)
				x, y := r.IntN(size.X-width+1), r.IntN(size.Y-height+1)
				if _, err := d.Decode(file, image.Rect(x, y, x+width, y+height)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
