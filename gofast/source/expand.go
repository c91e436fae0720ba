package source

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// Expand turns files, globs and folders into the list of files of one table:
// those given in their order, the content of globs and folders sorted. Hidden
// files and those that begin with "_" (Spark's markers) are left out of folders.
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
	var files []string
	for _, entry := range entries {
		if entry.Type()&fs.ModeType == 0 && !strings.HasPrefix(entry.Name(), ".") && !strings.HasPrefix(entry.Name(), "_") {
			files = append(files, filepath.Join(path, entry.Name()))
		}
	}
	if len(files) == 0 {
		return nil, errs.New(errs.ErrNotFound, "open", "the folder holds no files").At(path)
	}
	return files, nil
}
