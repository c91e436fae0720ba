package source

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// Bytes that were replaced in place by as many, with the old time of modification, are other bytes.
func TestStampsTellARewriteThatHidesItself(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.CheckUnchanged(); err != nil {
		t.Fatal(err)
	}
	was, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	// A file system's clock may stand still for milliseconds.
	for end := time.Now().Add(5 * time.Second); f.CheckUnchanged() == nil && time.Now().Before(end); {
		if err := os.WriteFile(path, []byte("behind"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, was.ModTime(), was.ModTime()); err != nil {
			t.Fatal(err)
		}
	}
	if now, err := os.Stat(path); err != nil || !now.ModTime().Equal(was.ModTime()) || now.Size() != was.Size() {
		t.Fatalf("the rewrite shows in %v: %v", now, err)
	}
	if err := f.CheckUnchanged(); !errors.Is(err, errs.ErrChanged) {
		t.Errorf("want ErrChanged, got %v", err)
	}
}
