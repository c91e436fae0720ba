package gofast_test

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast/internal/limits"
)

// tableRows are the rows of SECURITY.md's tables as trimmed cells.
func tableRows(t *testing.T) [][]string {
	t.Helper()
	text, err := os.ReadFile("../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "| ") {
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			rows = append(rows, cells)
		}
	}
	return rows
}

// number reads "64 MiB", "65,536 columns" or "24".
func number(t *testing.T, text string) int64 {
	t.Helper()
	digits, unit, _ := strings.Cut(strings.ReplaceAll(text, ",", ""), " ")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		t.Fatalf("%q in SECURITY.md is no number", text)
	}
	if unit == "MiB" {
		n <<= 20
	}
	return n
}

func TestPaperHasTheDefaultLimits(t *testing.T) {
	paper := map[string]string{}
	for _, row := range tableRows(t) {
		paper[strings.Trim(row[0], "`")] = row[1]
	}
	before := limits.Available() / 2
	defaults := reflect.ValueOf(limits.Limits{}.WithDefaults())
	for i := range defaults.NumField() {
		name, value := defaults.Type().Field(i).Tag.Get("json"), defaults.Field(i).Int()
		said, ok := paper[name]
		switch {
		case !ok:
			t.Errorf("SECURITY.md says nothing about the limit %q", name)
		case name == "memory":
			// Other processes take and give memory while this runs.
			if said != "half of what is available" || value < before/2 || value > before*2 {
				t.Errorf("limit memory: the paper says %q, the default is %d, half of what is available is %d", said, value, before)
			}
		case number(t, said) != value:
			t.Errorf("limit %q: the paper says %q, the default is %d", name, said, value)
		}
	}
}

// constantIn evaluates a package-level constant of a file.
func constantIn(t *testing.T, path, name string) int64 {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, filepath.Join("..", path), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, declaration := range file.Decls {
		general, ok := declaration.(*ast.GenDecl)
		if !ok || general.Tok != token.CONST {
			continue
		}
		for _, spec := range general.Specs {
			if s := spec.(*ast.ValueSpec); s.Names[0].Name == name && len(s.Values) == 1 {
				got, err := types.Eval(files, nil, token.NoPos, types.ExprString(s.Values[0]))
				if err != nil {
					t.Fatal(err)
				}
				n, _ := constant.Int64Val(got.Value)
				return n
			}
		}
	}
	t.Fatalf("%s has no constant %s", path, name)
	return 0
}

func TestPaperHasTheFixedBounds(t *testing.T) {
	where := regexp.MustCompile("^`(\\w+)` in `(\\S+)`$")
	bounds := 0
	for _, row := range tableRows(t) {
		found := where.FindStringSubmatch(row[len(row)-1])
		if found == nil {
			continue
		}
		bounds++
		if said, is := number(t, row[1]), constantIn(t, found[2], found[1]); said != is {
			t.Errorf("%s: the paper says %d, %s is %d", row[0], said, found[1], is)
		}
	}
	if bounds == 0 {
		t.Error("SECURITY.md names no fixed bound")
	}
}
