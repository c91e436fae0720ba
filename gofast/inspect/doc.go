// Package inspect reads files whole before a training on them, and lists what is damaged.
//
// It takes files, folders with all that lies below them, and globs, and reads files in parallel. Memory is bounded: 16
// bytes a file and its path, and what the largest pictures take that are in work; of compressed tars and shards what they
// hold, at most a quarter of what there is. What a file is, its content says; the end of its name only says that a picture or
// a table was to be expected.
package inspect

import (
	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/table/load"
)

// Options are those of Verify. The zero value will do.
type Options struct {
	Threads int `json:"threads"` // 0: all that the process may use
	// Table are the options that tables are opened with.
	Table load.Options `json:"table"`
	// Shards are files that cannot be read without what their index.json says.
	Shards []Shards `json:"shards"`
	// OneTable says that all tables are files of one.
	OneTable bool          `json:"one_table"`
	Limits   limits.Limits `json:"limits"`
	// Progress is called with bytes that were read, and all of them, from any goroutine; may be nil.
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
