package folder

import (
	"context"
	"math"

	"github.com/gofast-org/gofast/gofast/internal/pool"
)

// Scan reads the folders and keeps the index in its own memory.
func Scan(ctx context.Context, options Options) (index *Index, err error) {
	defer pool.Recover(&err, op, string(options.Root))
	if err := options.check(); err != nil {
		return nil, err
	}
	data, err := encoded(ctx, &options)
	if err != nil {
		return nil, err
	}
	return parse(ctx, data, "", options.Threads)
}

// Open maps the index file at path, as Build does before it scans.
func Open(ctx context.Context, path string, options Options) (*Index, error) {
	if err := options.check(); err != nil {
		return nil, err
	}
	return load(ctx, &options, path, math.MaxInt64)
}

// Classes are the names of the classes, sorted; empty if there are none.
func (x *Index) Classes() []string { return x.classes }

// Path is the path of sample i after Root.
func (x *Index) Path(i int) string {
	from, to := x.offset(i), x.offset(i+1)
	return string(x.view(x.header.Paths)[from : to-1])
}

// Class is the class or label of sample i, or Unlabelled.
func (x *Index) Class(i int) int32 {
	return int32(native.Uint32(x.view(x.header.SampleClasses)[4*i:]))
}
