package tfrecord

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"runtime/debug"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/internal/atomicfile"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/internal/store"
	"github.com/gofast-org/gofast/gofast/source"
)

// Suffix as the compression: that of a name's end, which is "zstd", "gz", "bz2", or of a file that is not compressed.
const Suffix = "suffix"

// Version is the version of the index's layout.
const Version = 3

// Options say what to index.
type Options struct {
	Paths       []string `json:"paths"`
	Features    []string `json:"features"`    // names; null: all
	Compression string   `json:"compression"` // of whole files: "", "gzip", "zlib", or Suffix: their names say it; of LitData's samples: Batches or Samples
	Form        string   `json:"form"`        // of the files: "", TFRecord, Tar, Table, MDS or LitData
	Label       string   `json:"label"`       // of Tar: the feature whose text is a whole number
	Partial     bool     `json:"partial"`     // of Tar: what stands before damage is indexed; its file's schema says so
	Leaves      []Leaf   `json:"leaves"`      // of LitData: what the columns are
	Unpacked    []int64  `json:"unpacked"`    // of MDS: the most bytes that each compressed file holds, 0 for others; null: not known
	Shard       *Shard   `json:"shard"`       // the index is that of any file of this size and ETag, and of no other one; null: it is for this machine
	Threads     int      `json:"threads"`
	// Memory is for the features' values and the content of compressed files; 0: a quarter of what there is. While the index
	// is made, it takes twice the memory of the values.
	Memory int64 `json:"memory"`
	// Find visits the values of a column of a Table, nil for a null, and gives what its Schema has as Features.
	Find func(ctx context.Context, path, column string, visit func(value *source.Extent) error) (features string, err error) `json:"-"`
	// Rows does so in a part of a file of LitData, which is an Arrow file, of a Leaf's path. If numbers are asked for, values are
	// those of 8 bytes.
	Rows func(ctx context.Context, path string, part source.Extent, column []string, numbers bool, visit func(value *source.Extent) error) error `json:"-"`
	// Members visits what is in a Tar, MDS or LitData, some at a time, in their order, of rows of Arrow column by column, and also
	// before damage; may be nil.
	Members func(ctx context.Context, content io.ReaderAt, members []Member) error `json:"-"`
	// Progress is called with bytes that were read, and all of them, from any goroutine; may be nil.
	Progress func(done, total int64) `json:"-"`

	now    func() time.Time // tests use another clock than the system's
	memory *budget          // what is left of Memory
	before *atomic.Int64    // records of the Tar that was read last
}

// racy is a safe distance. A file's times show its state only if its last change is at least so old: file systems count
// time in steps. The index of a newer file is not kept.
const racy = 2 * time.Second

// Build returns the descriptor of an index, which the caller owns and can map, and what it holds. With a path it is the file
// there, if it is the index of these files as they are now, or a new one in its place. Without one, and where a file is
// compressed or has just been written, it is that of sealed memory.
func Build(ctx context.Context, o Options, path string) (fd int, schema Schema, err error) {
	defer pool.Recover(&err, op, path)
	defer func() { err = errs.Ended(err, op) }()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // of a mapped index that somebody cuts
	d, err := newDraft()
	if err != nil {
		return -1, Schema{}, err
	}
	defer d.close()
	fresh, objects, err := o.open(ctx, d)
	if err != nil {
		return -1, Schema{}, err
	}
	if path == "" || fresh && o.Shard == nil || o.Compression != "" {
		if err := o.index(ctx, objects, d); err != nil {
			return -1, Schema{}, err
		}
		if schema, err = parse(d.data, path); err != nil {
			return -1, Schema{}, err
		}
		fd, err = d.seal()
		return fd, schema, err
	}
	r, reused, err := o.kept(ctx, objects, path, d)
	if err != nil {
		return -1, Schema{}, err
	}
	defer r.Close()
	if schema, err = parse(r.Data, path); err != nil {
		return -1, Schema{}, err
	}
	schema.Reused, schema.Stored = reused, true
	fd, err = store.Keep(r.File)
	return fd, schema, err
}

// Verify reads the files as Build does, and keeps nothing.
func Verify(ctx context.Context, o Options) error {
	_, err := Count(ctx, o)
	return err
}

// Count does the same, and says how many records there are.
func Count(ctx context.Context, o Options) (records int64, err error) {
	fd, schema, err := Build(ctx, o, "")
	if err != nil {
		return 0, err
	}
	for _, f := range schema.Files {
		records += f.Records
	}
	return records, unix.Close(fd)
}

func artefact(path string) *store.Artefact {
	return &store.Artefact{Op: op, Kind: "tfrecord", Version: Version, Path: path}
}

