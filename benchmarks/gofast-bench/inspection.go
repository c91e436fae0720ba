package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/gofast-org/gofast/gofast/inspect"
)

// The commands scan and verify look at files and print what package inspect finds.

// finding is that, for people as text, for programs as JSON.
type finding interface{ WriteText(io.Writer) error }

// inspectOptions are those of the command line. done ends the line of progress.
func inspectOptions(c *cobra.Command, what string) (o inspect.Options, done func(), err error) {
	if o.Threads, err = c.Flags().GetInt("threads"); err != nil || o.Threads < 1 && c.Flags().Changed("threads") || o.Threads > mostThreads {
		return o, nil, usagef("--threads %d: give a number from 1 to %d, or leave it out", o.Threads, mostThreads)
	}
	if !isTerminal(c.ErrOrStderr()) {
		return o, func() {}, nil
	}
	m := &meter{w: c.ErrOrStderr(), what: what, due: time.Now().Add(time.Second)} // short work needs no line
	o.Progress = m.update
	return o, m.end, nil
}

func printFinding(c *cobra.Command, f finding) error {
	if wantsJSON(c) {
		return writeJSON(c.OutOrStdout(), f)
	}
	return f.WriteText(c.OutOrStdout())
}

// meter is a line of progress that any goroutine updates.
type meter struct {
	w    io.Writer
	what string

	lock  sync.Mutex
	due   time.Time // when it is written again
	shown bool
}

func (m *meter) update(done, total int64) {
	if total == 0 || !m.lock.TryLock() {
		return // somebody else is writing it
	}
	defer m.lock.Unlock()
	if now := time.Now(); now.After(m.due) {
		m.due, m.shown = now.Add(atMostEvery), true
		fmt.Fprintf(m.w, "\r%s: %3d %%", m.what, 100*done/total)
	}
}

func (m *meter) end() {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.shown {
		fmt.Fprint(m.w, "\r\x1b[K")
	}
}
