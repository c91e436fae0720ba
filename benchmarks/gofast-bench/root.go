package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/gofast-org/gofast/gofast"
	"github.com/spf13/cobra"
)

// The exit statuses, as Unix tools have them.
const (
	statusDone   = 0
	statusFailed = 1
	statusUsage  = 2

	statusSignal      = 128 // and the signal's number: what a shell says of a program that a signal ended
	statusInterrupted = statusSignal + int(syscall.SIGINT)
)

// interruption is the signal that ended a context.
type interruption struct{ os.Signal }

func (i interruption) Error() string { return i.String() }

// statusOf is the exit status for a context that ended.
func statusOf(ctx context.Context) int {
	var i interruption
	if errors.As(context.Cause(ctx), &i) {
		if number, ok := i.Signal.(syscall.Signal); ok {
			return statusSignal + int(number)
		}
	}
	return statusInterrupted
}

// output remembers the first error, so that no command that prints has to.
type output struct {
	io.Writer
	err error
}

func (o *output) Write(data []byte) (int, error) {
	n, err := o.Writer.Write(data)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// usageError is a wrong command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

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
		RunE: func(*cobra.Command, []string) error {
			return usagef("give a command")
		},
	}
	root.PersistentFlags().Bool("json", false, "print JSON on stdout")
	root.AddCommand(newRunCommand(), newCompareCommand(), newRoofCommand(), newSynthCommand())
	return root
}

// execute runs a command line and returns the exit status.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) (status int) {
	defer func() {
		if panicked := recover(); panicked != nil {
			fmt.Fprintf(stderr, "gofast-bench: a bug: %v\n", gofast.PanicError(panicked, "gofast-bench"))
			status = statusFailed
		}
	}()
	root := newRootCommand()
	root.SetArgs(args)
	out := &output{Writer: stdout}
	root.SetOut(out)
	root.SetErr(stderr)
	begun := false // what is wrong before is wrong with the command line
	root.PersistentPreRun = func(*cobra.Command, []string) { begun = true }
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = out.err
	}
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
