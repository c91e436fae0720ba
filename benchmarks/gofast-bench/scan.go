package main

import (
	"github.com/spf13/cobra"

	"github.com/gofast-org/gofast/gofast/inspect"
)

const scanExamples = `  gofast-bench scan photos/
  gofast-bench scan train.parquet 'shards/*.csv.gz'
  gofast-bench scan photos/ --json | jq -r '.broken[].path'`

func newScanCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "scan PATH...",
		Short: "Say what lies in files: formats, sizes, classes, columns, broken files, duplicates",
		Long: `Reads the headers of pictures and tables, and decodes nothing.

Of pictures: formats, colours, widths and heights, chroma subsampling, progressive
files, those that Exif data turns, classes. Of tables: columns, types, rows, row groups,
codecs; ranges and missing values where the file's metadata says so. Of all: files that
are broken, or probably cut, with the reason, and duplicates by content.

Exit status: 0 nothing is broken, 1 broken files were found, 2 wrong command line.`,
		Example: scanExamples,
		Args:    somePaths,
		RunE: func(c *cobra.Command, paths []string) error {
			o, done, err := inspectOptions(c, "scanning")
			if err != nil {
				return err
			}
			report, err := inspect.Scan(c.Context(), paths, o)
			done()
			if err != nil {
				return err
			}
			if err := printFinding(c, report); err != nil {
				return err
			}
			if len(report.Broken)+len(report.Unreadable) > 0 {
				return silent
			}
			return nil
		},
	}
	c.Flags().Int("threads", 0, "threads that read (default: all that the process may use)")
	return c
}
