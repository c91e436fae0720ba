package source

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// Expand turns files, globs and folders into the list of files of one table. Given
// files keep their order; the content of globs and folders is sorted. From a folder,
// Expand takes files with a table's ending, except hidden files and those that begin
// with "_" (Spark's markers). Two different endings are ErrSchema.
func Expand(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err == nil && info.IsDir():
			found, err := inFolder(path)
			if err != nil {
				return nil, err
			}
			files = append(files, found...)
		case err == nil:
			files = append(files, path)
		default:
			found, _ := filepath.Glob(path) // a bad pattern matches nothing
			found = slices.DeleteFunc(found, func(f string) bool {
				info, err := os.Stat(f)
				return err != nil || !info.Mode().IsRegular()
			})
			if len(found) == 0 {
				return nil, errs.New(errs.ErrNotFound, "open", "no such file, and no file matches it as a pattern").At(path)
			}
			files = append(files, found...)
		}
	}
	return files, nil
}

func inFolder(path string) ([]string, error) {
	entries, err := os.ReadDir(path) // sorted
	if err != nil {
		return nil, errs.New(errs.ErrRead, "open", "cannot list the folder").At(path).Because(cause(err))
	}
	var files, others []string
	first := ""
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
			continue
		}
		end := ending(name)
		info, err := os.Stat(filepath.Join(path, name)) // follows links
		if end == "" || err != nil || !info.Mode().IsRegular() {
			others = append(others, name)
			continue
		}
		if first == "" {
			first = end
		}
		if end != first {
			return nil, errs.New(errs.ErrSchema, "open", fmt.Sprintf(
				"the folder holds %s and %s files, which may be the same rows twice: choose with a glob", first, end)).At(path)
		}
		files = append(files, filepath.Join(path, name))
	}
	if len(files) == 0 {
		text := "the folder holds no files"
		if len(others) > 0 {
			text = "no file in the folder ends in " + strings.Join(tableEndings, ", ") + ": name files by a glob; the first is " + errs.Cut(others[0])
		}
		return nil, errs.New(errs.ErrNotFound, "open", text).At(path)
	}
	return files, nil
}

// From a folder, only files with these endings are taken; python/gofast/_tables/sources.py
// has the same, and says which endings are left out.
var (
	tableEndings  = []string{".csv", ".tsv", ".parquet", ".pq", ".npy", ".npz"}
	packedEndings = []string{".gz", ".zst", ".bz2", ".xz"}
)

// TableEnding is the ending of a table's file name, such as ".csv.gz", in lower case; "" of other names.
func TableEnding(path string) string { return ending(filepath.Base(path)) }

// ending is the ending of a table's file name, including that of its compression, or "".
func ending(name string) string {
	name = strings.ToLower(name)
	table, packed := filepath.Ext(name), ""
	if slices.Contains(packedEndings, table) {
		packed = table
		table = filepath.Ext(strings.TrimSuffix(name, packed))
	}
	if !slices.Contains(tableEndings, table) {
		return ""
	}
	return table + packed
}
