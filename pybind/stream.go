package pybind

import (
	"context"
	"errors"
	"sync"
	"unsafe"

	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/table/load"
)

// streams are tables that are decoded in parts, by the numbers that Python gave them.
var streams sync.Map // of *stream

type stream struct {
	mu sync.Mutex // one task at a time uses it
	*load.Stream
}

type streamConfig struct {
	Stream int `json:"stream"`
}

// use calls a function with the stream of this number.
func (c streamConfig) use(do func(*stream) (any, error)) (any, error) {
	found, ok := streams.Load(c.Stream)
	if !ok {
		return nil, gofast.NewError(gofast.ErrClosed, "stream", "no such stream")
	}
	s := found.(*stream)
	s.mu.Lock()
	defer s.mu.Unlock()
	return do(s)
}

func openStream(ctx context.Context, _ *task, c struct {
	streamConfig
	openConfig
}) (any, error) {
	s, info, err := load.OpenStream(ctx, c.Paths, c.Options)
	if err != nil {
		return nil, err
	}
	streams.Store(c.Stream, &stream{Stream: s})
	return info, nil
}

func cutStream(ctx context.Context, t *task, c struct {
	streamConfig
	Rows int64 `json:"rows"`
}) (any, error) {
	return c.use(func(s *stream) (any, error) { return s.Cut(ctx, c.Rows, t.progress) })
}

// roomConfig is memory of Python's, which it keeps until the task has ended.
type roomConfig struct {
	streamConfig
	memoryConfig
}

type memoryConfig struct {
	Address uintptr `json:"address"`
	Size    int     `json:"size"`
}

func (c memoryConfig) memory() []byte {
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&c.Address))), c.Size)
}

func decodePieces(ctx context.Context, _ *task, c struct {
	roomConfig
	Pieces []load.Piece `json:"pieces"`
}) (any, error) {
	return c.use(func(s *stream) (any, error) {
		table, err := s.Decode(ctx, c.Pieces, c.memory())
		return filled(table, load.Piece{}, err)
	})
}

func decodeNext(ctx context.Context, _ *task, c roomConfig) (any, error) {
	return c.use(func(s *stream) (any, error) {
		return filled(s.Next(ctx, c.memory()))
	})
}

// filled is what became of the memory: a table in it, or that it is too small.
func filled(table load.Decoded, at load.Piece, err error) (any, error) {
	fits := !errors.Is(err, load.ErrRoom)
	if !fits {
		err = nil
	}
	return struct {
		load.Decoded
		At   load.Piece `json:"at"`
		Fits bool       `json:"fits"`
	}{table, at, fits}, err
}

// closeStream closes the files of a stream that no task uses.
func closeStream(c streamConfig) (any, error) {
	if found, ok := streams.LoadAndDelete(c.Stream); ok {
		s := found.(*stream)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.Close()
	}
	return nil, nil
}
