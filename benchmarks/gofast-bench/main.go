// Command gofast-bench measures how fast gofast turns files into batches, without Python, and what limits it.
//
//	gofast-bench run photos/ --transform "resize=256,centercrop=224,normalize=imagenet" --threads 1,2,4 --out report/
//	gofast-bench compare before.json after.json
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// grace is how long a command may take to end after Ctrl-C. What asks no context, such as the opening of a
// pipe that has no writer, is left behind then.
const grace = 500 * time.Millisecond

func main() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		s := <-signals
		signal.Stop(signals) // a second Ctrl-C ends the process at once
		cancel(interruption{s})
		time.Sleep(grace)
		os.Exit(statusOf(ctx))
	}()
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
