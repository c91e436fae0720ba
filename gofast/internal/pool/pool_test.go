package pool

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// A failure ends the jobs behind it; those before it are finished, as one of them may fail too.
func TestEachReturnsTheFirstFailure(t *testing.T) {
	for _, threads := range []int{1, 2, 8} {
		for range 50 {
			err := Each(t.Context(), threads, 40, func(ctx context.Context, i int) error {
				switch {
				case i == 5: // the slowest
					time.Sleep(time.Millisecond)
					if ctx.Err() != nil {
						return ctx.Err()
					}
				case i < 5:
					return nil
				case i > 20:
					<-ctx.Done()
					return ctx.Err()
				}
				return fmt.Errorf("job %d", i)
			})
			if err == nil || err.Error() != "job 5" {
				t.Fatalf("%d threads: %v", threads, err)
			}
		}
	}
}

func TestEachEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := Each(ctx, 3, 10, func(ctx context.Context, i int) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := Each(t.Context(), 3, 2, func(context.Context, int) error { panic("job") }); err == nil {
		t.Fatal("a panic is an error")
	}
}
