package folder

import (
	"crypto/sha256"
	"encoding/json"
	"runtime"
	"strings"
	"time"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
)

// Kind is a way to scan.
type Kind string

// The kinds of a scan.
const (
	Classes Kind = "classes" // torchvision's ImageFolder: each directory in the root is a class
	Flat    Kind = "flat"    // the files in the root, sorted
	Tree    Kind = "tree"    // the files in and below the root, sorted by their paths
	List    Kind = "list"    // the given paths, in their order; no file is looked at
)

// Options say what to scan for. The options that shape the result are compared with
// those of a kept index.
type Options struct {
	Kind Kind `json:"kind"`
	// Root is put before the paths. It should be absolute if processes share an index
	// file: another spelling is another index.
	Root Name `json:"root"`
	// Extensions are the ends of file names, as ASCII in lower case (an upper-case
	// one matches nothing, as in torchvision). Null: every file.
	Extensions []Name `json:"extensions"`
	// Classes replaces the list of all directories. ClassIDs are the numbers of the
	// classes, by default their places in sorted order. A class without a directory is
	// empty.
	Classes  []Name  `json:"classes,omitempty"`
	ClassIDs []int32 `json:"class_ids,omitempty"`
	// Paths and Labels belong to a List. Labels may be absent.
	Paths  []Name  `json:"paths,omitempty"`
	Labels []int32 `json:"labels,omitempty"`
	// LeaveCircles leaves out directories that links lead back to from below, and
	// names them in Schema.Circles: else they are an error.
	LeaveCircles bool `json:"-"`

	Threads int           `json:"threads"`
	Limits  limits.Limits `json:"limits"`
	// Progress is called with the number of entries seen so far, from any
	// goroutine, at least once a directory; may be nil.
	Progress func(entries int64) `json:"-"`

	now func() time.Time // tests use another clock than the system's
}

// Unlabelled is the class of samples that have none.
const Unlabelled int32 = -1

// check refuses options that make no sense, and fills in defaults.
func (o *Options) check() error {
	root := string(o.Root)
	bad := func(text string) error { return fail(errs.ErrConfig, root, "%s", text) }
	switch o.Kind {
	case Classes, Flat, Tree:
		if root == "" {
			return fail(errs.ErrNotFound, root, "the path of the folder is empty")
		}
		if o.Paths != nil || o.Labels != nil {
			return bad("paths and labels go with the kind list only")
		}
	case List:
		if o.Labels != nil && len(o.Labels) != len(o.Paths) {
			return bad("there must be as many labels as paths")
		}
	default:
		return bad("the kind must be classes, flat, tree or list")
	}
	if o.Kind != Classes && (o.Classes != nil || o.ClassIDs != nil) {
		return bad("classes and class_ids go with the kind classes only")
	}
	if o.ClassIDs != nil && len(o.ClassIDs) != len(o.Classes) {
		return bad("there must be as many class_ids as classes")
	}
	seen := map[Name]bool{}
	for _, class := range o.Classes {
		if class == "" || class == "." || class == ".." || strings.Contains(string(class), "/") {
			return fail(errs.ErrUnsupported, root, "a class must be the name of a directory in the root").WithCell(string(class))
		}
		if seen[class] {
			return fail(errs.ErrConfig, root, "a class is named twice").WithCell(string(class))
		}
		seen[class] = true
	}
	for _, extension := range o.Extensions {
		if strings.IndexFunc(string(extension), func(r rune) bool { return r >= 0x80 || r == '/' }) >= 0 {
			return fail(errs.ErrUnsupported, root, "an extension must be ASCII and without a slash: give the paths as a list").
				WithCell(string(extension))
		}
	}
	for _, names := range [][]Name{{o.Root}, o.Classes, o.Paths} {
		for _, name := range names {
			if strings.IndexByte(string(name), 0) >= 0 {
				return fail(errs.ErrConfig, "", "a path has a zero byte in it").WithCell(string(name))
			}
		}
	}
	if err := o.Limits.Validate(); err != nil {
		return err
	}
	if o.Threads <= 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	if o.now == nil {
		o.now = time.Now
	}
	return nil
}

// sum stands for the options that shape the result.
func (o *Options) sum() ([sha256.Size224]byte, error) {
	text, err := json.Marshal(struct {
		Kind       Kind
		Root       Name
		Extensions []Name
		Classes    []Name
		ClassIDs   []int32
		// Not in the sums of indexes that were kept before there was this option.
		LeaveCircles bool `json:",omitempty"`
	}{o.Kind, o.Root, o.Extensions, o.Classes, o.ClassIDs, o.LeaveCircles})
	return sha256.Sum224(text), err
}

// prefix comes before the relative paths. Like os.path.join, it adds a slash to a
// root without one.
func (o *Options) prefix() string {
	root := string(o.Root)
	if o.Kind == List || strings.HasSuffix(root, "/") {
		return root
	}
	return root + "/"
}
