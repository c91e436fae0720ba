package folder

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/internal/pool"
)

// place is the kind of a path that the result depends on.
type place int64

const (
	listed      place = iota // a directory whose entries were read
	unreadable               // a directory that could not be read
	noDirectory              // a link that leads nowhere, or a class that does not exist
	circle                   // one of its own parents, reached by a link
)

// directory is one path that the result depends on.
type directory struct {
	parent   *directory
	path     string // relative to the root; empty for the root
	class    int    // index of the class, -1 for the root
	place    place
	identity identity
	files    []string // the names that match, sorted
	children []*directory
}

// tree is a finished scan.
type tree struct {
	options    *Options
	scanNs     int64        // when it began
	classes    []string     // sorted
	ids        []int32      // of the classes
	samples    []int64      // of each class
	places     []*directory // all of them
	runs       []run        // all samples, in order
	count      int64
	pathBytes  int64 // of all samples, with their zeros
	placeBytes int64 // of all places' paths, with their zeros
}

// run is a sequence of samples from one directory.
type run struct {
	directory *directory
	files     []string
}

// pathBytes are those of the samples' paths, with their zeros.
func (r run) pathBytes() int {
	n := len(r.files)
	if r.directory.path != "" {
		n += len(r.files) * (len(r.directory.path) + 1)
	}
	for _, name := range r.files {
		n += len(name)
	}
	return n
}

// scanner is a scan at work.
type scanner struct {
	options    *Options
	extensions []string
	budget     *limits.Budget
	entries    atomic.Int64
	buffers    sync.Pool
}

// The memory of an object without its names, rounded up. Only the budget uses it.
const (
	directoryCost = 256
	nameCost      = 24
)

// scan reads the directories level by level. There are few levels, and each has
// enough directories for all threads.
func scan(ctx context.Context, options *Options) (*tree, error) {
	s := &scanner{options: options, budget: limits.NewBudget(options.Limits.WithDefaults().Memory)}
	s.buffers.New = func() any { b := make([]byte, 64<<10); return &b }
	for _, e := range options.Extensions {
		s.extensions = append(s.extensions, string(e))
	}
	t := &tree{options: options, scanNs: options.now().UnixNano()}
	root := &directory{class: -1}
	var err error
	switch {
	case options.Kind == List:
		t.given(root)
	case options.Classes != nil:
		err = s.walk(ctx, t, s.givenClasses(t))
	default:
		err = s.walk(ctx, t, []*directory{root})
	}
	if err == nil {
		switch options.Kind {
		case Tree:
			t.inPathOrder(root)
		case Classes, Flat:
			t.walkOrder()
		}
		err = s.measure(t)
	}
	if err != nil {
		return nil, canceled(err, string(options.Root))
	}
	return t, nil
}

// walk reads the directories of level and everything below them.
func (s *scanner) walk(ctx context.Context, t *tree, level []*directory) error {
	for len(level) > 0 {
		err := pool.Each(ctx, s.options.Threads, len(level), func(ctx context.Context, i int) error {
			return s.read(ctx, level[i])
		})
		if err != nil {
			return err
		}
		t.places = append(t.places, level...)
		var next []*directory
		for _, d := range level {
			if d.path == "" && s.options.Kind == Classes {
				t.name(d)
			}
			for _, child := range d.children {
				if child.place == noDirectory {
					t.places = append(t.places, child)
				} else {
					next = append(next, child)
				}
			}
		}
		level = next
	}
	return nil
}

// name makes the root's directories the classes.
func (t *tree) name(root *directory) {
	classes := slices.DeleteFunc(slices.Clone(root.children), func(d *directory) bool { return d.place == noDirectory })
	slices.SortFunc(classes, func(a, b *directory) int { return strings.Compare(key(a.path), key(b.path)) })
	for i, d := range classes {
		d.class = i
		t.classes = append(t.classes, d.path)
		t.ids = append(t.ids, int32(i))
	}
}

// givenClasses are the directories of Options.Classes.
func (s *scanner) givenClasses(t *tree) []*directory {
	number := make(map[string]int32, len(s.options.Classes))
	for i, class := range s.options.Classes {
		t.classes = append(t.classes, string(class))
		number[string(class)] = int32(i)
	}
	sortNames(t.classes)
	var found []*directory
	for i, class := range t.classes {
		switch {
		case s.options.ClassIDs == nil:
			t.ids = append(t.ids, int32(i))
		default:
			t.ids = append(t.ids, s.options.ClassIDs[number[class]])
		}
		d := &directory{path: class, class: i}
		if state, err := stat(s.options.prefix() + class); err == nil && isDirectory(&state) {
			found = append(found, d)
		} else {
			d.place = noDirectory
			t.places = append(t.places, d)
		}
	}
	return found
}

