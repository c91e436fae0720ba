package gofast

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gofast-org/gofast/gofast/table/gather"
)

type readFunc func(p []byte) (int, error)

func (r readFunc) Read(p []byte) (int, error) { return r(p) }

func TestAFifoIsNoTable(t *testing.T) {
	root := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(root, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenTable(t.Context(), []string{"fifo"}, TableOptions{FS: os.DirFS(root)}, gather.Transform{}); !errors.Is(err, ErrRead) {
		t.Errorf("a table that is a fifo: %v", err)
	}
}

func TestReadersThatMisbehave(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	const text = "a,b\n1,2\n\n3,700\n"
	pictures := gather.Transform{Shape: []int{1, 1, 2}, Scale: gather.ScaleAuto} // 700 is no pixel
	rest := 2
	table := strings.NewReader(text)
	for name, c := range map[string]struct {
		r    io.Reader
		want error
	}{
		"nothing, for ever": {readFunc(func([]byte) (int, error) { return 0, nil }), io.ErrNoProgress},
		"more than asked":   {readFunc(func(p []byte) (int, error) { return len(p) + 1, nil }), ErrRead},
		"less than nothing": {readFunc(func([]byte) (int, error) { return -1, nil }), ErrRead},
		"a panic":           {readFunc(func([]byte) (int, error) { panic("a reader") }), ErrInternal},
		"the caller's end":  {readFunc(func(p []byte) (int, error) { cancel(); return len(p), nil }), ErrCanceled},
		"a value that is no pixel": {readFunc(func(p []byte) (int, error) {
			n, err := table.Read(p)
			if err == io.EOF {
				if rest--; rest == 0 {
					t.Error("it is read behind its end")
				}
			}
			return n, err
		}), ErrValue},
	} {
		use := t.Context()
		if name == "the caller's end" {
			use = ctx
		}
		if _, err := ReadTable(use, c.r, TableOptions{}, pictures); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}
