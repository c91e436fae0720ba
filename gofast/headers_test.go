package gofast_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// A package's C code may include a header of another package. The go command sees
// only those of the package itself, and would link objects that were made for two
// layouts of one struct. Two rules make every build and test notice, those by hand
// included: the package with the header embeds it, so that its archive changes with
// it, and whoever includes it, directly or through another header, imports that
// package, and so is built again when its archive changes. pybind/capsule may not
// import what is internal here; build_native.py, which alone builds it, gives the
// compiler a hash of all headers.
func TestHeadersRebuildTheirUsers(t *testing.T) {
	packages := map[string]goPackage{} // by folder
	for _, p := range listPackages(t, "./...") {
		packages[p.Dir] = p
	}
	for _, p := range packages {
		if len(p.CgoFiles) == 0 {
			continue
		}
		for header := range included(t, p) {
			owner, known := packages[filepath.Dir(header)]
			switch {
			case owner.ImportPath == p.ImportPath:
			case !known:
				t.Errorf("%s includes %s, which lies in no Go package", p.ImportPath, header)
			case !slices.Contains(owner.EmbedFiles, filepath.Base(header)):
				t.Errorf("%s includes %s: %s must embed it, as headers.go does elsewhere", p.ImportPath, header, owner.ImportPath)
			case !slices.Contains(p.Imports, owner.ImportPath):
				t.Errorf("%s includes %s: it must import %s, if only as _", p.ImportPath, header, owner.ImportPath)
			}
		}
	}
}

var include = regexp.MustCompile(`(?m)^[ \t]*(?://)?[ \t]*#[ \t]*include[ \t]+"([^"]+)"`)

// included are the headers that a package's C code includes, directly or through others.
func included(t *testing.T, p goPackage) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	var look func(file string)
	look = func(file string) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("%s: %v", p.ImportPath, err)
		}
		for _, match := range include.FindAllSubmatch(text, -1) {
			header := filepath.Join(filepath.Dir(file), string(match[1]))
			if !found[header] {
				found[header] = true
				look(header)
			}
		}
	}
	for _, name := range slices.Concat(p.CgoFiles, p.CFiles) {
		look(filepath.Join(p.Dir, name))
	}
	return found
}
