// Package inspect says what lies in files before a training on them. Scan reads
// headers: counts, formats, sizes, broken files, duplicates, the columns of tables. Verify
// reads everything, as training would, and lists what is damaged.
//
// Both take files, folders with all that lies below them, and globs, and read files in
// parallel. Memory is bounded: 56 bytes a file and its path, 48 more where another file
// begins likewise, and what the largest pictures take that are in work. What a file is, its content says; the end of its name
// only says that a picture or a table was to be expected.
package inspect

import (
	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/table/load"
)

// Options are those of Scan and Verify. The zero value will do.
type Options struct {
	Threads int `json:"threads"` // 0: all that the process may use
	// Table are the options that Verify opens tables with.
	Table load.Options `json:"table"`
	// OneTable says that all tables that Verify finds are files of one.
	OneTable bool          `json:"one_table"`
	Limits   limits.Limits `json:"limits"`
	// Progress is called from any goroutine; may be nil. Scan counts files, Verify bytes. The total may grow.
	Progress func(done, total int64) `json:"-"`
}

func (o *Options) complete() error {
	if o.Threads <= 0 {
		o.Threads = engine.Threads()
	}
	if o.Progress == nil {
		o.Progress = func(int64, int64) {}
	}
	if o.Table.Rounds == "" { // as samples are of float32 by default
		o.Table.Rounds = "float32"
	}
	return o.Limits.Validate()
}
