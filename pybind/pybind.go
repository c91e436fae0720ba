// Package pybind is all that gopy reads: free functions that take integers and
// strings and return one value and an error. Call does control work, and Begin,
// Poll, Result and Abort long work; what is called for every batch is in
// package capsule.
package pybind

import (
	"runtime/debug"
	"sync"

	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/pybind/capsule"
)

var (
	mu        sync.Mutex
	theEngine *engine.Engine
)

// startConfig asks for threads; 0 means all that the process may use.
type startConfig struct {
	Threads int `json:"threads"`
}

// started is the engine of this process. Both addresses stay valid after it is closed.
type started struct {
	Threads   int                `json:"threads"`
	Crew      uintptr            `json:"crew"`       // its threads and their queue, which package capsule uses without entering Go
	Capsule   uintptr            `json:"capsule"`    // the C function that makes the per-batch module
	Layout    engine.TallyLayout `json:"layout"`     // of tallies: Python has some of its own, for its loaders
	Tally     uintptr            `json:"tally"`      // of what threads of no engine do
	CrewTally uintptr            `json:"crew_tally"` // of what is done for the engine's tickets
}

// start starts the engine of this process, once.
func start(c startConfig) (any, error) {
	mu.Lock()
	defer mu.Unlock()
	if theEngine == nil {
		// Batches live in C memory: what little garbage the Go side makes need
		// not be collected often, and a quarter of its default headroom is plenty.
		debug.SetGCPercent(25)
		theEngine = engine.New(c.Threads)
	}
	process, crew := theEngine.Tallies()
	return started{theEngine.ThreadCount(), theEngine.Address(), capsule.Address(), engine.LayoutOfTallies(), process, crew}, nil
}

func running() (*engine.Engine, error) {
	mu.Lock()
	defer mu.Unlock()
	if theEngine == nil {
		return nil, gofast.NewError(gofast.ErrClosed, "engine", "the engine is not running")
	}
	return theEngine, nil
}

func stats(nothing) (any, error) {
	e, err := running()
	if err != nil {
		return nil, err
	}
	return e.Stats(), nil
}

// stop closes the engine. Idempotent.
func stop(nothing) (any, error) {
	mu.Lock()
	e := theEngine
	mu.Unlock()
	if e != nil {
		e.Close()
	}
	// Until here free must find it: what is queued is being finished.
	mu.Lock()
	theEngine = nil
	mu.Unlock()
	return nil, nil
}
