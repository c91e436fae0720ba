// Command gofast-bench measures the engine without Python.
//
//	gofast-bench run PATH... --batch 512 --threads 1,2 --epochs 5 --shuffle --seed 0 --json --device cuda:0
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

const usage = `usage: gofast-bench run PATH... [flags]

Opens a table (CSV, TSV, Parquet, npy, npz; several files, a glob or a folder are
one table) and times epochs of batches, for each number of threads.

`

// errUsage is a wrong command line: exit status 2, as Unix tools do.
var errUsage = errors.New("usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "gofast-bench:", err)
		os.Exit(1)
	}
}

// config is the command line of run.
type config struct {
	paths   []string
	batch   int
	threads []int
	epochs  int
	shuffle bool
	seed    uint64
	json    bool
	label   string
	named   bool // --label was given: it must be there
	header  *bool
	device  int // the ordinal of a GPU; -1: none
}

func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c := config{device: -1}
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	threads := flags.String("threads", "1", "numbers of engine threads to measure, separated by commas")
	flags.IntVar(&c.batch, "batch", 512, "rows of a batch")
	flags.IntVar(&c.epochs, "epochs", 5, "epochs to time for each number of threads; one more is run first to warm up")
	flags.BoolVar(&c.shuffle, "shuffle", false, "shuffle every epoch")
	flags.Uint64Var(&c.seed, "seed", 0, "seed of the shuffle")
	flags.BoolVar(&c.json, "json", false, "print JSON instead of a table")
	flags.StringVar(&c.label, "label", "label", "name of the label column; only the default may be absent, \"\" for none")
	flags.Func("device", "move the batches to a GPU: cuda:0, or cuda", func(name string) (err error) {
		c.device, err = ordinal(name)
		return err
	})
	header := flags.String("header", "auto", "whether the first line of a text file names the columns: auto, true or false")
	if len(args) == 0 || args[0] != "run" {
		flags.Usage()
		if len(args) == 1 && (args[0] == "-h" || args[0] == "--help") {
			return flag.ErrHelp
		}
		return errUsage
	}
	rest := args[1:]
	for len(rest) > 0 { // paths and flags in any order
		if !strings.HasPrefix(rest[0], "-") {
			c.paths, rest = append(c.paths, rest[0]), rest[1:]
			continue
		}
		if err := flags.Parse(rest); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return err
			}
			return errUsage
		}
		rest = flags.Args()
	}
	for _, text := range strings.Split(*threads, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 {
			fmt.Fprintf(stderr, "gofast-bench: --threads %q: give numbers from 1 on, separated by commas\n", *threads)
			return errUsage
		}
		c.threads = append(c.threads, n)
	}
	flags.Visit(func(f *flag.Flag) { c.named = c.named || f.Name == "label" })
	if names, err := strconv.ParseBool(*header); err == nil {
		c.header = &names
	} else if *header != "auto" {
		fmt.Fprintf(stderr, "gofast-bench: --header %q: give auto, true or false\n", *header)
		return errUsage
	}
	if len(c.paths) == 0 || c.batch < 1 || c.epochs < 1 {
		fmt.Fprintln(stderr, "gofast-bench: give a path, and a batch and epochs of at least 1")
		return errUsage
	}
	report, err := measure(ctx, c, stderr)
	if err != nil {
		return err
	}
	if c.json {
		return report.writeJSON(stdout)
	}
	return report.writeText(stdout)
}

// ordinal is the number of a CUDA device.
func ordinal(name string) (int, error) {
	if name == "cuda" {
		return 0, nil
	}
	number, cuda := strings.CutPrefix(name, "cuda:")
	n, err := strconv.ParseUint(number, 10, 16)
	if !cuda || err != nil {
		return 0, errors.New("give cuda, or cuda:0, cuda:1 and so on")
	}
	return int(n), nil
}
