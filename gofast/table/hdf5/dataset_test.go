package hdf5

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/source"
)

// written is an array, the file that has its chunks, and what a library would say of it.
type written struct {
	values []byte
	Dataset
}

// write stores random values in chunks. Those that are left out have the fill value.
func write(t *testing.T, d *rand.Rand) written {
	t.Helper()
	w := written{Dataset: Dataset{Name: "x", Element: 1 << d.IntN(4), Threads: 2}}
	total, chunkBytes := w.Element, w.Element
	for range 1 + d.IntN(4) {
		shape := 1 + d.Int64N(7)
		w.Shape, w.Chunk = append(w.Shape, shape), append(w.Chunk, 1+d.Int64N(shape+d.Int64N(2)))
		total, chunkBytes = total*shape, chunkBytes*w.Chunk[len(w.Chunk)-1]
	}
	for range w.Element {
		w.Fill = append(w.Fill, byte(d.IntN(2)))
	}
	for _, id := range []int64{shuffle, deflate, fletcher32} {
		if d.IntN(2) == 0 {
			w.Filters = append(w.Filters, Filter{id, w.Element})
		}
	}
	w.values = bytes.Repeat(w.Fill, int(total/w.Element))
	file, begin := []byte("not at the beginning"), make([]int64, len(w.Shape))
	for more := true; more; more = next(begin, w.Shape, w.Chunk) {
		if d.IntN(8) == 0 {
			continue
		}
		chunk := make([]byte, chunkBytes)
		for i := range chunk {
			chunk[i] = byte(d.IntN(256))
		}
		place(w.values, chunk, begin, w.Dataset)
		skipped := uint32(0)
		for i, f := range w.Filters {
			if d.IntN(5) == 0 {
				skipped |= 1 << i
				continue
			}
			chunk = filtered(chunk, f)
		}
		for _, n := range append(append([]int64{}, begin...), int64(len(file)), int64(len(chunk)), int64(skipped)) {
			w.Index = binary.LittleEndian.AppendUint64(w.Index, uint64(n))
		}
		file = append(file, chunk...)
	}
	w.Path = filepath.Join(t.TempDir(), "a.h5")
	if err := os.WriteFile(w.Path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	opened, err := source.Open(w.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	w.Stamp = opened.Stamp()
	return w
}

// next goes to the next chunk, and reports whether there is one.
func next(begin, shape, chunk []int64) bool {
	for i := len(begin) - 1; i >= 0; i-- {
		if begin[i] += chunk[i]; begin[i] < shape[i] {
			return true
		}
		begin[i] = 0
	}
	return false
}

// place does what put does, one value after the other.
func place(into, chunk []byte, begin []int64, d Dataset) {
	index, one := make([]int64, len(begin)), make([]int64, len(begin))
	for i := range one {
		one[i] = 1
	}
	for more := true; more; more = next(index, d.Chunk, one) {
		to, from, within := int64(0), int64(0), true
		for i := range index {
			at := begin[i] + index[i]
			within = within && at < d.Shape[i]
			to, from = to*d.Shape[i]+at, from*d.Chunk[i]+index[i]
		}
		if within {
			copy(into[to*d.Element:(to+1)*d.Element], chunk[from*d.Element:])
		}
	}
}

func filtered(chunk []byte, f Filter) []byte {
	switch f.ID {
	case shuffle:
		made := make([]byte, 0, len(chunk))
		whole := len(chunk) / int(f.Width) * int(f.Width)
		for i := range int(f.Width) {
			for at := i; at < whole; at += int(f.Width) {
				made = append(made, chunk[at])
			}
		}
		return append(made, chunk[whole:]...)
	case deflate:
		var made bytes.Buffer
		w := zlib.NewWriter(&made)
		w.Write(chunk)
		w.Close()
		return made.Bytes()
	default:
		return binary.LittleEndian.AppendUint32(bytes.Clone(chunk), fletcher(chunk))
	}
}

// decoded is the array that Decode makes.
func decoded(t *testing.T, d Dataset, n int) ([]byte, error) {
	t.Helper()
	made, err := Decode(context.Background(), d)
	if err != nil {
		var e *errs.Error
		if !errors.As(err, &e) || errors.Is(err, errs.ErrInternal) {
			t.Fatalf("no error of the catalogue: %v", err)
		}
		return nil, err
	}
	defer unix.Close(made.FD)
	values := make([]byte, n)
	if got, err := unix.Pread(made.FD, values, 0); err != nil || got != n {
		t.Fatal(got, err)
	}
	return values, nil
}

func TestRandomDatasets(t *testing.T) {
	for seed := range uint64(500) {
		w := write(t, rand.New(rand.NewPCG(seed, 1)))
		got, err := decoded(t, w.Dataset, len(w.values))
		if err != nil {
			t.Fatalf("%d: %v", seed, err)
		}
		if !bytes.Equal(got, w.values) {
			t.Fatalf("%d: %v in chunks of %v, %v: other values", seed, w.Shape, w.Chunk, w.Filters)
		}
	}
}

// part is the description of some runs of rows, each of which begins with a chunk, and their values.
func part(d *rand.Rand, w written) (Dataset, []byte) {
	made, row := w.Dataset, int64(len(w.values))/w.Shape[0]
	entry, total := 8*(len(w.Shape)+3), int64(0)
	var values []byte
	made.Index, made.Rows = nil, []int64{}
	for first := int64(0); first < w.Shape[0]; first += w.Chunk[0] {
		if d.IntN(2) == 0 {
			continue
		}
		last := min(first+w.Chunk[0], w.Shape[0])
		values = append(values, w.values[first*row:last*row]...)
		for at := 0; at < len(w.Index); at += entry {
			if int64(binary.LittleEndian.Uint64(w.Index[at:])) == first {
				made.Index = binary.LittleEndian.AppendUint64(made.Index, uint64(total))
				made.Index = append(made.Index, w.Index[at+8:at+entry]...)
				made.Rows = append(made.Rows, first)
			}
		}
		total += last - first
	}
	made.Shape = append([]int64{total}, w.Shape[1:]...)
	made.Into = bytes.Repeat([]byte{0xa5}, len(values)+1)
	return made, values
}

func TestPartsIntoMemory(t *testing.T) {
	for seed := range uint64(500) {
		d := rand.New(rand.NewPCG(seed, 4))
		made, values := part(d, write(t, d))
		if _, err := Decode(context.Background(), made); err != nil {
			t.Fatalf("%d: %v", seed, err)
		}
		if !bytes.Equal(made.Into, append(values, 0xa5)) {
			t.Fatalf("%d: %v in chunks of %v, %v: other values", seed, made.Shape, made.Chunk, made.Filters)
		}
	}
}

func TestDamageInAPartNamesTheRowOfTheFile(t *testing.T) {
	w := write(t, rand.New(rand.NewPCG(5, 3)))
	w.Rows = make([]int64, len(w.Index)/8/(len(w.Shape)+3))
	for i := range w.Rows {
		w.Rows[i] = 4321
	}
	binary.LittleEndian.PutUint64(w.Index[8*len(w.Shape):], 1<<40)
	if _, err := Decode(context.Background(), w.Dataset); err == nil || !strings.Contains(err.Error(), "chunk [4321") {
		t.Error(err)
	}
}

// Whatever the index says is an error, or the values of some bytes of the file.
func TestLyingIndex(t *testing.T) {
	for seed := range uint64(2000) {
		d := rand.New(rand.NewPCG(seed, 2))
		w := write(t, d)
		for range 1 + d.IntN(2) {
			if len(w.Index) > 0 {
				lie := []uint64{0, 1, 5, 1 << 20, 1 << 40, 1 << 63, 1<<64 - 1, d.Uint64()}[d.IntN(8)]
				binary.LittleEndian.PutUint64(w.Index[d.IntN(len(w.Index)/8)*8:], lie)
			}
		}
		_, _ = decoded(t, w.Dataset, len(w.values))
	}
}

func TestDamagedDescription(t *testing.T) {
	good := write(t, rand.New(rand.NewPCG(5, 3)))
	for what, change := range map[string]func(d *Dataset){
		"dimensions":                func(d *Dataset) { d.Chunk = d.Chunk[1:] },
		"0 dimensions":              func(d *Dataset) { d.Shape, d.Chunk = nil, nil },
		"values of 0 bytes":         func(d *Dataset) { d.Element = 0 },
		"values of -1 bytes":        func(d *Dataset) { d.Element = -1 },
		"in chunks of":              func(d *Dataset) { d.Chunk[0] = 0 },
		"more than HDF5 allows":     func(d *Dataset) { d.Chunk[0] = 1 << 62 },
		"is too large":              func(d *Dataset) { d.Shape[0] = 1 << 62 },
		"the limit is 10":           func(d *Dataset) { d.Limits.Memory = 10 },
		"limit \"memory\"":          func(d *Dataset) { d.Limits.Memory = -10 },
		"an index of":               func(d *Dataset) { d.Index = append(d.Index, 0) },
		"an index of ":              func(d *Dataset) { d.Rows = make([]int64, 999) },
		"and there are 1 bytes for": func(d *Dataset) { d.Into = make([]byte, 1) },
		"where there is room":       func(d *Dataset) { d.Index = bytes.Repeat(d.Index, 300) },
		"compressed twice":          func(d *Dataset) { d.Filters = []Filter{{deflate, 0}, {lzf, 0}} },
		"several checksums":         func(d *Dataset) { d.Filters = []Filter{{fletcher32, 0}, {fletcher32, 0}} },
		"bytes were shuffled":       func(d *Dataset) { d.Filters = []Filter{{shuffle, 0}} },
		"the filter number 4":       func(d *Dataset) { d.Filters = []Filter{{4, 0}} },
		"40 filters":                func(d *Dataset) { d.Filters = make([]Filter, 40) },
		"changed since h5py":        func(d *Dataset) { d.Stamp.MtimeNs++ },
		"cannot open the file":      func(d *Dataset) { d.Path += "none" },
	} {
		d := good.Dataset
		d.Shape, d.Chunk, d.Index = append([]int64{}, d.Shape...), append([]int64{}, d.Chunk...), bytes.Clone(d.Index)
		change(&d)
		if _, err := decoded(t, d, 0); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A width is the file's, and may be anything: what is no whole value stays where it is.
func TestShuffledByMoreThanThereIs(t *testing.T) {
	w := written{Dataset: Dataset{Name: "x", Element: 8, Shape: []int64{3}, Chunk: []int64{3}, Fill: make([]byte, 8)}}
	w.Path = filepath.Join(t.TempDir(), "a.h5")
	if err := os.WriteFile(w.Path, []byte("what stays where it is!!"), 0o600); err != nil {
		t.Fatal(err)
	}
	opened, _ := source.Open(w.Path)
	w.Stamp = opened.Stamp()
	opened.Close()
	w.Filters, w.Index = []Filter{{shuffle, 1 << 50}}, binary.LittleEndian.AppendUint64(make([]byte, 16), 24)
	w.Index = append(w.Index, make([]byte, 8)...)
	if got, err := decoded(t, w.Dataset, 24); string(got) != "what stays where it is!!" {
		t.Errorf("%q %v", got, err)
	}
}

func TestCanceled(t *testing.T) {
	w := write(t, rand.New(rand.NewPCG(5, 3)))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Decode(ctx, w.Dataset); !errors.Is(err, errs.ErrCanceled) {
		t.Error(err)
	}
}

// FuzzChunk gives a chunk's bytes to all chains of filters.
func FuzzChunk(f *testing.F) {
	f.Add([]byte("\x00a\x01bc\x20\x00"), uint8(1), uint8(4))
	f.Add(filtered(filtered(make([]byte, 64), Filter{deflate, 0}), Filter{fletcher32, 0}), uint8(13), uint8(3))
	f.Fuzz(func(t *testing.T, content []byte, chain, width uint8) {
		if len(content) == 0 {
			return
		}
		d := Dataset{Name: "x", Shape: []int64{64}, Chunk: []int64{64}, Element: 1, Fill: []byte{0}}
		for i, id := range []int64{lzf, deflate, fletcher32, shuffle} {
			if chain&(1<<i) != 0 {
				d.Filters = append(d.Filters, Filter{id, int64(width)})
			}
		}
		d.Path = filepath.Join(t.TempDir(), "a")
		if err := os.WriteFile(d.Path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		opened, err := source.Open(d.Path)
		if err != nil {
			t.Fatal(err)
		}
		d.Stamp = opened.Stamp()
		opened.Close()
		for _, n := range []int64{0, 0, int64(len(content)), 0} {
			d.Index = binary.LittleEndian.AppendUint64(d.Index, uint64(n))
		}
		_, _ = decoded(t, d, 64)
	})
}
