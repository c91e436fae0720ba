package gofast

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"github.com/gofast-org/gofast/gofast/table/gather"
)

func TestTablesInFileSystems(t *testing.T) {
	const text = "x,y\n1,2\n3,4\n"
	read := func(r io.Reader, o TableOptions) (*Dataset, error) {
		return ReadTable(t.Context(), r, o, gather.Transform{})
	}
	in := func(ctx context.Context, name string) (*Dataset, error) {
		return OpenTable(ctx, []string{"a.csv", name}, TableOptions{FS: fstest.MapFS{"a.csv": {Data: []byte(text)}, "bad.csv": {Data: []byte("x,y\n5,six\n")}, "f/x": {}}}, gather.Transform{})
	}
	for name, open := range map[string]func() (*Dataset, error){
		"a reader": func() (*Dataset, error) {
			return read(iotest.OneByteReader(strings.NewReader(text+text[4:])), TableOptions{})
		},
		"a file system": func() (*Dataset, error) { return in(t.Context(), "a.csv") },
	} {
		d, err := open()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for b, err := range engineOf(t, 1).Batches(t.Context(), d, Sequential(4), 4) {
			values, failed := b.Float32()
			if err := errors.Join(err, failed); err != nil || !slices.Equal(values, []float32{1, 2, 3, 4, 1, 2, 3, 4}) {
				t.Errorf("%s: %v, %v", name, values, err)
			}
		}
		d.Close()
	}
	over := TableOptions{}
	over.Limits.Memory = 10_000
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		open func() (*Dataset, error)
		want error
	}{
		"a reader that fails":   {func() (*Dataset, error) { return read(iotest.ErrReader(io.ErrClosedPipe), TableOptions{}) }, ErrRead},
		"no reader":             {func() (*Dataset, error) { return read(nil, TableOptions{}) }, ErrConfig},
		"its cause":             {func() (*Dataset, error) { return read(iotest.ErrReader(io.ErrClosedPipe), TableOptions{}) }, io.ErrClosedPipe},
		"a reader without end":  {func() (*Dataset, error) { return read(endless{}, over) }, ErrLimit},
		"nothing":               {func() (*Dataset, error) { return read(strings.NewReader(""), TableOptions{}) }, ErrFormat},
		"a file that is absent": {func() (*Dataset, error) { return in(t.Context(), "none.csv") }, ErrNotFound},
		"a folder":              {func() (*Dataset, error) { return in(t.Context(), "f") }, ErrRead},
		"text":                  {func() (*Dataset, error) { return in(t.Context(), "bad.csv") }, ErrSchema},
		"an ended context":      {func() (*Dataset, error) { return in(ended, "a.csv") }, context.Canceled},
	} {
		if _, err := c.open(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
