package main

import (
	"fmt"

	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/synth"
	"github.com/spf13/cobra"
)

func newSynthCommand() *cobra.Command {
	var o synth.Options
	var size string
	c := &cobra.Command{
		Use:   "synth DST",
		Short: "Make test data: pictures in class folders, or a table",
		Long: `Make test data. The same options and seed make the same bytes.

Pictures go into DST/class000, DST/class001 and so on: smooth shapes with noise, about as
large as photographs of that size. A table goes into the file DST: a column "label",
and columns f0, f1 and so on. Nothing is ever overwritten.`,
		Example: `  gofast-bench synth photos/ --count 1000 --classes 10 --size 500x375
  gofast-bench synth damaged/ --count 100 --broken 5
  gofast-bench synth mixed/ --kind png --count 200
  gofast-bench synth train.csv --count 100000 --columns 784`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return usagef("give one DST: a folder for pictures, or the file of a table")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if !c.Flags().Changed("kind") {
				o.Kind = synth.KindOf(args[0])
			}
			if n, _ := fmt.Sscanf(size+"\n", "%dx%d\n", &o.Width, &o.Height); n != 2 {
				return usagef("--size %q: give width x height, such as 500x375", size)
			}
			if err := o.Check(); err != nil {
				return usageError{err}
			}
			made, err := synth.Make(c.Context(), args[0], o)
			if err != nil {
				return err
			}
			if wantsJSON(c) {
				return writeJSON(c.OutOrStdout(), made)
			}
			fmt.Fprintf(c.OutOrStdout(), "%s: %d files, %.1f MB\n", args[0], made.Files, float64(made.Bytes)/1e6)
			for _, path := range made.Broken {
				fmt.Fprintln(c.OutOrStdout(), "broken:", path)
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&o.Kind, "kind", "", "jpeg, png or csv (default: what DST ends in, and else jpeg)")
	f.Int64Var(&o.Count, "count", 1000, "pictures, or rows")
	f.IntVar(&o.Classes, "classes", 10, "classes, or values of the label")
	f.Uint64Var(&o.Seed, "seed", 0, "another seed makes other data")
	f.StringVar(&size, "size", "500x375", "pictures: width x height; sides differ by a fifth, up and down")
	f.IntVar(&o.Broken, "broken", 0, "pictures: so many of them are damaged")
	f.IntVar(&o.Columns, "columns", 784, "table: features")
	return c
}
