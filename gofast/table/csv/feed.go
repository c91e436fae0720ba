package csv

import (
	"io"
	"sync"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/source"
)

// link is what a chunk hands to the next one before it is parsed.
type link struct {
	base  int64  // records before the next chunk's first
	tail  []byte // the start of a record whose end is in a later chunk
	odd   bool   // tail needs the general splitter
	feed  bool   // the chunk ended with '\r': a '\n' at the start of the next belongs to it
	abort bool   // the chunk failed, the later ones have nothing to stand on
}

// ticket is the right to read one chunk, given out in file order.
type ticket struct {
	index  int64
	offset int64 // plain files: where to read; n bytes
	n      int
	last   bool
	done   int64 // bytes of the file that the chunk stands for
	in     <-chan link
	out    chan<- link
}

// feed deals out the chunks of a file. Plain files are read by the workers side
// by side; a compressed one is unpacked by whoever holds the lock, while the
// others parse.
type feed struct {
	mu       sync.Mutex
	file     *source.File
	stream   *source.Stream // nil for a plain file
	offset   int64
	end      int64 // of a plain file
	consumed int64 // bytes of the file that earlier tickets stand for
	index    int64
	ended    bool
	previous chan link
}

// newFeed starts at offset start of the unpacked content.
func newFeed(r *reader, start int64) (*feed, error) {
	f := &feed{file: r.file, offset: start, previous: make(chan link, 1)}
	f.previous <- link{}
	if r.compression == source.Plain {
		f.end = r.end
		f.ended = start >= r.end
		return f, nil
	}
	stream, err := r.unpack(start)
	f.stream = stream
	return f, err
}

// unpack is the content of a packed file from start on.
func (r *reader) unpack(start int64) (*source.Stream, error) {
	stream, err := source.OpenStream(r.file, r.compression, r.opts.Limits.Memory/4)
	if err != nil {
		return nil, err
	}
	if _, err := io.CopyN(io.Discard, stream, start); err != nil {
		stream.Close()
		if err == io.EOF {
			err = r.fail(errs.ErrChanged, "the file has less content than when it was opened")
		}
		return nil, err
	}
	return stream, nil
}

// claim gives out the next chunk. A compressed file's is already in p then. Each
// ticket's holder must send exactly one link.
func (f *feed) claim(p []byte) (t ticket, ok bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer pool.Recover(&err, op, f.file.Path()) // the ticket stays valid, and its holder fails
	if f.ended {
		return ticket{}, false, nil
	}
	ok = true
	out := make(chan link, 1)
	t = ticket{index: f.index, in: f.previous, out: out}
	f.previous = out
	f.index++
	if f.stream == nil {
		t.offset, t.n = f.offset, int(min(int64(len(p)), f.end-f.offset))
		f.offset += int64(t.n)
		t.done, t.last = f.offset-f.consumed, f.offset == f.end
		f.consumed = f.offset
		f.ended = t.last
		return t, true, nil
	}
	n, err := io.ReadFull(f.stream, p)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		t.last, err = true, nil
	}
	t.n, t.done = n, f.stream.Consumed()-f.consumed
	f.consumed += t.done
	f.ended = t.last || err != nil
	return t, true, err
}

// stop lets no further chunk be claimed.
func (f *feed) stop() {
	f.mu.Lock()
	f.ended = true
	f.mu.Unlock()
}

// close frees the stream and returns the last link.
func (f *feed) close() link {
	if f.stream != nil {
		f.stream.Close()
	}
	return <-f.previous
}
