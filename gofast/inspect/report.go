package inspect

import (
	"errors"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/source/folder"
	"github.com/gofast-org/gofast/gofast/table"
)

// Report is what Scan found. Lists are in the order of the files, and empty rather than nil: in JSON, [].
type Report struct {
	Paths      []folder.Name `json:"paths"` // as they were given
	Files      int64         `json:"files"`
	Bytes      int64         `json:"bytes"`
	Seconds    float64       `json:"seconds"`
	Pictures   *Pictures     `json:"pictures,omitempty"`
	Classes    []Class       `json:"classes"` // the folders that pictures lie in, by name
	Tables     []Table       `json:"tables"`
	Others     *Others       `json:"others,omitempty"` // files that are neither
	Duplicates Duplicates    `json:"duplicates"`
	// Broken are files that cannot be used, as far as a header tells: Verify finds the rest. Links that lead back to a
	// folder that they lie in are here too, at most 100 of each folder given.
	Broken []Problem `json:"broken"`
	// Suspects have no end where one should be: most were cut. Verify tells.
	Suspects   []Problem     `json:"suspects"`
	Unreadable []folder.Name `json:"unreadable_folders"` // at most 100 of each folder given
}

// Count is a name and how many there are of it.
type Count struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
}

// Pictures says what the headers of all pictures have in common, and what not. Broken ones count in no figure but Count.
type Pictures struct {
	Count   int64  `json:"count"`
	Bytes   int64  `json:"bytes"`
	Formats []Kind `json:"formats"`
	// Width and Height are of the pictures whose size is known, as they are stored: nothing is turned.
	Width      *Spread `json:"width,omitempty"`
	Height     *Spread `json:"height,omitempty"`
	Megapixels float64 `json:"megapixels"` // on average
	Smallest   *Sized  `json:"smallest,omitempty"`
	Largest    *Sized  `json:"largest,omitempty"`
	Colours    []Count `json:"colours"`
	// Subsampling is of the chroma of JPEG files, by its usual names.
	Subsampling []Count `json:"jpeg_subsampling,omitempty"`
	Progressive int64   `json:"progressive"` // JPEG files with several scans, interlaced PNG files
	// Rotated are pictures whose Exif data asks a viewer to turn or mirror them. Training sees them as they are stored,
	// unless a transform turns them.
	Rotated int64 `json:"exif_rotated"`
}

// Kind is a format of pictures.
type Kind struct {
	Name   string `json:"name"`
	Count  int64  `json:"count"`
	Bytes  int64  `json:"bytes"`
	Native bool   `json:"native"` // decoded by gofast; the others are left to Pillow
}

// Spread says how numbers are distributed: exact quantiles, rounded to the number below.
type Spread struct {
	Min    int64   `json:"min"`
	P5     int64   `json:"p5"`
	Median int64   `json:"median"`
	P95    int64   `json:"p95"`
	Max    int64   `json:"max"`
	Mean   float64 `json:"mean"`

	count int64 // of the numbers
}

// Sized is a picture and its size.
type Sized struct {
	Path   folder.Name `json:"path"`
	Width  int         `json:"width"`
	Height int         `json:"height"`

	file int // its number: of pictures of one size, the first counts
}

// Class is a folder of pictures.
type Class struct {
	Name     folder.Name `json:"name"`
	Pictures int64       `json:"pictures"`
	Bytes    int64       `json:"bytes"`
}

// Table is one file of a table.
type Table struct {
	Path   folder.Name `json:"path"`
	Format string      `json:"format"` // "csv", "npy", "npz", "parquet", "arrow"
	Bytes  int64       `json:"bytes"`
	// Rows is nil where counting them would mean to unpack a large file; about is an estimate from the first MiB.
	Rows    *int64 `json:"rows"`
	About   bool   `json:"rows_estimated,omitempty"`
	Width   int    `json:"column_count"`
	Omitted bool   `json:"columns_omitted,omitempty"` // more than 100,000 columns in all files: these are left out
	table.Facts
	// Unusable says why gofast does not open it, although it is not damaged.
	Unusable string `json:"unusable,omitempty"`

	file int // its number, by which tables are sorted
}

// Others are the files that are neither pictures nor tables.
type Others struct {
	Count   int64   `json:"count"`
	Bytes   int64   `json:"bytes"`
	Endings []Count `json:"endings"` // of their names, most frequent first, at most 20
}

// Duplicates are files with the same content. Empty files count as none.
type Duplicates struct {
	Files  int64   `json:"files"` // that could be left out
	Bytes  int64   `json:"bytes"` // of these
	Groups []Group `json:"groups"`
}

// Group is files of one content.
type Group struct {
	Bytes int64         `json:"bytes"` // of each
	Paths []folder.Name `json:"paths"`
}

// Problem is a file with which something is wrong.
type Problem struct {
	Path   folder.Name `json:"path"`
	Kind   string      `json:"kind"` // of the catalogue of errors: "Damaged", "Read", "NotFound", ...
	Reason string      `json:"reason"`
	// Picture says that Pillow may be asked about it.
	Picture bool `json:"picture,omitempty"`

	file int // its number, by which problems are sorted
}

// problemOf is an error without its path, which stands beside it.
func problemOf(file int, path string, err error) Problem {
	p := Problem{Path: folder.Name(path), Kind: errs.Name(err), Reason: err.Error(), file: file}
	var e *errs.Error
	if errors.As(err, &e) {
		short := *e
		short.Path = ""
		p.Reason = short.Error()
	}
	return p
}
