package gofast

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	images "github.com/gofast-org/gofast/gofast/image"
	"github.com/gofast-org/gofast/gofast/numbers"
	"github.com/gofast-org/gofast/gofast/source"
)

// far stands for an object on another machine: each request takes a while, or fails.
type far struct {
	source.Object
	takes atomic.Int64 // a time.Duration: a request of an iteration that was given up may still begin
	fails error
	count atomic.Int64
}

func slow(object source.Object, takes time.Duration) *far {
	f := &far{Object: object}
	f.takes.Store(int64(takes))
	return f
}

func (f *far) ReadAt(ctx context.Context, p []byte, offset int64) (int, error) {
	f.count.Add(1)
	select {
	case <-time.After(time.Duration(f.takes.Load())):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if f.fails != nil {
		return 0, f.fails
	}
	return f.Object.ReadAt(ctx, p, offset)
}

// packed is a folder of pictures, and its files in an uncompressed tar, whose members are the extents.
func packed(t *testing.T, pictures int, seed uint64) (f *Dataset, path string, extents []source.Extent) {
	t.Helper()
	f = openFolder(t, pictureFolder(t, pictures), trainPlan, FolderOptions{Seed: seed})
	var all bytes.Buffer
	w := tar.NewWriter(&all)
	for i := range f.Len() {
		p := f.Path(i)
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WriteHeader(&tar.Header{Name: filepath.Base(p), Size: int64(len(data)), Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		extents = append(extents, source.Extent{Offset: int64(all.Len()), Length: int64(len(data))})
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "all.tar")
	if err := os.WriteFile(path, all.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return f, path, extents
}

// objectsOf opens a tar as several kinds of objects, the extracted files' labels with them.
func objectsOf(t *testing.T, kind, path string, extents []source.Extent, options ObjectOptions) *Dataset {
	t.Helper()
	var object source.Object
	local, err := source.OpenLocal(path)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	switch object = local; kind {
	case "memory":
		object = &source.Bytes{Name: "all.tar", Data: data}
	case "far":
		object = slow(local, time.Millisecond)
	}
	d, err := OpenObjects([]source.Object{object}, extents, trainPlan, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func TestObjectsMakeTheBatchesOfTheirFiles(t *testing.T) {
	f, path, extents := packed(t, 30, 7)
	e := engineOf(t, 2)
	options := ObjectOptions{Seed: 7}
	for i := range f.Len() {
		options.Labels = append(options.Labels, int32(filepath.Base(filepath.Dir(f.Path(i)))[5]-'0'))
	}
	want, labels := epoch(t, e, f, 8)
	for _, kind := range []string{"local", "memory", "far"} {
		for _, options.FetchOptions = range []source.FetchOptions{{}, {Requests: 2}, {Budget: 200_000}} {
			d := objectsOf(t, kind, path, extents, options)
			for range 2 {
				if got, gotLabels := epoch(t, e, d, 8); !same(got, want) || !same(gotLabels, labels) {
					t.Errorf("%s, %v: other batches", kind, options.FetchOptions)
				}
			}
		}
	}
	// The calling thread makes them too, from the file itself.
	d := objectsOf(t, "local", path, extents, options)
	plain, err := OpenObjects(d.objects.all, extents, images.Plan{Steps: []images.Step{{"op": "resize", "size": []int{9, 9}, "filter": "bilinear"}, {"op": "to_uint8"}},
		Output: images.Output{DType: numbers.Uint8, Height: 9, Width: 9, Channels: 3}}, ObjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	order := Sequential(plain.Len())
	var made []byte
	for b, err := range e.Batches(context.Background(), plain, order, 30) {
		if err != nil {
			t.Fatal(err)
		}
		made = slices.Clone(b.Features)
	}
	alone := make([]byte, len(made))
	memory, at, err := mapped(alone)
	if err != nil {
		t.Fatal(err)
	}
	if bad := plain.view.Fill(order, 0, len(order), at[0], 0); bad != -1 || !bytes.Equal(memory[:len(made)], made) {
		t.Errorf("in the calling thread: %d", bad)
	}
}

// A picture that does not come is an error of its batch, with the object and the offset,
// and OnError may let it pass.
func TestObjectsThatFail(t *testing.T) {
	f, path, extents := packed(t, 8, 0)
	e := engineOf(t, 2)
	good, _ := epoch(t, e, f, 8)
	local, err := source.OpenLocal(path)
	if err != nil {
		t.Fatal(err)
	}
	extents[5].Object = 1
	unavailable := errors.New("503")
	broken := &far{Object: local, fails: unavailable}
	d, err := OpenObjects([]source.Object{&far{Object: local}, broken}, extents, trainPlan, ObjectOptions{Labels: make([]int32, 8)})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, err := range e.Batches(context.Background(), d, Sequential(8), 8) {
		var known *Error
		if !errors.Is(err, ErrRead) || !errors.Is(err, unavailable) || !errors.As(err, &known) ||
			known.Path != path || known.Offset != extents[5].Offset || known.Index != 5 {
			t.Errorf("%v", err)
		}
	}
	d.OnError = func(err error) error {
		if !errors.Is(err, unavailable) {
			t.Errorf("%v", err)
		}
		return nil
	}
	values, _ := epoch(t, e, d, 8)
	size := len(values) / 8
	for i, index := range Shuffled(8, 1, 1) {
		if want := good[i*size:][:size]; index != 5 && !same(values[i*size:][:size], want) {
			t.Errorf("picture %d has other values", index)
		}
	}
	broken.fails = nil // the next epoch asks again
	if values, _ = epoch(t, e, d, 8); !same(values, good) {
		t.Error("other values once it is there")
	}
}

// An iteration that is left, or whose context ends, gives everything back.
func TestObjectsAreLetGo(t *testing.T) {
	e := engineOf(t, 2)
	f, path, extents := packed(t, 30, 0)
	d := objectsOf(t, "far", path, extents, ObjectOptions{})
	for range e.Batches(context.Background(), d, Sequential(30), 4) {
		for _, err := range e.Batches(context.Background(), d, Sequential(30), 4) {
			if !errors.Is(err, ErrConfig) {
				t.Errorf("a second iteration at the same time: %v", err)
			}
		}
		break
	}
	d.objects.all[0].(*far).takes.Store(int64(time.Hour))
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	for _, err := range e.Batches(ctx, d, Sequential(30), 4) {
		if !errors.Is(err, ErrCanceled) {
			t.Errorf("after the context's end: %v", err)
		}
	}
	if _, err := (Loader{Engine: e, Dataset: d, BatchRows: 4}).To(nil); !errors.Is(err, ErrUnsupported) {
		t.Errorf("to a device: %v", err)
	}
	d.objects.all[0].(*far).takes.Store(0)
	for _, pictures := range []*Dataset{d, f} { // batches in flight come first, then the error of the one behind them
		rows := 0
		var last error
		for b, err := range e.Batches(context.Background(), pictures, []int64{3, 4, 5, 30, 6}, 1) {
			rows, last = rows+b.Rows, err
		}
		if rows != 3 || !errors.Is(last, ErrIndex) {
			t.Errorf("%d rows, then %v", rows, last)
		}
	}
	for _, bad := range [][]source.Extent{{{Offset: 1 << 40, Length: 1}}, {{Object: 1}}} {
		if _, err := OpenObjects(d.objects.all, bad, trainPlan, ObjectOptions{}); !errors.Is(err, ErrConfig) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// A tar that is written again is noticed by the read of each of its members.
func TestChangedObjects(t *testing.T) {
	e := engineOf(t, 1)
	_, path, extents := packed(t, 2, 0)
	for _, kind := range []string{"local", "far"} {
		d := objectsOf(t, kind, path, extents, ObjectOptions{})
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(file, "more")
		if err := errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
		for _, err := range e.Batches(context.Background(), d, Sequential(2), 2) {
			if !errors.Is(err, ErrChanged) {
				t.Errorf("%s: %v", kind, err)
			}
		}
	}
}
