package gofast_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/gofast-org/gofast/"

// line is the order of the stages: each may import what stands to its left.
// cache and convert are stops beside the line: decode's result, kept in a file.
var line = []string{"source", "decode", "cache", "convert", "transform", "batch", "buffer", "device"}

type goPackage struct {
	Dir, ImportPath                       string
	Imports, CgoFiles, CFiles, EmbedFiles []string
}

// listPackages asks the go command, so that cgo files and build tags count as they do in a build.
func listPackages(t *testing.T, tags, pattern string) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=Dir,ImportPath,Imports,CgoFiles,CFiles,EmbedFiles", "-tags", tags, pattern).Output()
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
	fromStage, fromPart, _ := strings.Cut(from, "/")
	toStage, toPart, _ := strings.Cut(to, "/")
	fromRank, toRank := slices.Index(line, fromStage), slices.Index(line, toStage)
	switch {
	case fromRank < 0 || toRank < 0:
		return "a stage is missing in line"
	case toRank > fromRank:
		return "it points to the right"
	case fromStage == toStage && (fromPart == "" || toPart != ""):
		return "formats of one stage do not know each other, nor does the stage know them"
	}
	return ""
}

func TestImportsPointLeft(t *testing.T) {
	for _, tags := range []string{"", "purego"} {
		packages := listPackages(t, tags, "./...")
		if len(packages) < len(line) {
			t.Fatalf("go list found only %d packages", len(packages))
		}
		for _, p := range packages {
			for _, imported := range p.Imports {
				if why := wrongArrow(p.ImportPath, imported); why != "" {
					t.Errorf("%s imports %s (tags %q): %s", p.ImportPath, imported, tags, why)
				}
			}
		}
	}
}

func TestWrongArrowsAreSeen(t *testing.T) {
	for _, c := range []struct {
		from, to string
		wrong    bool
	}{
		{"gofast/decode/csv", "gofast/source", false},
		{"gofast/decode/csv", "gofast/decode", false},
		{"gofast/decode/csv", "gofast/internal/pool", false},
		{"gofast", "gofast/buffer", false},
		{"gofast/decode", "gofast/decode/csv", true},
		{"gofast/decode/csv", "gofast/decode/npy", true},
		{"gofast/source", "gofast/decode", true},
		{"gofast/batch", "gofast/buffer", true},
		{"gofast/buffer", "gofast", true},
		{"gofast/internal/pool", "gofast/source", true},
		{"gofast/transform", "pybind", true},
		{"gofast", "pybind/capsule", true},
		{"gofast/novel", "gofast/source", true},
	} {
		if why := wrongArrow(module+c.from, module+c.to); (why != "") != c.wrong {
			t.Errorf("%s -> %s: got %q, wrong should be %v", c.from, c.to, why, c.wrong)
		}
	}
}
