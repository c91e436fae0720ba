package remote

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	machine "github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/internal/store"
)

// Fetched is where a file lies in memory.
type Fetched struct {
	At    int64 `json:"at"` // a multiple of 8
	Bytes int64 `json:"bytes"`
}

// Fetch brings small files into memory, with one request each: nobody asks first what they are. The descriptor of the memory is
// the caller's. They may take a quarter of the machine's memory.
func Fetch(ctx context.Context, files []*File, options Options) (fd int, found []Fetched, err error) {
	c := newClient(options)
	memory, err := store.NewMemory("download", "gofast-fetched")
	if err != nil {
		return -1, nil, err
	}
	defer memory.Close()
	found = make([]Fetched, len(files))
	var end, done atomic.Int64
	most := machine.Available() / 4
	err = each(ctx, inSmall, len(files), func(ctx context.Context, i int) error {
		f := files[i]
		err := c.repeat(ctx, func() (int64, error) {
			return 0, c.get(ctx, f, 0, 0, "", func(answer *http.Response, body *stalling) error {
				if answer.StatusCode != http.StatusOK {
					return f.errorf(errs.ErrRead, "asked for the whole file, the server says %s", f.status(answer))
				}
				state, err := f.state(answer)
				if err != nil {
					return err
				}
				if place := &found[i]; state.Size > place.Bytes { // else it has its place, from a try before
					room := (min(state.Size, most) + 7) &^ 7
					place.At = end.Add(room) - room
					if state.Size > most || place.At > most-room {
						return f.errorf(errs.ErrLimit, "its %s and those before it do not fit into a quarter of the memory, %s", errs.Bytes(state.Size), errs.Bytes(most))
					}
				}
				found[i].Bytes = state.Size
				return f.into(memory, found[i], body)
			})
		})
		if err == nil {
			c.Progress(done.Add(1), int64(len(files)))
		}
		return err
	})
	if err != nil {
		return -1, nil, err
	}
	if fd, err = memory.Seal(); err != nil {
		return -1, nil, err
	}
	return fd, found, nil
}

// into reads a body to its place.
func (f *File) into(memory *store.Memory, place Fetched, body *stalling) error {
	buffer := make([]byte, min(bufferSize, place.Bytes))
	for at := int64(0); at < place.Bytes; {
		n, err := body.Read(buffer[:min(int64(len(buffer)), place.Bytes-at)])
		if failed := memory.Put(buffer[:n], place.At+at); failed != nil {
			return failed
		}
		if at += int64(n); err != nil && at < place.Bytes {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return passing{cause: f.errorf(errs.ErrRead, "the connection ended early: %v", said(err, body)).AtOffset(at)}
		}
	}
	return nil
}
