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
