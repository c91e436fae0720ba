package pybind

import (
	"sync"

	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/engine"
)

// theTrace is the one under way.
var (
	traceLock sync.Mutex
	theTrace  *engine.Trace
)

func startTrace(c struct {
	Path   string `json:"path"`
	Events int    `json:"events"` // of each thread
}) (any, error) {
	traceLock.Lock()
	defer traceLock.Unlock()
	started, err := engine.StartTrace(c.Path, c.Events)
	if err == nil {
		theTrace = started
	}
	return nothing{}, err
}

// stopTrace writes the file, with what Python's threads did elsewhere.
func stopTrace(c struct {
	Spans []engine.Span `json:"spans"`
}) (any, error) {
	traceLock.Lock()
	defer traceLock.Unlock()
	if theTrace == nil {
		return nil, gofast.NewError(gofast.ErrClosed, "trace", "there is no trace to stop")
	}
	trace := theTrace
	theTrace = nil
	return trace.Stop(c.Spans)
}
