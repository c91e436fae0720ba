package data

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/inspect"
)

// expand turns files, globs and folders into the list of files of one table. Given
// files keep their order; the content of globs and folders is sorted. From a folder,
// expand takes files with a table's ending, except hidden files and those that begin
// with "_" (Spark's markers). Two different endings are ErrSchema.
func expand(paths []string) ([]string, error) {
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
				return nil, gofast.NewError(gofast.ErrNotFound, "open", "no such file, and no file matches it as a pattern").At(path)
			}
			files = append(files, found...)
		}
	}
	return files, nil
}

func inFolder(path string) ([]string, error) {
	entries, err := os.ReadDir(path) // sorted
	if err != nil {
		return nil, gofast.NewError(gofast.ErrRead, "open", "cannot list the folder").At(path).Because(err)
	}
	var files, others []string
	first := ""
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
			continue
		}
		end := inspect.TableEnding(name)
		info, err := os.Stat(filepath.Join(path, name)) // follows links
		if end == "" || err != nil || !info.Mode().IsRegular() {
			others = append(others, name)
			continue
		}
		if first == "" {
			first = end
		}
		if end != first {
			return nil, gofast.NewError(gofast.ErrSchema, "open", fmt.Sprintf(
				"the folder holds %s and %s files, which may be the same rows twice: choose with a glob", first, end)).At(path)
		}
		files = append(files, filepath.Join(path, name))
	}
	if len(files) == 0 {
		text := "the folder holds no files"
		if len(others) > 0 {
			text = "no file in the folder ends in " + ".csv and the like" + ": name files by a glob; the first is " + others[0]
		}
		return nil, gofast.NewError(gofast.ErrNotFound, "open", text).At(path)
	}
	return files, nil
}
