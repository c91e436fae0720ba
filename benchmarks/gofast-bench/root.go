package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/gofast-org/gofast/gofast"
	"github.com/spf13/cobra"
)

// The exit statuses, as Unix tools have them.
const (
	statusDone        = 0
	statusFailed      = 1
	statusUsage       = 2
	statusInterrupted = 130 // what a shell says of a program that SIGINT ended
)

// usageError is a wrong command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// silent is the error of a command that has said all there is to say.
var silent error = silentError{}

type silentError struct{}

func (silentError) Error() string { return "failed" }

// newRootCommand is gofast-bench with all its commands.
func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "gofast-bench",
		Short: "Measure how fast gofast turns files into batches, and what limits it",
		Long: `gofast-bench measures gofast's engine without Python, on your own data.

Results go to stdout, progress and notes to stderr. Exit status: 0 done, 1 failed,
2 wrong command line, 130 interrupted.`,
		Version:       gofast.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(*cobra.Command, []string) error {
			return usagef("give a command")
		},
	}
	root.PersistentFlags().Bool("json", false, "print JSON on stdout")
	root.AddCommand(
		newRunCommand(), newScanCommand(), newVerifyCommand(), newCompareCommand(), newRoofCommand(), newSynthCommand(),
	)
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
	root.SetOut(stdout)
	root.SetErr(stderr)
	begun := false // what is wrong before is wrong with the command line
	root.PersistentPreRun = func(*cobra.Command, []string) { begun = true }
	command, err := root.ExecuteContextC(ctx)
	var usage usageError
	switch {
	case err == nil:
		return statusDone
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "gofast-bench: interrupted")
		return statusInterrupted
	case errors.Is(err, silent):
		return statusFailed
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
