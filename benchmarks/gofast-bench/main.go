// Command gofast-bench measures how fast gofast turns files into batches, without Python, and what limits it.
//
//	gofast-bench run photos/ --transform "resize=256,centercrop=224,normalize=imagenet" --threads 1,2,4 --out report/
//	gofast-bench compare before.json after.json
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/gofast-org/gofast/gofast"
	"github.com/spf13/cobra"
)

// The exit statuses, as Unix tools have them.
const (
	statusDone        = 0
	statusFailed      = 1
	statusUsage       = 2
	statusInterrupted = 128 // and the signal's number
)

// interruption is the signal that ended a context.
type interruption struct{ syscall.Signal }

func (i interruption) Error() string { return i.String() }

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
		cancel(interruption{s.(syscall.Signal)})
		time.Sleep(grace)
		os.Exit(statusOf(ctx))
	}()
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// statusOf is the exit status for a context that ended.
func statusOf(ctx context.Context) int {
	i := interruption{syscall.SIGINT}
	_ = errors.As(context.Cause(ctx), &i)
	return statusInterrupted + int(i.Signal)
}

// usageError is a wrong command line.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// newRootCommand is gofast-bench with all its commands.
func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "gofast-bench",
		Short: "Measure how fast gofast turns files into batches, and what limits it",
		Long: `gofast-bench measures gofast's engine without Python, on your own data.

Results go to stdout, progress and notes to stderr. Exit status: 0 done, 1 failed,
2 wrong command line, 130 interrupted, 143 terminated.`,
		Version:       gofast.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(*cobra.Command, []string) error { return usagef("give a command") },
	}
	root.PersistentFlags().Bool("json", false, "print JSON on stdout")
	root.AddCommand(newRunCommand(), newCompareCommand(), newRoofCommand(), newSynthCommand())
	return root
}

// execute runs a command line and returns the exit status.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root, begun := newRootCommand(), false
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.PersistentPreRun = func(*cobra.Command, []string) { begun = true } // what is wrong before is the command line
	command, err := root.ExecuteContextC(ctx)
	var usage usageError
	switch {
	case err == nil:
		return statusDone
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "gofast-bench: interrupted")
		return statusOf(ctx)
	case errors.As(err, &usage) || !begun:
		fmt.Fprintf(stderr, "gofast-bench: %v\nTry '%s --help'.\n", err, command.CommandPath())
		return statusUsage
	default:
		fmt.Fprintln(stderr, "gofast-bench:", err)
		return statusFailed
	}
}

// wantsJSON says that --json was given.
func wantsJSON(c *cobra.Command) bool {
	yes, err := c.Flags().GetBool("json")
	return err == nil && yes
}

func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}
