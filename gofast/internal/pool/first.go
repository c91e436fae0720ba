package pool

import (
	"errors"
	"sync"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// First keeps, of the errors that several goroutines find, the one that stands first: the one that a single goroutine
// would have met, going from front to back. What begins behind it need not be looked at. The zero value has no error.
type First struct {
	mu  sync.Mutex
	err error
	at  Place
}

// Place is where an error stands. Errors of one row are in the order of their columns.
type Place struct {
	Row    int64
	Column int
}

// PlaceOf is the place of an error in work that begins at a row, for one that does not name its row.
func PlaceOf(err error, begin int64, column int) Place {
	var known *errs.Error
	if errors.As(err, &known) && known.Row != errs.None {
		begin = known.Row
	}
	return Place{begin, column}
}

// Note keeps an error, unless one is known that stands before it. Nil is no error.
func (f *First) Note(at Place, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil && (f.err == nil || at.Row < f.at.Row || at.Row == f.at.Row && at.Column < f.at.Column) {
		f.err, f.at = err, at
	}
}

// Before says that an error stands before a row: nothing from there on can be the first.
func (f *First) Before(row int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err != nil && f.at.Row < row
}

// Err is the error that stands first.
func (f *First) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}
