package tfrecord

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/pool"
)

// Shard is what an index is found by that lies beside its file, on any machine, or is kept of a file on a server.
type Shard struct {
	Size int64  `json:"size"`
	Tag  string `json:"tag"` // the ETag of a bucket's object; "": of a file, or of any server's
}

func (s *Shard) of() [sha256.Size224]byte {
	text, _ := json.Marshal(s) // cannot fail for a number and a text
	return sha256.Sum224(text)
}

// ShardIndex is the index of a shard among others in one file.
type ShardIndex struct {
	Name  string `json:"name"` // of errors
	At    int64  `json:"at"`
	Bytes int64  `json:"bytes"`
	Shard Shard  `json:"shard"`
}

// Indexes are the schemas of shards' indexes, which lie in the file of a descriptor. Each is of its shard, or of any file
// of its shard's size.
func Indexes(ctx context.Context, fd, threads int, indexes []ShardIndex) (schemas []Schema, err error) {
	defer pool.Recover(&err, op, "")
	defer func() { err = errs.Ended(err, op) }()
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return nil, fail(errs.ErrRead, "cannot stat the indexes").Because(err)
	}
	var data []byte
	if stat.Size > 0 {
		if data, err = unix.Mmap(fd, 0, int(stat.Size), unix.PROT_READ, unix.MAP_SHARED); err != nil {
			return nil, fail(errs.ErrRead, "cannot map the indexes").Because(err)
		}
		defer func() { _ = unix.Munmap(data) }() // cannot fail for a mapping of ours
	}
	schemas = make([]Schema, len(indexes))
	return schemas, pool.Each(ctx, threads, len(indexes), func(ctx context.Context, i int) (err error) {
		defer pool.Recover(&err, op, indexes[i].Name)
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // of a file that somebody cuts
		index := &indexes[i]
		if index.At < 0 || index.Bytes < 0 || index.At > stat.Size || index.Bytes > stat.Size-index.At {
			return fail(errs.ErrConfig, "an index at %d of %d bytes, in a file of %d", index.At, index.Bytes, stat.Size).At(index.Name)
		}
		schemas[i], err = index.schema(ctx, data[index.At:index.At+index.Bytes])
		return err
	})
}

func (i *ShardIndex) schema(ctx context.Context, data []byte) (s Schema, err error) {
	a := artefact(i.Name)
	of, err := a.Check(ctx, data)
	if err != nil {
		return s, err
	}
	if some := (&Shard{Size: i.Shard.Size}); of != i.Shard.of() && of != some.of() {
		return s, a.Other()
	}
	if s, err = parse(data, i.Name); err != nil {
		return s, err
	}
	if len(s.Files) != 1 || s.Files[0].Stamp.Size != i.Shard.Size {
		return s, fail(errs.ErrDamaged, "the index is not that of one file of %d bytes", i.Shard.Size).At(i.Name)
	}
	if len(s.Columns) == 0 && s.Files[0].Records > 0 { // nothing bounds how many it says
		return s, fail(errs.ErrDamaged, "records without a suffix").At(i.Name)
	}
	s.Reused, s.Stored = true, true
	return s, nil
}
