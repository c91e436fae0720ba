package data

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast"
)

func folderOf(t *testing.T, names ...string) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestExpandTakesTablesOfAFolder(t *testing.T) {
	for _, c := range []struct {
		names, want []string
		kind        error
		says        string
	}{
		{names: []string{"b.csv", "a.CSV", "README.md", "x.txt", "a.csv.crc", "_SUCCESS", ".a.csv"}, want: []string{"a.CSV", "b.csv"}},
		{names: []string{"part-0.c000.snappy.parquet"}, want: []string{"part-0.c000.snappy.parquet"}},
		{names: []string{"a.csv.xz", "b.csv.xz"}, want: []string{"a.csv.xz", "b.csv.xz"}},
		{names: []string{"a.csv", "a.csv.gz"}, kind: gofast.ErrSchema, says: ".csv.gz"},
		{names: []string{"a.csv", "a.parquet"}, kind: gofast.ErrSchema, says: "glob"},
		{names: []string{"gz", "x.gz", "README.md"}, kind: gofast.ErrNotFound, says: "README.md"},
		{names: []string{"_SUCCESS"}, kind: gofast.ErrNotFound, says: "no files"},
	} {
		folder := folderOf(t, c.names...)
		got, err := expand([]string{folder})
		if !errors.Is(err, c.kind) || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v, want %v with %q", c.names, err, c.kind, c.says)
		}
		for i := range got {
			got[i] = filepath.Base(got[i])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.names, got, c.want)
		}
	}
}

func TestExpandTakesWhatAGlobNames(t *testing.T) {
	folder := folderOf(t, "a.rows", "b.rows", "README")
	got, err := expand([]string{filepath.Join(folder, "*.rows"), filepath.Join(folder, "README")})
	if err != nil || len(got) != 3 {
		t.Errorf("%v, %v", got, err)
	}
}
