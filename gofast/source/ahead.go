package source

import (
	"io"

	"github.com/gofast-org/gofast/gofast/internal/pool"
)

const (
	aheadBlock  = 1 << 20
	aheadBlocks = 8
)

// Ahead reads a stream in a goroutine of its own, up to 8 MiB further than it is asked for: unpacking goes on while
// what was unpacked is decoded.
type Ahead struct {
	full   chan block
	free   chan []byte
	stop   chan struct{}
	ended  chan struct{}
	now    block
	unread []byte
}

type block struct {
	bytes []byte
	err   error
}

// ReadAhead begins to read. The stream may be closed after Close.
func ReadAhead(r io.Reader, path string) *Ahead {
	a := &Ahead{full: make(chan block, aheadBlocks), free: make(chan []byte, aheadBlocks), stop: make(chan struct{}), ended: make(chan struct{})}
	for range aheadBlocks {
		a.free <- make([]byte, aheadBlock)
	}
	go a.run(r, path)
	return a
}

func (a *Ahead) run(r io.Reader, path string) {
	defer close(a.ended)
	for {
		var b []byte
		select {
		case b = <-a.free:
		case <-a.stop:
			return
		}
		n, err := readBlock(r, b, path)
		a.full <- block{b[:n], err} // never blocks: there are as many blocks as places
		if err != nil {
			return
		}
	}
}

func readBlock(r io.Reader, b []byte, path string) (n int, err error) {
	defer pool.Recover(&err, "read", path)
	n, err = io.ReadFull(r, b)
	if err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	return n, err
}

// Read implements io.Reader.
func (a *Ahead) Read(p []byte) (int, error) {
	for len(a.unread) == 0 {
		if a.now.err != nil {
			return 0, a.now.err
		}
		if a.now.bytes != nil {
			a.free <- a.now.bytes[:aheadBlock]
		}
		a.now = <-a.full
		a.unread = a.now.bytes
	}
	n := copy(p, a.unread)
	a.unread = a.unread[n:]
	return n, nil
}

// Close ends the goroutine, and waits for it: for the unpacking of one block.
func (a *Ahead) Close() {
	close(a.stop)
	<-a.ended
}
