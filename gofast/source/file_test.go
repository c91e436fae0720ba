package source

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

func TestAFileThatRestedIsTheSame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(path, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(path))
	f, err := Open("a")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.Rest()
	t.Chdir("/") // the name was that of another folder's file
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 2000 {
				p := make([]byte, 3)
				if err := f.ReadFull(p, 4); err != nil || string(p) != "456" {
					t.Errorf("%q, %v", p, err)
					return
				}
				f.Rest()
			}
		})
	}
	readers.Wait()
	if err := f.CheckUnchanged(); err != nil {
		t.Error(err)
	}
	f.Rest()
	if err := os.WriteFile(path+"2", []byte("9876543210"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+"2", path); err != nil {
		t.Fatal(err)
	}
	if err := f.ReadFull(make([]byte, 3), 4); !errors.Is(err, errs.ErrChanged) {
		t.Errorf("another file: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := f.CheckUnchanged(); !errors.Is(err, errs.ErrChanged) {
		t.Errorf("no file: %v", err)
	}
}
