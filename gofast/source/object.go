package source

import (
	"context"
	"io"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// Object is something whose ranges can be read: a local file, memory, what a store on
// another machine holds. Goroutines share it.
type Object interface {
	// ReadAt fills p from offset on, or says why not: with ErrChanged if the object is no
	// longer that of its stamp. It ends soon after ctx does.
	ReadAt(ctx context.Context, p []byte, offset int64) (int, error)
	Stamp() Stamp // of the object as it was opened; its size is known
	Path() string // what errors call it
	Close() error // no ReadAt is called any more; one may still be running that ignores its ctx
}

// Local is a regular file of this machine. It holds no descriptor: there may be many.
type Local struct {
	path  string
	stamp Stamp
}

// OpenLocal looks at a file.
func OpenLocal(path string) (*Local, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return &Local{path, f.Stamp()}, nil
}

// ReadAt implements Object.
func (l *Local) ReadAt(_ context.Context, p []byte, offset int64) (int, error) {
	f, err := l.held()
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return f.ReadAt(p, offset)
}

// held is the open file, if it is still the same. The caller closes it.
func (l *Local) held() (*File, error) {
	f, err := Open(l.path)
	if err == nil && f.Stamp() != l.stamp {
		f.Close()
		return nil, errs.New(errs.ErrChanged, "read", "the file changed since it was opened").At(l.path)
	}
	return f, err
}

// Held is an object for many small readings: a local file is opened once. The caller closes it.
func Held(ctx context.Context, o Object) (ReadAtCloser, error) {
	if l, ok := o.(*Local); ok {
		return l.held()
	}
	return reading{ctx, o}, nil
}

// ReadAtCloser is what Held gives.
type ReadAtCloser interface {
	io.ReaderAt
	io.Closer
}

// reading reads an object, which its owner closes.
type reading struct {
	ctx    context.Context
	object Object
}

func (r reading) ReadAt(p []byte, offset int64) (int, error) {
	return r.object.ReadAt(r.ctx, p, offset)
}

func (r reading) Close() error { return nil }

// Stamp implements Object.
func (l *Local) Stamp() Stamp { return l.stamp }

// Path implements Object.
func (l *Local) Path() string { return l.path }

// Close implements Object.
func (l *Local) Close() error { return nil }
