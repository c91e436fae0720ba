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
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	status := execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}
