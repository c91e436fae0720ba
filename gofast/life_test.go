package gofast

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast/device"
	"github.com/gofast-org/gofast/gofast/image"
	"github.com/gofast-org/gofast/gofast/table/gather"
)

// last is what an iteration ends with, and the number of its batches before that.
func last(l Loader, ctx context.Context, order []int64, each func(n int)) (batches int, err error) {
	for _, err = range l.Batches(ctx, order) {
		if err == nil {
			batches++
			each(batches)
		}
	}
	return batches, err
}

// Also where every batch is ready before it is asked for, so that nothing waits.
func TestContextEndsBatches(t *testing.T) {
	loader := Loader{engineOf(t, 2), digits(t, 300), 10}
	for _, after := range []int{0, 1, 7} {
		ctx, cancel := context.WithCancel(t.Context())
		if after == 0 {
			cancel()
		}
		n, err := last(loader, ctx, Sequential(300), func(n int) {
			if n == after {
				cancel()
			}
		})
		if n != after || !errors.Is(err, context.Canceled) || !errors.Is(err, ErrCanceled) {
			t.Errorf("cancelled after %d: %d batches, %v", after, n, err)
		}
		cancel()
	}
}

// What was closed, or never opened, gives an error, and no panic.
func TestWhatIsNotOpen(t *testing.T) {
	table, e := digits(t, 30), engineOf(t, 1)
	closed, closedEngine := digits(t, 30), NewEngine(1)
	closed.Close()
	closed.Close()
	closedEngine.Close()
	for name, c := range map[string]struct {
		Loader
		want error
	}{
		"a closed dataset": {Loader{e, closed, 10}, ErrClosed},
		"a zero dataset":   {Loader{e, &Dataset{}, 10}, ErrClosed},
		"no dataset":       {Loader{e, nil, 10}, ErrClosed},
		"a zero engine":    {Loader{&Engine{}, table, 10}, ErrConfig},
		"no engine":        {Loader{nil, table, 10}, ErrConfig},
		"no rows":          {Loader{e, table, 0}, ErrConfig},
	} {
		if n, err := last(c.Loader, t.Context(), Sequential(30), func(int) {}); n > 0 || !errors.Is(err, c.want) {
			t.Errorf("%s: %d batches, %v", name, n, err)
		}
		if _, err := c.To(nil); !errors.Is(err, c.want) {
			t.Errorf("%s, to a device: %v", name, err)
		}
		d := c.Dataset
		if d == nil || d == table {
			continue
		}
		if d.SetEpoch(1); d.Len() != 0 || d.Path(0) != "" {
			t.Errorf("%s has %d samples, the first of them %q", name, d.Len(), d.Path(0))
		}
		if _, err := d.UpTo(image.Read); !errors.Is(err, c.want) {
			t.Errorf("a stage of %s: %v", name, err)
		}
	}
	if _, err := (Loader{e, table, 10}).To(nil); !errors.Is(err, ErrConfig) || table.users != 0 {
		t.Errorf("to no device: %v, %d hold the table", err, table.users)
	}
	for _, e := range []*Engine{nil, {}} {
		if e.Close(); e.ThreadCount() != 0 || e.Stats().Rows != 0 {
			t.Error("an engine that was never made has threads")
		}
	}
	if n, err := last(Loader{closedEngine, table, 10}, t.Context(), Sequential(30), func(int) {}); n > 0 || !errors.Is(err, ErrClosed) {
		t.Errorf("a closed engine: %d batches, %v", n, err)
	}
	(*Dataset)(nil).Close()
	for _, l := range []*DeviceLoader{nil, {}} {
		l.Close()
		for _, err := range l.Batches(t.Context(), Sequential(1)) {
			if !errors.Is(err, ErrClosed) {
				t.Errorf("a zero loader: %v", err)
			}
		}
	}
	if len(Sequential(-1))+len(Shuffled(-1, 0, 0)) != 0 {
		t.Error("an order of less than nothing")
	}
}

// An iteration, and a stage, hold the dataset: Close in the middle takes nothing from under them.
func TestIterationsHoldTheirDataset(t *testing.T) {
	d := digits(t, 100)
	rows := int64(0)
	for b, err := range engineOf(t, 2).Batches(t.Context(), d, Sequential(100), 10) {
		if err != nil {
			t.Fatal(err)
		}
		if rows == 20 {
			d.Close()
			if d.Len() != 0 || d.unmap == nil {
				t.Error("closed, and still in use")
			}
		}
		check(t, b, Sequential(100)[rows:rows+10])
		rows += 10
	}
	if rows != 100 || d.unmap != nil {
		t.Errorf("%d rows; released: %v", rows, d.unmap == nil)
	}
	files := openFolder(t, pictureFolder(t, 2), valPlan, FolderOptions{})
	stage, err := files.UpTo(image.Read)
	if err != nil {
		t.Fatal(err)
	}
	files.Close()
	if _, err := (Loader{engineOf(t, 1), stage, 1}).To(&device.Device{}); !errors.Is(err, ErrUnsupported) || stage.users != 0 {
		t.Errorf("a stage to a device: %v, %d hold it", err, stage.users)
	}
	if n, err := last(Loader{engineOf(t, 1), stage, 1}, t.Context(), Sequential(2), func(int) {}); n != 2 || err != nil {
		t.Errorf("%d batches of a stage whose dataset was closed, %v", n, err)
	}
	if stage.Close(); files.unmap != nil {
		t.Error("the stage was closed, and its dataset not released")
	}
}

// Python counts an index below 0 from the end. Go does not: it is out of range.
func TestIndicesBelowZero(t *testing.T) {
	for name, d := range map[string]*Dataset{"table": digits(t, 100), "pictures": openFolder(t, pictureFolder(t, 2), valPlan, FolderOptions{})} {
		n, err := last(Loader{engineOf(t, 2), d, 1}, t.Context(), []int64{0, -1}, func(int) {})
		var bad *Error
		if n != 1 || !errors.Is(err, ErrIndex) || !errors.As(err, &bad) || bad.Index != -1 {
			t.Errorf("%s: %d batches, %v", name, n, err)
		}
		if d.Path(-1) != "" {
			t.Errorf("%s: index -1 is %q", name, d.Path(-1))
		}
	}
}

// A context that has ended ends every call, be the work ever so small.
func TestEndedContexts(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	root := pictureFolder(t, 2)
	csv := filepath.Join(root, "t.csv")
	if err := os.WriteFile(csv, []byte("x,y\n1,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	csvs, pictures := []string{csv}, filepath.Join(root, "class0", "100.png")
	for name, call := range map[string]func() error{
		"OpenTable":    func() error { _, err := OpenTable(ctx, csvs, TableOptions{}, gather.Transform{}); return err },
		"ConvertTable": func() error { return ConvertTable(ctx, csvs, TableOptions{}, filepath.Join(root, "t.npy")) },
		"ReadTable": func() error {
			_, err := ReadTable(ctx, strings.NewReader("x\n1\n"), TableOptions{}, gather.Transform{})
			return err
		},
		"OpenFolder": func() error { _, err := OpenFolder(ctx, root, valPlan, FolderOptions{}); return err },
		"OpenFiles":  func() error { _, err := OpenFiles(ctx, []string{pictures}, valPlan, FolderOptions{}); return err },
	} {
		if err := call(); !errors.Is(err, context.Canceled) || !errors.Is(err, ErrCanceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
