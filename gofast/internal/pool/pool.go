// Package pool runs jobs on a bounded number of goroutines. A panic in a job becomes
// an error with its stack, and never leaves the package.
package pool

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

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
// in the order of i. The first failure cancels ctx for the others. Each returns the
// error with the lowest i among those seen, after every started job has returned.
func Each(ctx context.Context, threads, n int, job func(ctx context.Context, i int) error) error {
	if n <= 0 {
		return ctx.Err()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		next   atomic.Int64
		mu     sync.Mutex
		failed error
		at     = n
		group  sync.WaitGroup
	)
	one := func(i int) (err error) {
		defer Recover(&err, "job", "")
		return job(ctx, i)
	}
	work := func() {
		for ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			if err := one(i); err != nil {
				mu.Lock()
				// A job that only noticed the cancellation is not the cause.
				noticed := errors.Is(err, context.Canceled)
				if failed == nil || !noticed && (i < at || errors.Is(failed, context.Canceled)) {
					failed, at = err, i
				}
				mu.Unlock()
				cancel()
				return
			}
		}
	}
	for range min(max(threads, 1), n) - 1 {
		group.Go(work)
	}
	work() // the caller is one of the threads
	group.Wait()
	if failed != nil {
		return failed
	}
	if int(next.Load()) < n {
		return ctx.Err() // the caller's context ended before every job was started
	}
	return nil
}
