package inspect

import (
	"cmp"
	"errors"
	"slices"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/source/folder"
)

// Verification is what Verify found. Lists are in the order of the files, and empty rather than nil.
type Verification struct {
	Files    int64   `json:"files"`
	Bytes    int64   `json:"bytes"`
	Seconds  float64 `json:"seconds"`
	Pictures int64   `json:"pictures"` // all of them, also damaged ones and those that were not checked
	Tables   int64   `json:"tables"`
	Records  int64   `json:"records"` // files of cache= of pictures
	// TFRecords are files of tf.train.Example, whose checksums and Examples were looked at.
	TFRecords int64 `json:"tfrecords"`
	// Tars are tar files, also compressed ones. Their pictures are among all.
	Tars int64 `json:"tars"`
	// Shards are those that an index.json lists. Their pictures, too, are among all.
	Shards int64 `json:"shards"`
	// HDF5 are files that are left to the caller, whose library says where their values lie.
	HDF5   []folder.Name `json:"hdf5"`
	Others int64         `json:"others"` // files that are none of these: they were not read
	// Damaged are files that training would fail on, and links that lead back to a folder that they lie in, at most 100
	// of each folder given.
	Damaged []Problem `json:"damaged"`
	// Unchecked are files that gofast does not decode: Pillow's pictures, tables that it cannot use as they are, and
	// whatever is beyond a limit. The other columns of a table with columns of text were read.
	Unchecked []Problem `json:"unchecked"`
	// Missing says which libraries that decode pictures were not found, by the format's name: nothing is known of these
	// pictures, which are among the unchecked ones.
	Missing map[string]string `json:"missing_libraries,omitempty"`
	// Unreadable are folders that could not be listed, at most 100 of each folder given.
	Unreadable []folder.Name `json:"unreadable_folders"`
}

// Problem is a file with which something is wrong.
type Problem struct {
	Path   folder.Name `json:"path"`
	Kind   string      `json:"kind"` // of the catalogue of errors: "Damaged", "Read", "NotFound", ...
	Reason string      `json:"reason"`
	// Picture says that Pillow may be asked about it.
	Picture bool `json:"picture,omitempty"`
	// Member is a picture in a tar file or another shard, whose content from Offset on has its Bytes.
	Member folder.Name `json:"member,omitempty"`
	Offset int64       `json:"offset,omitempty"`
	Bytes  int64       `json:"bytes,omitempty"`

	file int // its number, by which problems are sorted, and then by the offset
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

func inOrder(problems []Problem) []Problem {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.Offset, b.Offset))
	})
	return problems
}

// isDamage tells a file that is broken from one that is whole, and not for gofast.
func isDamage(err error) bool {
	for _, kind := range []error{errs.ErrUnsupported, errs.ErrSchema, errs.ErrLimit, errs.ErrConfig} {
		if errors.Is(err, kind) {
			return false
		}
	}
	return true
}
