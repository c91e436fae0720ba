// Package synth makes test data: the same bytes for the same options.
package synth

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gofast-org/gofast/gofast"
)

// The kinds of data.
const (
	JPEG = "jpeg"
	PNG  = "png"
	CSV  = "csv"
)

// KindOf is the kind that a path's ending names, and else pictures.
func KindOf(path string) string {
	if strings.ToLower(filepath.Ext(path)) == ".csv" {
		return CSV
	}
	return JPEG
}

// Options say what to make.
type Options struct {
	Kind          string
	Count         int64
	Classes       int
	Seed          uint64
	Width, Height int // of pictures; their sides differ by a fifth, up and down
	Broken        int // pictures that are damaged
	Columns       int // of tables
}

// Made is what there is now.
type Made struct {
	Files  int64    `json:"files"`
	Bytes  int64    `json:"bytes"`
	Broken []string `json:"broken"`
}

// most keeps a slip of the finger from filling a disk: of pixels of a picture, and of cells of a table.
const most = 10_000_000_000

// Check says what is wrong with options.
func (o *Options) Check() error {
	pictures := o.Kind == JPEG || o.Kind == PNG
	for _, wrong := range []struct {
		is   bool
		says string
	}{
		{!pictures && o.Kind != CSV, "--kind: give jpeg, png or csv"},
		{o.Count < 1 || o.Classes < 1 || o.Columns < 1, "--count, --classes, --columns: give numbers from 1 on"},
		{o.Broken < 0 || int64(o.Broken) > o.Count || o.Broken > 0 && !pictures, "--broken: give a number of the pictures"},
		{o.Width < 1 || o.Height < 1 || o.Width > 20_000 || o.Height > 20_000, "--size: give width x height, such as 500x375, each from 1 to 20000"},
		{!pictures && o.Count > most/int64(o.Columns), fmt.Sprintf("more than %d cells", int64(most))},
	} {
		if wrong.is {
			return errors.New(wrong.says)
		}
	}
	return nil
}

// Make makes the data. Nothing is overwritten.
func Make(ctx context.Context, to string, o Options) (*Made, error) {
	if o.Kind == JPEG || o.Kind == PNG {
		return makePictures(ctx, to, o)
	}
	n, err := write(to, func(w io.Writer) error { return o.writeCSV(ctx, w) })
	return &Made{Files: 1, Bytes: n, Broken: []string{}}, err
}

func there(path string) error {
	return gofast.NewError(gofast.ErrConfig, "synth", "is there already, and nothing is overwritten").At(path)
}

// write makes a file, all of it or none, and says how large it is.
func write(path string, content func(io.Writer) error) (size int64, err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return 0, there(path)
	}
	if err != nil {
		return 0, err
	}
	out := bufio.NewWriterSize(file, 1<<18)
	if err = content(out); err == nil {
		err = out.Flush()
	}
	size, _ = file.Seek(0, io.SeekCurrent)
	if err = errors.Join(err, file.Close()); err != nil {
		_ = os.Remove(path) // the first error counts
	}
	return size, err
}

// damages are ways in which files are broken.
var damages = []func([]byte) []byte{
	func(file []byte) []byte { return file[:len(file)/2] },
	func([]byte) []byte { return nil },
	func([]byte) []byte { return []byte("<html>404 Not Found</html>\n") },
	func(file []byte) []byte { return file[:min(20, len(file))] },
}

// makePictures makes a folder for each class. Every so many pictures, one is damaged.
func makePictures(ctx context.Context, to string, o Options) (*Made, error) {
	if entries, err := os.ReadDir(to); err == nil && len(entries) > 0 {
		return nil, there(to)
	}
	name := func(index int64) string {
		return filepath.Join(to, fmt.Sprintf("class%03d", index%int64(o.Classes)), fmt.Sprintf("%06d.%s", index, strings.Replace(o.Kind, "jpeg", "jpg", 1)))
	}
	for class := range min(int64(o.Classes), o.Count) {
		if err := os.MkdirAll(filepath.Dir(name(class)), 0o777); err != nil {
			return nil, err
		}
	}
	made, damaged := &Made{Files: o.Count, Broken: []string{}}, map[int64]int{}
	for i := range o.Broken {
		index := int64(i) * o.Count / int64(o.Broken)
		made.Broken, damaged[index] = append(made.Broken, name(index)), i%len(damages)
	}
	var size atomic.Int64
	err := each(ctx, o.Count, func(i int64) error {
		file, err := o.picture(i)
		if err != nil {
			return err
		}
		if how, broken := damaged[i]; broken {
			file = damages[how](file)
		}
		size.Add(int64(len(file)))
		_, err = write(name(i), func(w io.Writer) error {
			_, err := w.Write(file)
			return err
		})
		return err
	})
	made.Bytes = size.Load()
	return made, err
}

// each calls make for 0 to n-1 on all processors, until one fails.
func each(ctx context.Context, n int64, make func(i int64) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next atomic.Int64
	var done sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		done.Go(func() {
			for i := next.Add(1) - 1; i < n && ctx.Err() == nil; i = next.Add(1) - 1 {
				if err := make(i); err != nil {
					stop(err)
				}
			}
		})
	}
	done.Wait()
	return context.Cause(ctx)
}

// source is the random stream of a picture or a row.
func (o *Options) source(index int64) *rand.Rand { return rand.New(rand.NewPCG(o.Seed, uint64(index))) }

// grain is the noise that makes a JPEG of quality 90 about as large as a photograph: 110 kB of 468 x 401.
const grain = 24

// picture is one picture's file: two waves, which cross at another place in each channel, with noise.
func (o *Options) picture(index int64) ([]byte, error) {
	r := o.source(index)
	side := func(n int) int { return max(1, int(math.Round(float64(n)*(0.8+0.4*r.Float64())))) }
	picture := image.NewRGBA(image.Rect(0, 0, side(o.Width), side(o.Height)))
	wide := picture.Rect.Dx()
	across, down, phase := 5+20*r.Float64(), 5+20*r.Float64(), 7*r.Float64()
	for at := range len(picture.Pix) / 4 {
		x, y := float64(at%wide)/float64(wide), float64(at/wide)/float64(wide)
		noise := float64(r.IntN(2*grain+1) - grain)
		for c := range 3 {
			v := 128 + noise + 60*math.Sin(across*x+phase*float64(c)) + 40*math.Sin(down*y-phase*float64(c))
			picture.Pix[4*at+c] = uint8(min(max(v, 0), 255))
		}
		picture.Pix[4*at+3] = 255
	}
	var file bytes.Buffer
	if o.Kind == PNG {
		err := png.Encode(&file, picture)
		return file.Bytes(), err
	}
	err := jpeg.Encode(&file, picture, &jpeg.Options{Quality: 90})
	return file.Bytes(), err
}

// writeCSV writes labels and features, bytes as of pictures in grey.
func (o *Options) writeCSV(ctx context.Context, w io.Writer) error {
	line := []byte("label")
	for i := range o.Columns {
		line = fmt.Appendf(line, ",f%d", i)
	}
	if _, err := w.Write(append(line, '\n')); err != nil {
		return err
	}
	for i := range o.Count {
		if i%64 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		r := o.source(i)
		line = strconv.AppendInt(line[:0], i%int64(o.Classes), 10)
		for range o.Columns {
			line = strconv.AppendUint(append(line, ','), uint64(r.Uint32()%256), 10)
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}
