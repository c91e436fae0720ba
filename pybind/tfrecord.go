package pybind

import (
	"context"

	"github.com/gofast-org/gofast/gofast/source/tfrecord"
)

type tfrecordConfig struct {
	tfrecord.Options
	Index string `json:"index"` // where it is kept; "" for memory
}

type tfrecordResult struct {
	FD int `json:"fd"`
	tfrecord.Schema
}

// indexRecords reads TFRecord files once, or finds that nothing changed since.
func indexRecords(ctx context.Context, t *task, c tfrecordConfig) (any, error) {
	c.Progress = t.progress
	fd, schema, err := tfrecord.Build(ctx, c.Options, c.Index)
	return tfrecordResult{FD: fd, Schema: schema}, err
}
