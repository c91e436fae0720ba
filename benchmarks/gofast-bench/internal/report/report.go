// Package report is what a run found, as JSON, CSV and text.
package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/machine"
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/statistics"
)

// Format is the number of the JSON's layout. A reader refuses others.
const Format = 2

// Report is what a run found.
type Report struct {
	Format    int            `json:"format"`
	Started   time.Time      `json:"started"`
	Machine   machine.Facts  `json:"machine"`
	Work      Work           `json:"work"`
	Cache     machine.Cache  `json:"page_cache_before"`
	Dropped   *machine.Cache `json:"page_cache_after_drop,omitempty"` // with --drop-cache: what stayed
	OpenS     float64        `json:"open_seconds"`
	Device    string         `json:"device,omitempty"`
	Runs      []Run          `json:"runs"`
	Memory    []Memory       `json:"memory"`
	PeakBytes int64          `json:"peak_bytes"` // resident, with what the engines of all runs keep
	Bad       []BadSample    `json:"bad_samples,omitempty"`
}

// Work is what was done: figures of other work cannot be compared.
type Work struct {
	Kind      string   `json:"kind"` // "pictures" or "table"
	Paths     []string `json:"paths"`
	Samples   int64    `json:"samples"`
	Files     int64    `json:"files"`
	Bytes     int64    `json:"file_bytes"`
	Digest    string   `json:"digest"` // of the files' names and sizes
	Transform string   `json:"transform,omitempty"`
	Shape     []int    `json:"shape"`
	DType     string   `json:"dtype"`
	Stored    string   `json:"stored_as,omitempty"` // of a table
	Batch     int      `json:"batch"`
	Epochs    int      `json:"epochs"`
	Order     string   `json:"order"` // "shuffle" or "sequential"
	Seed      uint64   `json:"seed"`
	OnError   string   `json:"on_error,omitempty"`
	DropCache bool     `json:"drop_cache"`
}

// Run is one number of threads. Seconds are of whole epochs.
type Run struct {
	Threads      int                  `json:"threads"`
	Seconds      []float64            `json:"seconds"`
	Warmup       float64              `json:"warmup_seconds"` // the first epoch; it and others warm up, and are in no other figure
	Median       float64              `json:"median_seconds"`
	Interval     *statistics.Interval `json:"median_95"`
	SamplesPerS  float64              `json:"samples_per_second"` // of the median epoch
	PerSInterval *statistics.Interval `json:"samples_per_second_95"`
	ProcessorS   float64              `json:"processor_seconds_per_sample"` // median, user and system, all threads
	Busy         float64              `json:"busy"`                         // processor seconds by threads x seconds
	FirstBatch   float64              `json:"first_batch_seconds"`          // median over epochs
	Latency      []float64            `json:"batch_seconds_quantiles"`      // 0 %, 1 %, ... 100 %: from asking to having a batch, beside each epoch's first
	Stages       []Stage              `json:"stages"`                       // of threads x seconds
	Moves        *Moves               `json:"moves,omitempty"`              // what a device says
}

// Stage is what the threads did.
type Stage struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds_per_sample"` // of all threads, in the median epoch
	Share   float64 `json:"share"`              // of threads x seconds
}

// Moves is what a device says of one number of threads: of all epochs together, of batches of 1 MiB and more.
type Moves struct {
	Bytes         int64   `json:"bytes"`
	Rate          float64 `json:"bytes_per_second"` // of the copies themselves
	CopySeconds   float64 `json:"copy_seconds"`
	KernelSeconds float64 `json:"kernel_seconds"`
	WaitedSeconds float64 `json:"waited_seconds"` // by the loop, for batches that had not arrived
	Overlap       float64 `json:"overlap"`        // the share of copies and kernels that the loop did not wait for
}

// Waiting is the stage that is no work: for files, for work, or for a processor.
const Waiting = "waiting"

// Memory is the resident memory at a moment.
type Memory struct {
	Seconds float64 `json:"seconds"`
	Bytes   int64   `json:"bytes"`
	Threads int     `json:"threads"` // of the epoch that ran
	Warmup  bool    `json:"warmup,omitempty"`
}

// BadSample is a picture that could not be made.
type BadSample struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Unit is what a sample is called.
func (w *Work) Unit() string {
	if w.Kind == "table" {
		return "rows"
	}
	return "pictures"
}

// Read reads a report's JSON.
func Read(path string) (*Report, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r Report
	if err = json.Unmarshal(data, &r); err == nil {
		err = r.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: no report of gofast-bench run --json: %w", path, err)
	}
	return &r, nil
}

// check refuses figures that no run gives.
func (r *Report) check() error {
	if r.Format != Format {
		return fmt.Errorf("it has format %d, and this gofast-bench reads format %d: run it again", r.Format, Format)
	}
	seen := map[int]bool{}
	for _, run := range r.Runs {
		if run.Threads < 1 || seen[run.Threads] || len(run.Seconds) == 0 || !(slices.Min(run.Seconds) > 0) {
			return errors.New("a number of threads is wrong, there twice, or without epochs that take time")
		}
		seen[run.Threads] = true
	}
	if len(r.Runs) == 0 {
		return errors.New("it has no runs")
	}
	return nil
}
