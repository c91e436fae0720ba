package gofast

import (
	"sync"

	"github.com/gofast-org/gofast/gofast/engine"
)

// rings keeps the memory of an engine's last iteration for the next one. Fresh memory costs
// page faults: a batch of 38.5 MB took 18.6 ms in it, and 0.62 ms in memory that was used before.
type rings struct {
	lock   sync.Mutex
	free   []engine.Ring // of features and labels, the latest last
	closed bool
}

const mostKeptRings = 2

// take is a ring of lookAhead slots, all of them free.
func (r *rings) take(bytes int64) (engine.Ring, error) {
	r.lock.Lock()
	for i, ring := range r.free {
		if ring.SlotBytes() == (max(bytes, 1)+63)&^63 { // as NewRing aligns them
			r.free = append(r.free[:i:i], r.free[i+1:]...)
			r.lock.Unlock()
			return ring, nil
		}
	}
	r.lock.Unlock()
	return engine.NewRing(bytes, lookAhead)
}

// keep takes a ring back. Its slots are free again.
func (r *rings) keep(ring engine.Ring) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.closed {
		ring.Drop()
		return
	}
	r.free = append(r.free, ring)
	for len(r.free) > mostKeptRings {
		r.free[0].Drop()
		r.free = r.free[1:]
	}
}

func (r *rings) close() {
	r.lock.Lock()
	defer r.lock.Unlock()
	for _, ring := range r.free {
		ring.Drop()
	}
	r.free, r.closed = nil, true
}
