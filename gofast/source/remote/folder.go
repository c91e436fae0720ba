package remote

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// Folder is many objects, most of them small, and the folder where they are to lie.
type Folder struct {
	File    `json:"file"` // what stands before each key: s3://bucket/train/
	Folder  string        `json:"folder"`  // has the folders that keys name
	Objects []Object      `json:"objects"` // in the file's folder, as a listing has them
}

// DownloadFolder brings the objects. A descriptor is open for each request alone.
func DownloadFolder(ctx context.Context, f *Folder, options Options) error {
	var total int64
	for _, o := range f.Objects {
		if !filepath.IsLocal(o.Key) {
			return f.errorf(errs.ErrUnsupported, "the key %.80q is not the name of a file", o.Key)
		}
		total += o.Size
	}
	c := newClient(options)
	var done atomic.Int64
	came := func(n int) { c.Progress(done.Add(int64(n)), total) }
	return each(ctx, flightOf(total, len(f.Objects)), len(f.Objects), func(ctx context.Context, i int) error {
		o := f.Objects[i]
		t := &Target{File: File{URL: f.URL + o.Key, Proxy: f.Proxy, S3: f.S3}, State: State{Size: o.Size, Tag: o.Tag}, To: o.Size}
		t.region.Store(f.region.Load())
		t.Path = filepath.Join(f.Folder, o.Key)
		t.Part = t.Path + ".part"
		d, err := begin(t, os.O_CREATE)
		if err != nil {
			return err
		}
		defer d.file.Close()
		if o.Size > 0 {
			err = c.bring(ctx, piece{d, 0, o.Size}, came)
		}
		if err != nil {
			return err
		}
		f.region.Store(t.region.Load())
		return d.finish()
	})
}
