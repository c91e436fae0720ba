// Package pybind is all that gopy reads: free functions that take integers and
// strings and return one value and an error. They are called a few times a
// batch, never a sample; what is called more often is in package capsule.
package pybind

import (
	"encoding/json"
	"runtime/debug"
	"sync"

	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/pybind/capsule"
)

var (
	mu        sync.Mutex
	theEngine *gofast.Engine
)

// Version is gofast's version.
func Version() string { return gofast.Version }

// Errors lists the names of the error catalogue, as a JSON array.
func Errors() string {
	text, _ := json.Marshal(gofast.ErrorNames())
	return string(text)
}

// CapsuleModule is the address of the C function that makes the per-batch module.
func CapsuleModule() uintptr { return capsule.Address() }

// Start starts the engine of this process, once, and returns its threads. 0
// threads means all that the process may use.
func Start(threads int) (count int, err error) {
	defer guard(&err)
	mu.Lock()
	defer mu.Unlock()
	if theEngine == nil {
		// Batches live in C memory: what little garbage the Go side makes need
		// not be collected often, and a quarter of its default headroom is plenty.
		debug.SetGCPercent(25)
		theEngine = gofast.NewEngine(threads)
	}
	return theEngine.ThreadCount(), nil
}

func running() (*gofast.Engine, error) {
	mu.Lock()
	defer mu.Unlock()
	if theEngine == nil {
		return nil, gofast.NewError(gofast.ErrClosed, "engine", "the engine is not running")
	}
	return theEngine, nil
}

// Crew is the address of the engine's threads and their queue in C memory:
// package capsule submits to it and waits for it without entering Go.
func Crew() (address uintptr, err error) {
	defer guard(&err)
	e, err := running()
	if err != nil {
		return 0, err
	}
	return e.Address(), nil
}

// Stats describes the engine, as a JSON object.
func Stats() (text string, err error) {
	defer guard(&err)
	e, err := running()
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(e.Stats())
	return string(b), err
}

// Close stops the engine. Idempotent.
func Close() (ok int, err error) {
	defer guard(&err)
	mu.Lock()
	e := theEngine
	mu.Unlock()
	if e != nil {
		e.Close()
	}
	// Until here FreeView must find it: what is queued is being finished.
	mu.Lock()
	theEngine = nil
	mu.Unlock()
	return 0, nil
}
