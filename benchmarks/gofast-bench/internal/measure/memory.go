package measure

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/report"
)

// watcher notes the resident memory of the process from time to time.
type watcher struct {
	lock    sync.Mutex
	started time.Time
	every   time.Duration
	points  []report.Memory
	threads int
	warmup  bool
	peak    int64
	done    chan struct{}
	ended   sync.WaitGroup
}

// mostPoints bounds what is kept: when there are more, every other one goes.
const mostPoints = 2000

func watchMemory() *watcher {
	w := &watcher{started: time.Now(), every: 10 * time.Millisecond, done: make(chan struct{})}
	w.ended.Go(func() {
		for {
			w.note()
			select {
			case <-w.done:
				return
			case <-time.After(w.interval()):
			}
		}
	})
	return w
}

func (w *watcher) interval() time.Duration {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.every
}

// during says which epoch runs from now on; 0 threads: none.
func (w *watcher) during(threads int, warmup bool) {
	w.note()
	w.lock.Lock()
	w.threads, w.warmup = threads, warmup
	w.lock.Unlock()
}

func (w *watcher) note() {
	bytes := resident()
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.threads == 0 || bytes == 0 {
		return
	}
	w.peak = max(w.peak, bytes)
	w.points = append(w.points, report.Memory{Seconds: time.Since(w.started).Seconds(), Bytes: bytes, Threads: w.threads, Warmup: w.warmup})
	if len(w.points) > mostPoints {
		kept := w.points[:0]
		for i := 0; i < len(w.points); i += 2 {
			kept = append(kept, w.points[i])
		}
		w.points, w.every = kept, 2*w.every
	}
}

func (w *watcher) stop() {
	close(w.done)
	w.ended.Wait()
}

// resident is the process's resident memory; 0 where it cannot be read.
func resident() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	var all, pages int64
	if err != nil {
		return 0
	}
	if _, err := fmt.Sscan(string(data), &all, &pages); err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

func (w *watcher) most() int64 {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.peak
}

func (w *watcher) all() []report.Memory {
	w.lock.Lock()
	defer w.lock.Unlock()
	return append([]report.Memory{}, w.points...)
}
