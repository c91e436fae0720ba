package tabletest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
)

// Open opens a file of the format that a test is for.
type Open func(*source.File, table.Options) (table.Reader, error)

// Memory is the limit that Try opens files with.
const Memory = 32 << 20

// Try opens content under small limits and decodes every column, each on its
// own, text as a label, and every column under each coding. It returns an error for
// anything but a typed failure or a table of the declared shape.
func Try(tb testing.TB, open Open, content []byte) error {
	f := File(tb, content)
	defer f.Close()
	budget := limits.NewBudget(Memory)
	opts := table.Options{Threads: 1, Budget: budget, Limits: limits.Limits{Memory: Memory, Page: 4 << 20, Columns: 1000}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	verdict := func(err error) error {
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 8*Memory {
			return fmt.Errorf("allocated %d bytes", n)
		}
		var typed *errs.Error
		switch {
		case err == nil || errors.Is(err, ErrTooLarge):
			return nil
		case !errors.As(err, &typed):
			return fmt.Errorf("an error without a type: %w", err)
		case errors.Is(err, errs.ErrInternal):
			return fmt.Errorf("%w\n%s", err, typed.Debug)
		case typed.Path == "" && !errors.Is(err, errs.ErrLimit) && !errors.Is(err, errs.ErrValue):
			return fmt.Errorf("an error without a path: %w", err)
		}
		return nil
	}
	r, err := open(f, opts)
	if err != nil {
		return verdict(err)
	}
	for i, c := range r.Columns() {
		sel := table.Selection{Features: []int{i}}
		if c.Text {
			sel = table.Selection{Labels: []int{i}}
		}
		d, err := Decode(context.Background(), r, sel, nil, Memory)
		if err := verdict(err); err != nil {
			return fmt.Errorf("column %d: %w", i, err)
		}
		if err == nil && c.Text {
			words, place := d.Dict[0].Sorted()
			for _, id := range table.View[int64](d.Labels) {
				if id < 0 || id >= int64(len(words)) || place[id] >= int64(len(words)) {
					return fmt.Errorf("label number %d of %d", id, len(words))
				}
			}
		}
	}
	for i, c := range r.Columns() {
		finder, ok := r.(table.Finder)
		if !ok {
			break
		}
		size := int64(len(content))
		err := finder.Find(context.Background(), c.Name, func(e *source.Extent) error {
			if e != nil && (e.Offset < 0 || e.Length < 0 || e.Offset > size || e.Packed == 0 && e.Length > size-e.Offset) {
				return fmt.Errorf("%d bytes at %d of %d", e.Length, e.Offset, size)
			}
			return nil
		})
		if err := verdict(err); err != nil {
			return fmt.Errorf("places in column %d: %w", i, err)
		}
	}
	zero := 0.0
	for i := range r.Columns() {
		for _, coding := range []table.Coding{{Unit: table.Nanosecond}, {Unit: table.Day}, {Categories: table.NewCategories([]string{"red", "cat"}, nil, nil)}} {
			if r.(table.Coder).CheckCoding(i, coding) != nil {
				continue
			}
			sel := table.Selection{Features: []int{i}, Fill: &zero, Codings: map[int]table.Coding{i: coding}}
			_, err := Decode(context.Background(), r, sel, nil, Memory)
			if err := verdict(err); err != nil {
				return fmt.Errorf("column %d as %v: %w", i, coding, err)
			}
		}
	}
	// What a reader takes of the budget it gives back: the footer at Close.
	if err := r.Close(); err != nil {
		return err
	}
	if err := budget.Reserve(Memory, "everything"); err != nil {
		return fmt.Errorf("memory was not given back: %w", err)
	}
	return nil
}

var flips = []func(b byte) byte{
	func(b byte) byte { return b ^ 0xff }, func(b byte) byte { return b ^ 1 }, func(b byte) byte { return b ^ 0x80 },
	func(byte) byte { return 0 }, func(b byte) byte { return b + 1 },
}

// Flip changes every byte of valid files, in one of five ways by turns (in each of them with GOFAST_SOAK=1), and cuts them
// at every length.
func Flip(t *testing.T, open Open, files map[string][]byte) {
	for name, content := range files {
		t.Run(name, func(t *testing.T) { flip(t, open, name, content) })
	}
}

func flip(t *testing.T, open Open, name string, content []byte) {
	if err := Try(t, open, content); err != nil {
		t.Fatalf("%s: the valid file: %v", name, err)
	}
	damaged := make([]byte, len(content))
	soak := os.Getenv("GOFAST_SOAK") != ""
	step := 1
	if testing.Short() {
		step = 17
	}
	for i := 0; i < len(content); i += step {
		for k, change := range flips {
			if !soak && k != i%len(flips) {
				continue
			}
			copy(damaged, content)
			damaged[i] = change(content[i])
			if err := Try(t, open, damaged); err != nil {
				t.Fatalf("%s, byte %d of %d from %#x to %#x: %v", name, i, len(content), content[i], damaged[i], err)
			}
		}
		if err := Try(t, open, content[:i]); err != nil {
			t.Fatalf("%s cut to %d bytes: %v", name, i, err)
		}
	}
}

// Fuzz reads whole damaged files, beginning with these.
func Fuzz(f *testing.F, open Open, files map[string][]byte) {
	for _, content := range files {
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := Try(t, open, content); err != nil {
			t.Fatal(err)
		}
	})
}
