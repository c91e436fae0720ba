package gofast

import "github.com/gofast-org/gofast/gofast/engine"

// Stats counts what an engine has done; see [engine.Stats]. [Engine.Stats] returns it.
type Stats = engine.Stats

// Trace is a file in the making that tells what threads do.
type Trace = engine.Trace

// StartTrace begins a trace of all threads and tickets of this process; see [engine.StartTrace]. Of each thread the last
// so many events are kept: 100,000 are 3 MB.
func StartTrace(path string, events int) (*Trace, error) { return engine.StartTrace(path, events) }
