package table

import "context"

// Part is consecutive rows of a file that are decoded together.
type Part struct {
	// From and To are where it lies: bytes of a text file, row groups of Parquet, record batches of Arrow, rows of an array. A file that
	// cannot be cut is one part, from 0 to -1.
	From int64 `json:"from"`
	To   int64 `json:"to"`
	Rows int64 `json:"rows"`
}

// Whole is the only part of a file that cannot be cut.
func Whole(rows int64) []Part { return []Part{{0, -1, rows}} }

// IsWhole says that the part is all of a file.
func (p Part) IsWhole() bool { return p.To < 0 }

// Parter is a Reader that decodes parts of its file. A part's reader counts rows from 0 on, also in errors; it lives
// as long as the file's, which closes it.
type Parter interface {
	// Parts cuts the file into parts of at least so many rows, as few more as the format allows. A text file is
	// read for that, but not decoded.
	Parts(ctx context.Context, rows int64) ([]Part, error)
	// Part is the reader of a part that Parts told.
	Part(p Part) Reader
}

// Sequential is a Reader that decodes its file from front to back, in parts that are not known before.
type Sequential interface {
	Sequence() Sequence
}

// Sequence gives the parts of a text file, each behind the one before.
type Sequence interface {
	// Next is the reader of the rows that end within the next bytes of text, or of one row that is longer. nil:
	// there are none left. The same rows come again, perhaps fewer, unless Done was called.
	Next(ctx context.Context, bytes int64) (Reader, error)
	// Done says that the last part was decoded. It returns how many bytes of text its rows took.
	Done() int64
	Close()
}
