package table

import (
	"io"
	"sync"
)

// Scratch is memory that a decode of a table leaves to the next one, by another reader perhaps: a stream decodes part
// after part. Whoever takes it owns it. A nil Scratch keeps nothing. Parquet and Arrow use it.
type Scratch struct {
	mu   sync.Mutex
	left io.Closer
}

// Take takes what is there; nil: nothing.
func (s *Scratch) Take() (left io.Closer) {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	left, s.left = s.left, nil
	return left
}

// Leave keeps memory for the next decode, in the place of what is there.
func (s *Scratch) Leave(memory io.Closer) {
	if s == nil {
		memory.Close()
		return
	}
	s.Empty()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = memory
}

// Empty gives the memory back, and says whether there was any.
func (s *Scratch) Empty() bool {
	left := s.Take()
	if left != nil {
		left.Close()
	}
	return left != nil
}
