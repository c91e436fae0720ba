package pybind

import (
	"encoding/json"

	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/border"
)

// calls are what Call can do. Python's side of this table, with the type of
// every argument and result, is python/gofast/_core/*_operations.py.
var calls = map[string]func(config string) (any, error){
	"about":        with(about),
	"start":        with(start),
	"stats":        with(stats),
	"close":        with(stop),
	"codecs":       with(loadCodecs),
	"is_fused":     with(isFused),
	"rows":         with(newRows),
	"tokens":       with(newTokens),
	"pictures":     with(newPictures),
	"join":         with(join),
	"free":         with(free),
	"device":       with(openDevice),
	"close_device": with(closeDevice),
	"device_stats": with(deviceStats),
	"kernel":       with(findKernel),
	"numbers":      with(numbersOf),
	"certain":      with(certainOf),
	"kept_keys":    with(keptKeys),
	"codes":        with(writeCodes),
	"torch_words":  with(torchWordsOf),
	"records":      with(recordsOf),
	"here":         with(aboutHere),
	"close_cache":  with(closeCache),
	"close_stream": with(closeStream),
	"start_trace":  with(startTrace),
	"stop_trace":   with(stopTrace),
	"close_idle":   with(closeIdle),
}

// Call does control work at once: JSON in, JSON out. Long work is Begin's.
func Call(operation, config string) (text string, err error) {
	defer guard(&err)
	run, known := calls[operation]
	if !known {
		return "", gofast.NewError(gofast.ErrConfig, "call", "no such operation").WithCell(operation)
	}
	value, err := run(config)
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(value)
	return string(b), err
}

// with makes an entry of the table of a function that takes a C.
func with[C any](run func(C) (any, error)) func(config string) (any, error) {
	return func(config string) (any, error) {
		c, err := decodeJSON[C](config)
		if err != nil {
			return nil, err
		}
		return run(c)
	}
}

func decodeJSON[C any](text string) (c C, err error) {
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return c, gofast.NewError(gofast.ErrConfig, "config", "not the JSON that was expected").Because(err)
	}
	return c, nil
}

// nothing is the configuration of an operation that needs none.
type nothing struct{}

// about is gofast's version and the names of the error catalogue.
func about(nothing) (any, error) {
	return struct {
		Version string   `json:"version"`
		Errors  []string `json:"errors"`
	}{gofast.Version, border.ErrorNames()}, nil
}
