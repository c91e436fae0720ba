package data

import (
	"context"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofast-org/gofast/gofast"
)

// The kinds of data.
const (
	Auto     = "auto"
	Pictures = "pictures"
	Table    = "table"
)

var (
	pictureEndings = []string{".jpg", ".jpeg", ".png", ".ppm", ".pgm", ".bmp", ".tif", ".tiff", ".webp"}
	tableEndings   = []string{".csv", ".tsv", ".parquet", ".pq", ".npy", ".npz"}
	packedEndings  = []string{".gz", ".zst", ".bz2", ".xz"}
)

func isPicture(name string) bool {
	return slices.Contains(pictureEndings, strings.ToLower(filepath.Ext(name)))
}

func isTable(name string) bool {
	name = strings.ToLower(name)
	if packed := filepath.Ext(name); slices.Contains(packedEndings, packed) {
		name = strings.TrimSuffix(name, packed)
	}
	return slices.Contains(tableEndings, filepath.Ext(name))
}

// kindOf says what the paths hold: what their names end in decides, and content where that says nothing.
func kindOf(ctx context.Context, paths []string) (string, error) {
	kind := ""
	for _, path := range paths {
		one, err := kindOfOne(ctx, path)
		switch {
		case err != nil:
			return "", err
		case kind != "" && one != kind:
			return "", gofast.NewError(gofast.ErrConfig, "open", "is "+one+", and "+paths[0]+" is "+kind+": measure them one after the other").At(path)
		}
		kind = one
	}
	return kind, nil
}

func kindOfOne(ctx context.Context, path string) (string, error) {
	if strings.HasPrefix(path, "@") {
		return Pictures, nil
	}
	info, err := os.Stat(path)
	if err != nil { // a pattern, or nothing: whoever opens it says so
		found, _ := filepath.Glob(path)
		if len(found) == 0 {
			return "", gofast.NewError(gofast.ErrNotFound, "open", "no such file, and no file matches it as a pattern").At(path)
		}
		path = found[0]
		if info, err = os.Stat(path); err != nil {
			return "", gofast.NewError(gofast.ErrRead, "open", "cannot be looked at").At(path).Because(err)
		}
	}
	switch {
	case info.IsDir():
		return kindOfFolder(ctx, path)
	case !info.Mode().IsRegular(): // to look into a pipe would wait for a writer
		return "", gofast.NewError(gofast.ErrRead, "open", "not a regular file").At(path)
	case isPicture(path):
		return Pictures, nil
	case isTable(path):
		return Table, nil
	case looksLikePicture(path):
		return Pictures, nil
	}
	return Table, nil // which are told by content too
}

func looksLikePicture(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	head := make([]byte, 512)
	n, _ := io.ReadFull(file, head) // of a shorter file, all of it
	return strings.HasPrefix(http.DetectContentType(head[:n]), "image/")
}

// mostLooked bounds the search for a first picture.
const mostLooked = 100_000

// kindOfFolder says pictures where there is one, at any depth: a table beside them is their labels.
func kindOfFolder(ctx context.Context, root string) (string, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return "", gofast.NewError(gofast.ErrRead, "open", "cannot list the folder").At(root).Because(err)
	}
	picture, looked := false, 0
	err = walk(ctx, root, func(path string) bool {
		looked++
		picture = isPicture(path)
		return !picture && looked < mostLooked
	})
	switch {
	case err != nil:
		return "", err
	case picture:
		return Pictures, nil
	case slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return isTable(e.Name()) }):
		return Table, nil
	}
	return "", gofast.NewError(gofast.ErrNotFound, "open", "no file in the folder ends in "+strings.Join(slices.Concat(pictureEndings, tableEndings), ", ")).At(root)
}
