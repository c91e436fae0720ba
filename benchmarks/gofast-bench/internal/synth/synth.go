// Package synth makes test data: the same bytes for the same options.
package synth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/newfile"
	"github.com/gofast-org/gofast/gofast"
)

// The kinds of data.
const (
	JPEG    = "jpeg"
	PNG     = "png"
	CSV     = "csv"
	NPY     = "npy"
	Parquet = "parquet"
)

// Kinds are all of them.
var Kinds = []string{JPEG, PNG, CSV, NPY, Parquet}

// KindOf is the kind that a path's ending names, and else pictures.
func KindOf(path string) string {
	if ending := strings.TrimPrefix(strings.ToLower(filepath.Ext(path)), "."); slices.Contains([]string{CSV, NPY, Parquet}, ending) {
		return ending
	}
	return JPEG
}

// Options say what to make.
type Options struct {
	Kind          string
	Count         int64
	Classes       int
	Seed          uint64
	Width, Height int
	Spread        float64
	Quality       int
	Broken        int
	Columns       int
	Force         bool
}

// Made is what there is now.
type Made struct {
	Files  int64    `json:"files"`
	Bytes  int64    `json:"bytes"`
	Broken []Broken `json:"broken"`
}

// Broken is a picture that was damaged.
type Broken struct {
	Path string `json:"path"`
	How  string `json:"how"`
}

// The limits keep a slip of the finger from filling a disk.
const (
	mostSide    = 20_000
	mostCount   = 100_000_000
	mostColumns = 100_000
	mostClasses = 100_000
	mostCells   = 10_000_000_000
	mostPixels  = 100_000_000 // of a picture, which every thread holds as 4 bytes each
)

// ParseSize reads 500x375.
func ParseSize(text string) (width, height int, err error) {
	w, h, two := strings.Cut(text, "x")
	width, err = strconv.Atoi(w)
	if err == nil && two {
		height, err = strconv.Atoi(h)
	}
	if err != nil || !two || width < 1 || height < 1 || width > mostSide || height > mostSide {
		return 0, 0, fmt.Errorf("give width x height, such as 500x375, each from 1 to %d", mostSide)
	}
	return width, height, nil
}

// Check says what is wrong with options.
func (o *Options) Check() error {
	within := func(name string, v, low, high int64) error {
		if v < low || v > high {
			return fmt.Errorf("--%s %d: give a number from %d to %d", name, v, low, high)
		}
		return nil
	}
	if !slices.Contains(Kinds, o.Kind) {
		return fmt.Errorf("--kind %q: give %s", o.Kind, strings.Join(Kinds, ", "))
	}
	if !(o.Spread >= 0 && o.Spread < 1) {
		return fmt.Errorf("--spread %g: give a part from 0 to below 1", o.Spread)
	}
	err := errors.Join(within("count", o.Count, 1, mostCount), within("classes", int64(o.Classes), 1, mostClasses),
		within("quality", int64(o.Quality), 1, 100), within("broken", int64(o.Broken), 0, o.Count), within("columns", int64(o.Columns), 1, mostColumns))
	if err == nil && !o.pictures() && o.Count*int64(o.Columns) > mostCells {
		err = fmt.Errorf("%d rows of %d columns are more than %d cells", o.Count, o.Columns, int64(mostCells))
	}
	if err == nil && o.Broken > 0 && !o.pictures() {
		err = errors.New("--broken: only pictures can be broken")
	}
	if most := (1 + o.Spread) * (1 + o.Spread) * float64(o.Width) * float64(o.Height); err == nil && o.pictures() && most > mostPixels {
		err = fmt.Errorf("pictures of %dx%d, %g larger, have more than %d pixels", o.Width, o.Height, o.Spread, mostPixels)
	}
	return err
}

func (o *Options) pictures() bool { return o.Kind == JPEG || o.Kind == PNG }

// Make makes the data.
func Make(ctx context.Context, to string, o Options) (*Made, error) {
	if o.pictures() {
		return makePictures(ctx, to, o)
	}
	return makeTable(ctx, to, o)
}

// write makes a file. One that is there already is an error, unless force is set.
func write(path string, force bool, content func(io.Writer) error) error {
	err := newfile.Write(path, force, content)
	if errors.Is(err, fs.ErrExist) {
		return there(path)
	}
	return err
}

func there(path string) error {
	return gofast.NewError(gofast.ErrConfig, "synth", "is there already, and nothing is overwritten without --force").At(path)
}

func makePictures(ctx context.Context, to string, o Options) (*Made, error) {
	if entries, err := os.ReadDir(to); err == nil && len(entries) > 0 && !o.Force {
		return nil, there(to)
	}
	for class := range min(int64(o.Classes), o.Count) {
		if err := os.MkdirAll(filepath.Join(to, className(int(class))), 0o777); err != nil {
			return nil, err
		}
	}
	made := &Made{Files: o.Count, Broken: []Broken{}}
	for i, index := range brokenOnes(o) {
		made.Broken = append(made.Broken, Broken{o.path(to, index), damages[i%len(damages)].how})
	}
	how := map[string]int{}
	for i, b := range made.Broken {
		how[b.Path] = i % len(damages)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next, bytes atomic.Int64
	var done sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		done.Go(func() {
			for i := next.Add(1) - 1; i < o.Count && ctx.Err() == nil; i = next.Add(1) - 1 {
				path := o.path(to, i)
				file, err := o.picture(ctx, i)
				if damage, broken := how[path]; broken && err == nil {
					file = damages[damage].do(file)
				}
				if err == nil {
					err = write(path, o.Force, func(w io.Writer) error {
						_, err := w.Write(file)
						return err
					})
				}
				if err != nil {
					stop(err)
				}
				bytes.Add(int64(len(file)))
			}
		})
	}
	done.Wait()
	made.Bytes = bytes.Load()
	return made, context.Cause(ctx)
}

func className(class int) string { return fmt.Sprintf("class%03d", class) }

func (o *Options) path(to string, index int64) string {
	ending := map[string]string{JPEG: ".jpg", PNG: ".png"}[o.Kind]
	return filepath.Join(to, className(int(index%int64(o.Classes))), fmt.Sprintf("%06d%s", index, ending))
}

// brokenOnes are the places of the damaged pictures, spread evenly.
func brokenOnes(o Options) (indices []int64) {
	for i := range int64(o.Broken) {
		indices = append(indices, i*o.Count/int64(o.Broken))
	}
	return indices
}

// source is the random stream of a picture or a row.
func (o *Options) source(index int64) *rand.Rand { return rand.New(rand.NewPCG(o.Seed, uint64(index))) }
