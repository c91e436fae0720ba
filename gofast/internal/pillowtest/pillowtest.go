// Package pillowtest lets tests decode with the C libraries of Pillow's wheel.
package pillowtest

import (
	"os"
	"path/filepath"
	"testing"
)

// Library makes a decoder load the library of the Pillow in this checkout's .venv, found
// by a glob such as "libjpeg-*.so*", or else the system's. If there is neither, the test
// is skipped. In CI it fails instead, since nobody would see the skip.
// GOFAST_TEST_PILLOW names another wheel's folder pillow.libs, such as that of another processor.
func Library(t testing.TB, glob string, load func(path string) error) {
	t.Helper()
	path, folder := "", os.Getenv("GOFAST_TEST_PILLOW")
	if folder == "" {
		folder = filepath.Join(checkout(t), ".venv/lib/python*/site-packages/pillow.libs")
	}
	if found, err := filepath.Glob(filepath.Join(folder, glob)); err != nil {
		t.Fatal(err)
	} else if len(found) > 0 {
		path = found[0]
	}
	err := load(path)
	switch {
	case err == nil:
	case os.Getenv("CI") != "":
		t.Fatal(err)
	default:
		t.Skipf("%v; make setup brings it", err)
	}
}

// checkout is the folder with go.mod above the test's package.
func checkout(t testing.TB) string {
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			t.Fatal("there is no go.mod above the test's folder")
		}
		folder = parent
	}
}
