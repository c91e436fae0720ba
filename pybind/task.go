package pybind

import (
	"context"
	"encoding/json"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/border"
	"github.com/gofast-org/gofast/gofast/inspect"
	"github.com/gofast-org/gofast/gofast/table/hdf5"
	"github.com/gofast-org/gofast/gofast/table/load"
)

// task is long work in the background, so that Ctrl-C can reach Python while it
// runs: Begin, then Poll until it is done, then Result.
type task struct {
	cancel      context.CancelFunc
	done        chan struct{}
	result      string
	err         error
	bytes, from atomic.Int64
}

var tasks sync.Map // of *task, by the numbers that Python gave them

// operations are what Begin can start. Python's side of this table is python/gofast/_core/*_operations.py.
var operations = map[string]func(ctx context.Context, t *task, config string) (any, error){
	"open":         working(openTable),
	"cache":        working(buildCache),
	"cache_texts":  working(finishCache),
	"convert":      working(convertTable),
	"verify":       working(verifyTable),
	"index":        working(scanFolder),
	"tfrecord":     working(indexRecords),
	"shards":       working(shardIndexes),
	"packs":        working(packs),
	"unpack":       working(unpack),
	"probe":        working(probeFiles),
	"fetch":        working(fetchFiles),
	"download":     working(download),
	"list":         working(listBucket),
	"upload":       working(upload),
	"folder":       working(downloadFolder),
	"place":        working(findRow),
	"file_rows":    working(fileRows),
	"verify_files": working(verifyFiles),
	"hdf5":         working(decodeChunks),
	"hdf5_rows":    working(decodeChunksInto),
	"stream":       working(openStream),
	"stream_cut":   working(cutStream),
	"stream_rows":  working(decodePieces),
	"stream_next":  working(decodeNext),
}

// working makes an entry of the table of a function that takes a C.
func working[C any](run func(context.Context, *task, C) (any, error)) func(context.Context, *task, string) (any, error) {
	return func(ctx context.Context, t *task, config string) (any, error) {
		c, err := decodeJSON[C](config)
		if err != nil {
			return nil, err
		}
		return run(ctx, t, c)
	}
}

// Begin starts an operation as a task, whose number the caller chooses: a new
// one, as for Submit.
func Begin(id int, operation, config string) (ok int, err error) {
	defer guard(&err)
	run, known := operations[operation]
	if !known {
		return 0, gofast.NewError(gofast.ErrConfig, "begin", "no such operation").WithCell(operation)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t := &task{cancel: cancel, done: make(chan struct{})}
	tasks.Store(id, t)
	go func() {
		defer close(t.done)
		defer guard(&t.err)
		defer cancel()
		value, err := run(ctx, t, config)
		if err != nil {
			t.err = err
			return
		}
		text, err := json.Marshal(value)
		t.result, t.err = string(text), err
	}()
	return 0, nil
}

func (t *task) progress(done, total int64) {
	t.bytes.Store(done)
	t.from.Store(total)
}

func findTask(id int) (*task, error) {
	t, ok := tasks.Load(id)
	if !ok {
		return nil, gofast.NewError(gofast.ErrClosed, "task", "no such task")
	}
	return t.(*task), nil
}

// Poll waits at most ms milliseconds. The part of the sources that was read so
// far, from 0 on; 1 when the task is done, and not before.
func Poll(id, ms int) (part float64, err error) {
	defer guard(&err)
	t, err := findTask(id)
	if err != nil {
		return 0, err
	}
	select {
	case <-t.done:
		return 1, nil
	case <-time.After(time.Duration(ms) * time.Millisecond):
	}
	total := t.from.Load()
	if total == 0 {
		return 0, nil
	}
	return min(float64(t.bytes.Load())/float64(total), almost), nil
}

// almost is the part of a task whose sources are read, and which goes on.
var almost = math.Nextafter(1, 0)

// Result waits for a task, forgets it, and returns what it made.
func Result(id int) (text string, err error) {
	defer func() { // the task's error was encoded when it ended
		if r := recover(); r != nil {
			err = border.PanicError(r, "pybind")
			guard(&err)
		}
	}()
	t, err := findTask(id)
	if err != nil {
		guard(&err)
		return "", err
	}
	<-t.done
	tasks.Delete(id)
	return t.result, t.err
}

// Abort cancels a task; Result then returns soon, with ErrCanceled unless the
// task was done already.
func Abort(id int) (ok int, err error) {
	defer guard(&err)
	t, err := findTask(id)
	if err != nil {
		return 0, err
	}
	t.cancel()
	return 0, nil
}

type openConfig struct {
	Paths []string `json:"paths"`
	load.Options
}

func openTable(ctx context.Context, t *task, c openConfig) (any, error) {
	c.Progress = t.progress
	return load.Decode(ctx, c.Paths, c.Options)
}

type rowConfig struct {
	openConfig
	Row int64 `json:"row"`
}

func findRow(ctx context.Context, _ *task, c rowConfig) (any, error) {
	return load.PlaceOf(ctx, c.Paths, c.Options, c.Row)
}

func fileRows(ctx context.Context, _ *task, c openConfig) (any, error) {
	return load.RowsOf(ctx, c.Paths, c.Options)
}

type convertConfig struct {
	openConfig
	Destination string `json:"destination"`
}

func convertTable(ctx context.Context, t *task, c convertConfig) (any, error) {
	c.Progress = t.progress
	return nil, load.Convert(ctx, c.Paths, c.Options, c.Destination)
}

func verifyTable(ctx context.Context, t *task, c openConfig) (any, error) {
	c.Progress = t.progress
	return nil, inspect.Whole(ctx, c.Paths, c.Options)
}

// decodeChunksInto decodes into memory of Python's.
func decodeChunksInto(ctx context.Context, _ *task, c struct {
	hdf5.Dataset
	memoryConfig
}) (any, error) {
	c.Into = c.memory()
	_, err := hdf5.Decode(ctx, c.Dataset)
	return nil, err
}

func decodeChunks(ctx context.Context, t *task, c hdf5.Dataset) (any, error) {
	c.Progress = t.progress
	return hdf5.Decode(ctx, c)
}
