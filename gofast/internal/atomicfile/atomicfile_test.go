package atomicfile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

var ctx = context.Background()

func begin(t *testing.T, path string) *File {
	t.Helper()
	f, err := Begin(ctx, "test", path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func files(t *testing.T, path string) int {
	t.Helper()
	found, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

func TestCommitAndRelease(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f := begin(t, path)
	if _, err := f.Part.WriteString("dropped"); err != nil || !f.Open() {
		t.Fatal(err)
	}
	f.Release()
	f.Release()
	if n := files(t, path); n != 0 {
		t.Errorf("%d files after a release", n)
	}
	for _, content := range []string{"first", "second"} {
		f = begin(t, path)
		if _, err := f.Part.WriteString(content); err != nil {
			t.Fatal(err)
		}
		if err := f.Commit(); err != nil || f.Open() {
			t.Fatal(err)
		}
		f.Release()
		if got, err := os.ReadFile(path); string(got) != content || err != nil || files(t, path) != 1 {
			t.Errorf("%q %v", got, err)
		}
	}
}

func TestLeftOverIsTakenOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path+".part", []byte("of a dead process"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := begin(t, path)
	defer f.Release()
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if _, err := Begin(short, "test", path); !errors.Is(err, errs.ErrCanceled) {
		t.Errorf("a second writer: %v", err)
	}
}

// TestOneAtATime counts in a file that writers replace in turn.
func TestOneAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	var group sync.WaitGroup
	const writers = 30
	for i := range writers {
		group.Go(func() {
			f, err := Begin(ctx, "test", path)
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Release()
			old, _ := os.ReadFile(path)
			if err := f.Part.Truncate(0); err != nil {
				t.Error(err)
			}
			if _, err := f.Part.WriteAt(append(old, byte(i)), 0); err != nil {
				t.Error(err)
			}
			if i%5 == 0 {
				return // gives up
			}
			if err := f.Commit(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got, err := os.ReadFile(path); len(got) != writers-writers/5 || err != nil {
		t.Errorf("%d writers, %v", len(got), err)
	}
}

func TestErrors(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "f")
	if _, err := Begin(ctx, "test", filepath.Join(path, "g")); !errors.Is(err, errs.ErrRead) {
		t.Errorf("no folder: %v", err)
	}
	if err := os.Symlink("/etc/passwd", path+".part"); err != nil {
		t.Fatal(err)
	}
	if _, err := Begin(ctx, "test", path); !errors.Is(err, errs.ErrRead) {
		t.Errorf("a link: %v", err)
	}
	os.Remove(path + ".part")
	f := begin(t, path)
	defer f.Release()
	os.Remove(path + ".part")
	if err := f.Commit(); !errors.Is(err, errs.ErrRead) {
		t.Errorf("commit of a removed file: %v", err)
	}
}
