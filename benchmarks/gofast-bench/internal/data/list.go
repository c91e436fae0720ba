package data

import (
	"bufio"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofast-org/gofast/gofast"
)

// pictureFiles are the pictures that several paths name: files, patterns, folders with all
// below them, and @FILE, a list with a path a line, which counts from the list's folder.
func pictureFiles(ctx context.Context, paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		found, err := filesOf(ctx, path)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return files, nil
}

func filesOf(ctx context.Context, path string) ([]string, error) {
	if list, named := strings.CutPrefix(path, "@"); named {
		return readList(list)
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return below(ctx, path)
	case err == nil:
		return []string{path}, nil
	}
	found, _ := filepath.Glob(path) // sorted; kindOf has seen that there is one
	return slices.DeleteFunc(found, func(file string) bool {
		info, err := os.Stat(file)
		return err != nil || info.IsDir()
	}), nil
}

func below(ctx context.Context, root string) (files []string, err error) {
	err = walk(ctx, root, func(path string) bool {
		if isPicture(path) {
			files = append(files, path)
		}
		return true
	})
	return files, err
}

// walk calls each for every file below a folder, in order, until it says no. It follows links, as the core's scan of a
// folder does, but not back to a folder that it is in. What cannot be read is that scan's to report.
func walk(ctx context.Context, root string, each func(path string) (more bool)) error {
	var inside []fs.FileInfo
	var visit func(folder string, info fs.FileInfo) bool
	visit = func(folder string, info fs.FileInfo) bool {
		if slices.ContainsFunc(inside, func(outer fs.FileInfo) bool { return os.SameFile(outer, info) }) {
			return true
		}
		inside = append(inside, info)
		defer func() { inside = inside[:len(inside)-1] }()
		entries, _ := os.ReadDir(folder)
		for _, e := range entries {
			if ctx.Err() != nil {
				return false
			}
			path := filepath.Join(folder, e.Name())
			if e.IsDir() || e.Type()&fs.ModeSymlink != 0 {
				if info, err := os.Stat(path); err == nil && info.IsDir() {
					if !visit(path, info) {
						return false
					}
					continue
				}
			}
			if !each(path) {
				return false
			}
		}
		return true
	}
	if info, err := os.Stat(root); err == nil {
		visit(root, info)
	}
	return ctx.Err()
}

func readList(path string) (files []string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, gofast.NewError(gofast.ErrNotFound, "open", "the list of pictures cannot be opened").At(path).Because(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		if !filepath.IsAbs(line) {
			line = filepath.Join(filepath.Dir(path), line)
		}
		files = append(files, line)
	}
	if err := lines.Err(); err != nil {
		return nil, gofast.NewError(gofast.ErrRead, "open", "the list of pictures cannot be read: is it a text, with a path a line?").At(path).Because(err)
	}
	return files, nil
}
