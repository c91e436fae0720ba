package pybind

import (
	"context"

	"github.com/gofast-org/gofast/gofast/source/folder"
	"github.com/gofast-org/gofast/gofast/source/tfrecord"
	"github.com/gofast-org/gofast/gofast/table/arrow"
	"github.com/gofast-org/gofast/gofast/table/formats"
)

type tfrecordConfig struct {
	tfrecord.Options
	Paths []folder.Name `json:"paths"` // of any bytes, in the place of those of Options
	Index folder.Name   `json:"index"` // where it is kept; "" for memory
}

type tfrecordResult struct {
	FD int `json:"fd"`
	tfrecord.Schema
}

// indexRecords reads TFRecord files once, or finds that nothing changed since.
func indexRecords(ctx context.Context, t *task, c tfrecordConfig) (any, error) {
	c.Progress, c.Find, c.Rows = t.progress, formats.Find, arrow.Values
	for _, path := range c.Paths {
		c.Options.Paths = append(c.Options.Paths, string(path))
	}
	fd, schema, err := tfrecord.Build(ctx, c.Options, string(c.Index))
	return tfrecordResult{FD: fd, Schema: schema}, err
}

// shardIndexes reads indexes of shards in a file of Python's.
func shardIndexes(ctx context.Context, _ *task, c struct {
	FD      int                   `json:"fd"`
	Threads int                   `json:"threads"`
	Indexes []tfrecord.ShardIndex `json:"indexes"`
}) (any, error) {
	return tfrecord.Indexes(ctx, c.FD, c.Threads, c.Indexes)
}

// packs says which tar files are compressed.
func packs(ctx context.Context, _ *task, c struct {
	Paths   []folder.Name `json:"paths"`
	Threads int           `json:"threads"`
}) (any, error) {
	paths := make([]string, len(c.Paths))
	for i, path := range c.Paths {
		paths[i] = string(path)
	}
	return tfrecord.Packs(ctx, paths, c.Threads)
}

type unpacking struct {
	tfrecord.Unpacking
	From folder.Name `json:"from"` // of any bytes, in the place of that of Unpacking
}

// unpack writes what compressed files hold.
func unpack(ctx context.Context, t *task, c struct {
	Files   []unpacking `json:"files"`
	Threads int         `json:"threads"`
}) (any, error) {
	files := make([]tfrecord.Unpacking, len(c.Files))
	for i, each := range c.Files {
		files[i] = each.Unpacking
		files[i].From = string(each.From)
	}
	return tfrecord.Unpack(ctx, files, c.Threads, t.progress)
}
