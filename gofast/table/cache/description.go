package cache

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/npy"
)

const (
	descriptionName = "arrays.jsonl"
	// Format is the version of the form.
	Format = 1
	kind   = "table"
	// most is the largest description that is read.
	most = 256 << 20
	// sealed is how many bytes of the description its last line takes.
	sealed = len(`{"sha256": ""}`) + 2*sha256.Size + 1
	// together is how many bytes of rows have one checksum.
	together = 64 << 20
)

// description is the first line of arrays.jsonl. python/gofast/_tables/cache.py reads it.
type description struct {
	Gofast      int      `json:"gofast"`
	Kind        string   `json:"kind"`
	Fingerprint string   `json:"fingerprint"`
	Shape       []int    `json:"shape"` // of a row of features
	Names       []string `json:"names"`
	Dropped     []string `json:"dropped"`
	Labels      []label  `json:"labels"`
	Texts       []text   `json:"texts"`
	Arrays      []*array `json:"arrays"`
}

type label struct {
	Name    string   `json:"name"`
	Kind    string   `json:"kind"`    // "int", "float" or "text"
	Classes []string `json:"classes"` // of a text label
}

// array is one .npy file.
type array struct {
	Name  string  `json:"name"`
	DType string  `json:"dtype"` // numpy's name
	Shape []int64 `json:"shape"`

	kind   table.Type
	values []byte // in memory
}

var kindNames = [...]string{table.IntLabel: "int", table.FloatLabel: "float", table.TextLabel: "text"}

// header stands before the values in the file.
func (a *array) header() []byte { return npy.Header(npy.Descr(a.kind, a.DType == "bool"), a.Shape) }

// sums are the lines with the checksums of all rows.
func (d *description) sums(ctx context.Context) (lines []byte, err error) {
	type block struct {
		array    *array
		from, to int64
		line     []byte
	}
	var blocks []*block
	for _, a := range d.Arrays {
		rows, row := a.Shape[0], int64(0)
		if rows > 0 {
			row = int64(len(a.values)) / rows
		}
		each := max(1, together/max(row, 1))
		if row == 0 {
			each = max(1, rows)
		}
		for from := int64(0); from < rows; from += each {
			blocks = append(blocks, &block{array: a, from: from, to: min(from+each, rows)})
		}
	}
	err = pool.Each(ctx, runtime.GOMAXPROCS(0), len(blocks), func(_ context.Context, i int) error {
		b := blocks[i]
		row := int64(len(b.array.values)) / b.array.Shape[0]
		sum := sha256.Sum256(b.array.values[b.from*row : b.to*row])
		b.line = fmt.Appendf(nil, "{%q: [%d, %q]}\n", b.array.Name, b.to, hex.EncodeToString(sum[:]))
		return nil
	})
	for _, b := range blocks {
		lines = append(lines, b.line...)
	}
	return lines, err
}

// content is the whole arrays.jsonl.
func (d *description) content(ctx context.Context) ([]byte, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	lines, err := d.sums(ctx)
	if err != nil {
		return nil, err
	}
	text = append(append(text, '\n'), lines...)
	return append(text, seal(text)...), nil
}

// seal is the last line.
func seal(content []byte) []byte {
	return fmt.Appendf(nil, "{\"sha256\": \"%x\"}\n", sha256.Sum256(content))
}

// foreign is why a folder is not for a cache.
var errForeign = errors.New("a preprocessed set lies there")

// fingerprintAt is that of the cache in a folder; "" if there is none that is whole, or is of this version. What it says of
// arrays is not believed here: Python checks it before anything is mapped. A set that lies there, or is begun, is errForeign.
func fingerprintAt(folder string) (string, error) {
	for _, name := range []string{descriptionName, descriptionName + ".part"} {
		content, err := readAll(filepath.Join(folder, name))
		if err != nil {
			continue
		}
		first, _, _ := bytes.Cut(content, []byte("\n"))
		var d description
		whole := len(content) >= sealed && bytes.Equal(content[len(content)-sealed:], seal(content[:len(content)-sealed]))
		switch err := json.Unmarshal(first, &d); {
		case err == nil && d.Kind != kind && d.Kind != "":
			return "", errForeign
		case err == nil && whole && name == descriptionName && d.Gofast == Format:
			return d.Fingerprint, nil
		}
	}
	return "", nil
}

func readAll(path string) ([]byte, error) {
	f, err := source.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Size() > most {
		return nil, errs.ErrLimit
	}
	content := make([]byte, f.Size())
	return content, f.ReadFull(content, 0)
}

// removeArrays removes what a cache has in its folder, or a killed builder left there, the description first.
func removeArrays(folder string) error {
	err := os.Remove(filepath.Join(folder, descriptionName))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	for _, pattern := range []string{"features.npy", "labels.npy", "texts_*_*.npy"} {
		names, _ := filepath.Glob(filepath.Join(escaped(folder), pattern)) // these patterns are right
		for _, name := range names {
			err = errors.Join(err, os.Remove(name))
		}
	}
	return err
}
