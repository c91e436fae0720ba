package gofast

import (
	"context"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/source"
)

// ahead are the batches of an iteration that are not submitted yet. Those of objects that
// are fetched are on their way, or in memory already.
type ahead struct {
	dataset *Dataset
	order   []int64 // what is not pulled
	rows    int     // of a batch
	pulled  []pull
}

// pull is a batch whose bytes are wanted.
type pull struct {
	indices []int64
	lease   *source.Lease // nil where nothing is fetched
}

// begin makes sure that no other iteration fetches.
func (a *ahead) begin() error {
	if o := a.dataset.objects; o != nil && o.fetcher != nil && !o.running.CompareAndSwap(false, true) {
		return errs.New(errs.ErrConfig, "batches", "another iteration of this dataset is running, and its objects are fetched for one at a time")
	}
	return nil
}

// end lets everything go that is on its way.
func (a *ahead) end() {
	for _, p := range a.pulled {
		p.lease.Release()
	}
	if a.dataset.objects != nil {
		a.dataset.objects.running.Store(false)
	}
}

// next is the next batch; false at the end, and where its bytes are not there yet and
// nobody is to wait for them.
func (a *ahead) next(ctx context.Context, wait bool) (pull, bool, error) {
	o := a.dataset.objects
	for len(a.order) > 0 && (len(a.pulled) == 0 || o != nil && o.fetcher != nil && o.fetcher.Hungry()) {
		p := pull{indices: a.order[:min(a.rows, len(a.order))]}
		if o != nil && o.fetcher != nil {
			lease, err := o.fetcher.Want(a.samples(p.indices))
			if err != nil && len(a.pulled) > 0 {
				break // it comes in its turn
			}
			if err != nil {
				return pull{}, false, err
			}
			p.lease = lease
		}
		a.pulled, a.order = append(a.pulled, p), a.order[len(p.indices):]
	}
	if len(a.pulled) == 0 {
		return pull{}, false, nil
	}
	p := a.pulled[0]
	if p.lease != nil {
		if !wait && !p.lease.Ready() {
			return pull{}, false, nil
		}
		if err := p.lease.Wait(ctx); err != nil {
			return pull{}, false, err
		}
	}
	a.pulled = a.pulled[1:]
	return p, true, nil
}

// samples are the pictures of the indices that are some; the draw refuses others.
func (a *ahead) samples(indices []int64) []int64 {
	samples := make([]int64, 0, len(indices))
	for _, index := range indices {
		if _, sample, ok := a.dataset.view.Find(index); ok {
			samples = append(samples, sample)
		}
	}
	return samples
}
