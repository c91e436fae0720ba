package measure

import (
	"context"
	"fmt"
	"time"

	"github.com/gofast-org/gofast/gofast"
	"golang.org/x/sys/unix"
)

// Epoch is what one epoch took.
type Epoch struct {
	Seconds   float64
	Processor float64   // seconds, user and system, of the whole process
	Batches   []float64 // seconds from asking to having, of each batch
}

// Batches goes over one epoch's batches and calls each as soon as one is there.
type Batches func(ctx context.Context, order []int64, each func(rows int)) error

// Host are a loader's batches in memory.
func Host(l gofast.Loader) Batches {
	return func(ctx context.Context, order []int64, each func(int)) error {
		for b, err := range l.Batches(ctx, order) {
			if err == nil {
				err = ctx.Err() // nobody asks where batches are always ready
			}
			if err != nil {
				return err
			}
			each(b.Rows)
		}
		return nil
	}
}

// run times one epoch, with the making of its order, as a training loop would.
func run(ctx context.Context, l gofast.Loader, epoch uint64, order func() []int64, batches Batches) (Epoch, error) {
	l.Dataset.SetEpoch(epoch)
	e, rows := Epoch{}, int64(0)
	before, start := processorSeconds(), time.Now()
	last := start
	err := batches(ctx, order(), func(n int) {
		now := time.Now()
		e.Batches = append(e.Batches, now.Sub(last).Seconds())
		last, rows = now, rows+int64(n)
	})
	e.Seconds, e.Processor = time.Since(start).Seconds(), processorSeconds()-before
	if err == nil && rows != l.Dataset.Len() {
		err = fmt.Errorf("an epoch gave %d samples of %d", rows, l.Dataset.Len())
	}
	return e, err
}

func processorSeconds() float64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
