package tfrecord

import (
	"bufio"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zlib"
	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/source"
)

// content is what a compressed file holds. Its length is known at the end only, so it comes in blocks, each of which is given
// back as soon as it has its place in the draft: append would need several times the memory.
type content struct {
	path   string
	stamp  source.Stamp // the file's, with the size of what it holds
	blocks [][]byte     // mapped, of blockBytes; until it has a place
	draft  *draft
	at     int64
}

// inflated is the content of a file that is compressed as a whole, or as much of it as there was before an error. most is
// the bytes that it may have, which were taken of the memory; 0: nobody knows.
func inflated(ctx context.Context, path, compression string, most int64, memory *budget) (made *content, err error) {
	f, err := source.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	broken := func(err error) error {
		if known := (*errs.Error)(nil); errors.As(err, &known) {
			return known.At(path)
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return fail(errs.ErrDamaged, "not a whole %s file", compression).At(path).Because(err)
	}
	made = &content{path: path, stamp: f.Stamp()}
	if f.Size() == 0 {
		return made, nil
	}
	var from io.Reader
	packed := bufio.NewReaderSize(io.NewSectionReader(f, 0, f.Size()), 256<<10)
	switch compression {
	case "gzip":
		from, err = source.OpenStream(f, source.Gzip, 0)
	case "zstd":
		from, err = source.OpenStream(f, source.Zstd, memory.left.Load())
	case "bzip2":
		from, err = source.OpenStream(f, source.Bzip2, 0)
	case "plain":
		from, err = source.OpenStream(f, source.Plain, 0)
	case Batches, Samples:
		from, err = newFrames(ctx, f, compression, memory.left.Load())
	case "zlib":
		from, err = zlib.NewReader(packed)
	default:
		return made, fail(errs.ErrConfig, `the compression is "gzip" or "zlib"`).WithCell(compression)
	}
	if err != nil {
		return made, broken(err)
	}
	if err := made.fill(ctx, from, most, memory); err != nil {
		return made, broken(err)
	}
	if compression == "zlib" {
		if _, err := packed.Peek(1); err != io.EOF {
			return made, fail(errs.ErrDamaged, "something stands behind the compressed content").At(path)
		}
	}
	return made, f.CheckUnchanged()
}

// fill reads everything, or until it is too much: a small file may hold any number of bytes.
func (c *content) fill(ctx context.Context, from io.Reader, most int64, memory *budget) error {
	c.stamp.Size = 0
	for end := false; !end; {
		block, err := unix.Mmap(-1, 0, blockBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			return fail(errs.ErrLimit, "no memory for the files' content").Because(err)
		}
		c.blocks = append(c.blocks, block)
		for len(block) > 0 && !end {
			if ctx.Err() != nil {
				return errs.Ended(ctx.Err(), op)
			}
			n, err := from.Read(block)
			block, c.stamp.Size = block[n:], c.stamp.Size+int64(n)
			if most != 0 && c.stamp.Size > most {
				return fail(errs.ErrDamaged, "it unpacks to more than %d bytes, and index.json says that it has so many", most)
			}
			if most == 0 && memory.take(int64(n)) != nil {
				return tooLarge()
			}
			if end = err == io.EOF; err != nil && !end {
				return err
			}
		}
	}
	return nil
}

func tooLarge() *errs.Error {
	return fail(errs.ErrLimit, "the files' content needs more memory than there is for it: write them without compression")
}

// bySuffix is the compression of a shard that is called as mosaicml-streaming calls it, or litData ("a.zstd:4.bin"). Those
// beside it that are not compressed are held like it: pictures come from memory or from files, and not from both.
func bySuffix(path string) string {
	suffix := filepath.Ext(strings.TrimSuffix(path, ".bin"))
	if end := strings.IndexAny(suffix, ":_"); end >= 0 { // of a downloaded one, ":" became "_"
		suffix = suffix[:end]
	}
	if found := map[string]string{".zstd": "zstd", ".gz": "gzip", ".bz2": "bzip2"}[suffix]; found != "" {
		return found
	}
	return "plain"
}

// move gives it a place in a draft.
func (c *content) move(d *draft) error {
	c.draft, c.at = d, d.room(c.stamp.Size)
	for at := int64(0); at < c.stamp.Size; at += blockBytes {
		block := c.blocks[0]
		if err := d.memory.Put(block[:min(blockBytes, c.stamp.Size-at)], c.at+at); err != nil {
			return err
		}
		_ = unix.Munmap(block) // cannot fail for a mapping of ours
		c.blocks = c.blocks[1:]
	}
	return c.Close()
}

// ReadAt implements source.Object, for what has a place.
func (c *content) ReadAt(_ context.Context, p []byte, offset int64) (int, error) {
	return io.NewSectionReader(c.draft.memory.File, c.at, c.stamp.Size).ReadAt(p, offset)
}

// Stamp implements source.Object.
func (c *content) Stamp() source.Stamp { return c.stamp }

// Path implements source.Object.
func (c *content) Path() string { return c.path }

// Close implements source.Object: it gives back what has no place.
func (c *content) Close() error {
	for _, block := range c.blocks {
		_ = unix.Munmap(block)
	}
	c.blocks = nil
	return nil
}