// kept is the index file at a path, and whether it was there.
func (o *Options) kept(ctx context.Context, objects []source.Object, path string, d *draft) (r *store.Record, reused bool, err error) {
	stamps := make([]source.Stamp, len(objects))
	for i, object := range objects {
		stamps[i] = object.Stamp()
	}
	of, err := json.Marshal(struct {
		Paths, Features []string
		Stamps          []source.Stamp
		Form, Label     string
		Partial         bool
		Leaves          []Leaf
	}{o.Paths, o.Features, stamps, o.Form, o.Label, o.Partial, o.Leaves})
	if err != nil {
		return nil, false, err
	}
	a := artefact(path)
	if a.Of = sha256.Sum224(of); o.Shard != nil {
		a.Of = o.Shard.of()
	}
	there := func() bool { // or made while we waited
		r, err = a.Open(ctx)
		return err == nil || errors.Is(err, errs.ErrCanceled)
	}
	if there() {
		return r, true, err
	}
	if errors.Is(err, errs.ErrDamaged) && !a.Is() {
		return nil, false, fail(errs.ErrConfig, "the file is there and is no index of gofast: it will not be replaced").At(path)
	}
	reused = true
	began := store.Once(ctx, op, path, there, func(file *atomicfile.File) error {
		reused = false
		if err = o.index(ctx, objects, d); err == nil {
			r, err = a.Write(ctx, file, d.data)
		}
		return err
	})
	if began != nil {
		err = began
	}
	return r, reused, err
}

// open looks at all files, and says whether one has just been written. Compressed ones are inflated into the draft.
func (o *Options) open(ctx context.Context, d *draft) (fresh bool, objects []source.Object, err error) {
	if o.now == nil {
		o.now = time.Now
	}
	if o.Memory == 0 {
		o.Memory = limits.Available() / 4
	}
	oldest := o.now().Add(-racy).UnixNano()
	objects = make([]source.Object, len(o.Paths))
	o.memory = &budget{}
	o.memory.left.Store(o.Memory)
	for i, most := range o.Unpacked { // at once: nothing is unpacked that will not fit
		if most < 0 || i >= len(o.Paths) {
			return false, nil, fail(errs.ErrConfig, "file %d unpacks to %d bytes", i, most)
		}
		if o.memory.take(most) != nil {
			return false, nil, tooLarge().At(o.Paths[i])
		}
	}
	held := make([]*content, len(o.Paths)) // of compressed files
	defer func() {
		for _, c := range held {
			if c != nil {
				c.Close()
			}
		}
	}()
	err = pool.Each(ctx, o.Threads, len(o.Paths), func(ctx context.Context, i int) (err error) {
		compression := o.Compression
		if compression == Suffix {
			compression = bySuffix(o.Paths[i])
		}
		if compression == "" {
			objects[i], err = source.OpenLocal(o.Paths[i])
			return err
		}
		held[i], err = inflated(ctx, o.Paths[i], compression, o.unpacked(i), o.memory)
		objects[i] = held[i]
		return err
	})
	if err != nil {
		return false, nil, err
	}
	for _, c := range held { // in their order: an index is the same whichever thread was first
		if c != nil {
			if err := c.move(d); err != nil {
				return false, nil, err
			}
		}
	}
	for _, object := range objects {
		stamp := object.Stamp()
		fresh = fresh || stamp.CtimeNs >= oldest || stamp.MtimeNs >= oldest
	}
	return fresh, objects, nil
}

// unpacked is the most bytes that a compressed file holds; 0: nobody knows.
func (o *Options) unpacked(i int) int64 {
	if i < len(o.Unpacked) {
		return o.Unpacked[i]
	}
	return 0
}

// index reads all files, and completes the draft.
func (o *Options) index(ctx context.Context, objects []source.Object, d *draft) error {
	var done atomic.Int64
	total := int64(0)
	for _, object := range objects {
		total += object.Stamp().Size
	}
	files := make([]file, len(objects))
	o.before = &atomic.Int64{}
	err := pool.Each(ctx, o.Threads, len(objects), func(ctx context.Context, i int) (err error) {
		f := &files[i]
		f.object, f.columns = objects[i], newColumns(uint32(i), o.Features, o.memory)
		if f.stamp = objects[i].Stamp(); o.Shard != nil {
			f.stamp = source.Stamp{Size: f.stamp.Size} // the rest says nothing elsewhere
		}
		if form := map[string]func(context.Context, *file) error{Tar: o.tarColumns, Table: o.tableColumns, MDS: o.mdsColumns, LitData: o.mdsColumns}[o.Form]; form != nil {
			if err := form(ctx, f); err != nil {
				return err
			}
			return f.finish()
		}
		last := int64(0)
		err = Records(ctx, objects[i], func(r Record) *errs.Error {
			f.records = r.Number + 1
			if r.Offset-last >= blockBytes && o.Progress != nil {
				o.Progress(done.Add(r.Offset-last), total)
				last = r.Offset
			}
			if i == 0 && r.Number == 0 {
				f.first = namesOf(r.Data)
			}
			return f.columns.add(r)
		})
		if err != nil {
			return err
		}
		return f.finish()
	})
	if err != nil {
		return err
	}
	return d.encode(files, o.Features, 2*o.Memory)
}

// finish completes the columns of a file that was read.
func (f *file) finish() error {
	if err := f.columns.finish(f.records); err != nil {
		return err.At(f.object.Path())
	}
	return nil
}

// namesOf is the names of an Example's features, for the error that none has the name that was asked for.
func namesOf(data []byte) []string {
	names := []string{}
	_ = example(data, func(name []byte, _ cursor) *errs.Error {
		if len(names) < 100 {
			names = append(names, string(name))
		}
		return nil
	}) // what is wrong with it is said elsewhere
	return names
}
