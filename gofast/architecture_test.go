package gofast_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/gofast-org/gofast/"

// rooms are the packages below gofast, each with the rooms that it may import
// beside internal; a room's own folders are another matter.
var rooms = map[string][]string{
	"source":  {},
	"numbers": {},
	"engine":  {"numbers"},
	"table":   {"source", "numbers", "engine"},
	"image":   {"source", "numbers", "engine"},
	"device":  {"numbers", "engine"},
	"inspect": {"source", "engine", "table", "image"},
	"border":  {},

	"kerneltest": {"numbers", "engine", "table", "image"},
}

type goPackage struct {
	Dir, ImportPath                       string
	Imports, CgoFiles, CFiles, EmbedFiles []string
}

// listPackages asks the go command, so that cgo files and build tags count as they do in a build.
func listPackages(t *testing.T, pattern string) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=Dir,ImportPath,Imports,CgoFiles,CFiles,EmbedFiles", pattern).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %s", exit.Stderr)
		}
		t.Fatal(err)
	}
	var packages []goPackage
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := decoder.Decode(&p); err == io.EOF {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// wrongArrow says why a package must not import another; empty when it may.
func wrongArrow(from, to string) string {
	to, ours := strings.CutPrefix(to, module)
	if !ours {
		return ""
	}
	from, inCore := strings.CutPrefix(strings.TrimPrefix(from, module), "gofast/")
	to, toCore := strings.CutPrefix(to, "gofast/")
	switch {
	case !inCore: // the root package wires the stages
		if strings.HasPrefix(to, "pybind") {
			return "the core knows no Python"
		}
		return ""
	case !toCore:
		return "the core's packages import neither the root package nor what stands outside of it"
	case strings.HasPrefix(to, "internal/"):
		return ""
	case strings.HasPrefix(from, "internal/"):
		return "a package under internal is a leaf"
	}
	fromRoom, _, _ := strings.Cut(from, "/")
	toRoom, _, _ := strings.Cut(to, "/")
	allowed, known := rooms[fromRoom]
	switch {
	case !known || rooms[toRoom] == nil:
		return "a room is missing in rooms"
	case from == "table/arrow" && to == "table/parquet": // whose decoder it uses
		return ""
	case fromRoom == toRoom && fromRoom == "table" && strings.Count(to, "/") == 1 && isFormat(from) && isFormat(to):
		return "formats do not know each other"
	case fromRoom != toRoom && !slices.Contains(allowed, toRoom):
		return fmt.Sprintf("%s knows only %v", fromRoom, allowed)
	}
	return ""
}

// isFormat says that a package reads one format of files.
func isFormat(name string) bool {
	return slices.Contains([]string{"table/csv", "table/npy", "table/parquet", "table/arrow"}, name)
}

func TestImportsPointLeft(t *testing.T) {
	packages := listPackages(t, "./...")
	if len(packages) < len(rooms) {
		t.Fatalf("go list found only %d packages", len(packages))
	}
	for _, p := range packages {
		for _, imported := range p.Imports {
			if why := wrongArrow(p.ImportPath, imported); why != "" {
				t.Errorf("%s imports %s: %s", p.ImportPath, imported, why)
			}
		}
	}
}

// Go's barrier looks at what a pointer is written over: in memory of malloc that may be an address of Go's which ended long
// ago, and then the collector stops the process. calloc's is zero.
func TestMemoryOfCIsZero(t *testing.T) {
	for _, p := range append(listPackages(t, "./..."), listPackages(t, "../pybind/...")...) {
		for _, name := range p.CgoFiles {
			if text, err := os.ReadFile(filepath.Join(p.Dir, name)); err != nil || bytes.Contains(text, []byte("C.malloc(")) {
				t.Errorf("%s/%s calls malloc, not calloc: %v", p.ImportPath, name, err)
			}
		}
	}
}

// Without cgo there is one error, and it says what is missing.
func TestWithoutCgo(t *testing.T) {
	without := func(args ...string) (string, error) {
		c := exec.Command("go", args...)
		c.Env = append(c.Environ(), "CGO_ENABLED=0")
		out, err := c.CombinedOutput()
		return string(out), err
	}
	if out, err := without("list", "-deps", "."); err != nil {
		t.Errorf("a package has no file without cgo: %s", out)
	}
	if out, err := without("build", "./internal/errs"); err == nil || !strings.Contains(out, "install_gcc_and_set_CGO_ENABLED") {
		t.Errorf("%v: %s", err, out)
	}
}
