// Package pool runs jobs on a bounded number of goroutines. A panic in a job becomes
// an error with its stack, and never leaves the package.
package pool

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// Recover turns a panic into an ErrInternal in *err. Use as
// `defer pool.Recover(&err, "csv", path)` in every goroutine and export.
func Recover(err *error, op, path string) {
	if r := recover(); r != nil {
		*err = PanicError(r, op, path)
	}
}

// PanicError is the error for a recovered panic. Call it in the function that recovers.
func PanicError(panicked any, op, path string) error {
	e := errs.New(errs.ErrInternal, op, fmt.Sprintf("panic: %v", panicked)).At(path)
	e.Debug = string(debug.Stack())
	return e
}

// Each calls job(ctx, i) for i in 0..n-1 on at most threads goroutines, starting jobs
// in the order of i. It returns the error with the lowest i, whatever the number of threads, after every
// started job has returned: a failure cancels ctx for the jobs behind it, and those before it are finished.
func Each(ctx context.Context, threads, n int, job func(ctx context.Context, i int) error) error {
	if n <= 0 {
		return ctx.Err()
	}
	type worker struct {
		job    int
		cancel context.CancelFunc
	}
	var (
		first   First
		mu      sync.Mutex // of next and workers
		next    int
		workers = make([]worker, min(max(threads, 1), n))
		group   sync.WaitGroup
	)
	one := func(ctx context.Context, i int) (err error) {
		defer Recover(&err, "job", "")
		return job(ctx, i)
	}
	claim := func(w *worker) (i int, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		if next >= n || first.Err() != nil {
			return 0, false
		}
		w.job = next
		next++
		return w.job, true
	}
	fail := func(i int, err error) {
		mu.Lock()
		defer mu.Unlock()
		first.Note(Place{Row: int64(i)}, err)
		for _, w := range workers {
			if w.job > i {
				w.cancel()
			}
		}
	}
	work := func(ctx context.Context, w *worker) {
		for ctx.Err() == nil {
			i, ok := claim(w)
			if !ok {
				return
			}
			if err := one(ctx, i); err != nil {
				fail(i, err)
				return
			}
		}
	}
	contexts := make([]context.Context, len(workers)) // all are there before any job can fail
	for k := range workers {
		contexts[k], workers[k].cancel = context.WithCancel(ctx)
		defer workers[k].cancel()
	}
	for k := range len(workers) - 1 {
		group.Go(func() { work(contexts[k], &workers[k]) })
	}
	work(contexts[len(workers)-1], &workers[len(workers)-1]) // the caller is one of the threads
	group.Wait()
	if err := first.Err(); err != nil {
		return err
	}
	if next < n {
		return ctx.Err() // the caller's context ended before every job was started
	}
	return nil
}
