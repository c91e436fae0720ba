package main

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gofast-org/gofast/gofast/inspect"
)

const verifyExamples = `  gofast-bench verify photos/
  gofast-bench verify train.parquet --threads 4
  gofast-bench verify photos/ --json | jq -r '.damaged[].path' > damaged.txt`

func newVerifyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "verify PATH...",
		Short: "Decode everything, and list what is damaged",
		Long: `Decodes every picture to its last row, with the decoders that training uses, and
reads every table whole.

Pictures that only Pillow decodes are listed as not checked: the Python command
'gofast verify' decodes these too. If a library that decodes pictures is missing, the
command fails.

Exit status: 0 nothing is damaged, 1 something is, or a library is missing, 2 wrong
command line.`,
		Example: verifyExamples,
		Args:    somePaths,
		RunE: func(c *cobra.Command, paths []string) error {
			o, done, err := inspectOptions(c, "verifying")
			if err != nil {
				return err
			}
			report, err := inspect.Verify(c.Context(), paths, o)
			done()
			if err != nil {
				return err
			}
			if err := printFinding(c, report); err != nil {
				return err
			}
			switch {
			case len(report.Missing) > 0:
				return errors.New("not everything was checked: " + strings.Join(slices.Sorted(maps.Values(report.Missing)), "; "))
			case len(report.Damaged)+len(report.Unreadable) > 0:
				return silent
			}
			return nil
		},
	}
	c.Flags().Int("threads", 0, "threads that decode (default: all that the process may use)")
	return c
}