// read lists one directory. Below the root, it leaves out directories that cannot be
// read, as os.walk does.
func (s *scanner) read(ctx context.Context, d *directory) error {
	full := s.options.prefix() + d.path
	if d.path == "" {
		full = string(s.options.Root)
	}
	buffer := s.buffers.Get().(*[]byte)
	defer s.buffers.Put(buffer)
	var names []byte
	count := 0
	err := list(full, *buffer, func(i identity) error { return s.enter(d, i, full) }, func(batch [][]byte, types []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		seen := s.entries.Add(int64(len(batch)))
		held := int64(len(names) + count*nameCost)
		for i, name := range batch {
			isFile, err := s.entry(d, name, types[i])
			if err != nil {
				return err
			}
			if isFile {
				names = append(append(names, name...), 0)
				count++
			}
		}
		if s.options.Progress != nil {
			s.options.Progress(seen)
		}
		return s.reserve(int64(len(names)+count*nameCost) - held)
	})
	switch system, ok := err.(unix.Errno); {
	case err == errCircle:
		d.place = circle
		return nil
	case ok && d.path == "":
		return cannot(system, full)
	case ok:
		d.place, d.children = unreadable, nil
		if d.identity == (identity{}) {
			if state, err := stat(full); err == nil {
				d.identity = identityOf(&state)
			}
		}
		return nil
	case err != nil:
		return err
	}
	d.files = make([]string, 0, count)
	for rest := string(names); rest != ""; {
		name, behind, _ := strings.Cut(rest, "\x00")
		d.files = append(d.files, name)
		rest = behind
	}
	sortNames(d.files)
	return nil
}

// errCircle says that a directory is left out.
var errCircle = errors.New("a link leads back")

// enter refuses a directory that is one of its own parents.
func (s *scanner) enter(d *directory, now identity, full string) error {
	d.identity = now
	for p := d.parent; p != nil; p = p.parent {
		if p.identity.Device == now.Device && p.identity.ID == now.ID {
			if s.options.LeaveCircles {
				return errCircle
			}
			return fail(errs.ErrUnsupported, full, "a link leads back to a directory that it lies in, so the folder has no end: remove the link").
				WithCell(p.path)
		}
	}
	return nil
}

// below is the path of an entry of d.
func (d *directory) below(name []byte) string {
	if d.path == "" {
		return string(name)
	}
	return d.path + "/" + string(name)
}

// entry handles one entry of d. A directory becomes a child; for a file, it reports
// whether the name matches.
func (s *scanner) entry(d *directory, name []byte, kind byte) (isFile bool, err error) {
	top := d.path == "" && s.options.Kind == Classes
	wanted := !top && (s.options.Extensions == nil || ends(name, s.extensions))
	child := func(p place) error {
		if s.options.Kind == Flat && p != noDirectory {
			return nil
		}
		path := d.below(name)
		d.children = append(d.children, &directory{parent: d, path: path, class: d.class, place: p})
		return s.reserve(directoryCost + 2*int64(len(path)))
	}
	switch kind {
	case unix.DT_DIR:
		return false, child(listed)
	case unix.DT_LNK, unix.DT_UNKNOWN:
	default:
		return wanted, nil
	}
	if s.options.Kind == Flat && !wanted {
		return false, nil
	}
	// This is the path that Python would give to the system. Its length and the number
	// of links in it matter too.
	path := s.options.prefix() + d.below(name)
	state, err := stat(path)
	switch {
	case err == nil && isDirectory(&state):
		return false, child(listed)
	case err == nil:
		return wanted, nil
	case top && err != unix.ENOENT:
		return false, cannot(err, path) // os.DirEntry.is_dir raises here, and torchvision does not catch it
	default:
		return wanted, child(noDirectory)
	}
}

func cannot(err error, path string) error {
	if errors.Is(err, unix.ENOENT) {
		return fail(errs.ErrNotFound, path, "no such folder").Because(err)
	}
	return fail(errs.ErrRead, path, "cannot read the folder").Because(err)
}

func (s *scanner) reserve(n int64) error {
	if s.budget.Reserve(n, "the list of files") != nil {
		return fail(errs.ErrLimit, string(s.options.Root), "the list of files needs more memory than the limit of %s after %d entries: "+
			`raise limits={"memory": ...}, or is this the right folder?`, errs.Bytes(s.options.Limits.WithDefaults().Memory), s.entries.Load())
	}
	return nil
}

// given makes the paths of a List the files of the root.
func (t *tree) given(root *directory) {
	files := make([]string, len(t.options.Paths))
	for i, path := range t.options.Paths {
		files[i] = string(path)
	}
	t.runs = []run{{root, files}}
}

// measure counts what the runs and places hold, and reserves memory for the index.
func (s *scanner) measure(t *tree) error {
	t.samples = make([]int64, len(t.classes))
	for _, r := range t.runs {
		n := int64(len(r.files))
		t.count += n
		t.pathBytes += int64(r.pathBytes())
		if r.directory.class >= 0 {
			t.samples[r.directory.class] += n
		}
	}
	slices.SortFunc(t.places, func(a, b *directory) int { return strings.Compare(a.path, b.path) })
	for _, d := range t.places {
		t.placeBytes += int64(len(d.path)) + 1
	}
	if len(t.classes) > 1<<31-1 {
		return fail(errs.ErrLimit, string(t.options.Root), "there are %d classes, more than an int32 can number", len(t.classes))
	}
	_, size := t.header()
	if t.options.Kind == List { // a scan reserves the names when it reads them
		size += t.count*nameCost + t.pathBytes
	}
	return s.reserve(size)
}
