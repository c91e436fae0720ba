package gofast

import "sync/atomic"

// progress adds up the bytes read from all sources.
type progress struct {
	done   atomic.Int64
	total  int64 // must be set before decoding starts
	report func(done, total int64)
}

func newProgress(report func(done, total int64)) *progress { return &progress{report: report} }

func (p *progress) add(n int64) {
	if done := p.done.Add(n); p.report != nil {
		p.report(done, p.total)
	}
}
