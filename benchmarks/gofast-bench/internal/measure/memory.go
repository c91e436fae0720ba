package measure

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/report"
)

// watcher notes the resident memory of the process while an epoch runs.
type watcher struct {
	lock    sync.Mutex
	started time.Time
	every   time.Duration
	during  report.Memory // the epoch that runs: its threads, 0 for none
	points  []report.Memory
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
			select {
			case <-w.done:
				return
			case <-time.After(w.note()):
			}
		}
	})
	return w
}

// run says which epoch runs from now on; 0 threads: none.
func (w *watcher) run(threads int, warmup bool) {
	w.note()
	w.lock.Lock()
	w.during = report.Memory{Threads: threads, Warmup: warmup}
	w.lock.Unlock()
}

// note adds a point, and returns the time to the next.
func (w *watcher) note() time.Duration {
	w.lock.Lock()
	defer w.lock.Unlock()
	point := w.during
	if point.Bytes = resident(); point.Threads == 0 || point.Bytes == 0 {
		return w.every
	}
	point.Seconds = time.Since(w.started).Seconds()
	w.peak, w.points = max(w.peak, point.Bytes), append(w.points, point)
	if len(w.points) > mostPoints {
		for i := range mostPoints / 2 {
			w.points[i] = w.points[2*i]
		}
		w.points, w.every = w.points[:mostPoints/2], 2*w.every
	}
	return w.every
}

func (w *watcher) stop() {
	close(w.done)
	w.ended.Wait()
}

// resident is the process's resident memory; 0 where it cannot be read.
func resident() int64 {
	data, _ := os.ReadFile("/proc/self/statm")
	var all, pages int64
	if _, err := fmt.Sscan(string(data), &all, &pages); err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
