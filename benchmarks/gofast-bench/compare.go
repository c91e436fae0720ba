package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/report"
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/statistics"
	"github.com/spf13/cobra"
)

// comparison is what compare prints as JSON.
type comparison struct {
	A       string     `json:"a"`
	B       string     `json:"b"`
	Differs []string   `json:"different_work"` // with --force
	Notes   []string   `json:"notes"`          // differences that may be the reason
	Threads []verdicts `json:"threads"`
}

type verdicts struct {
	Threads int    `json:"threads"`
	Says    string `json:"says"`
	statistics.Comparison
}

func newCompareCommand() *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "compare A.json B.json",
		Short: "Say whether a second run of the same work was faster",
		Long: `Compare two reports of gofast-bench run, made with --json or --out, for each number of
threads: the ratio of the medians, with a 95 % interval, and a verdict.

An interval knows how much the epochs of a run differ from each other, and nothing of what
changed between the runs: other load, another clock of the processor, a colder disk. Repeat
both runs where the verdict counts.`,
		Example: `  gofast-bench run photos/ --json > before.json
  gofast-bench run photos/ --json > after.json
  gofast-bench compare before.json after.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("give two reports, A.json and B.json")
			}
			return nil
		},
		ValidArgsFunction: cobra.FixedCompletions([]string{"json"}, cobra.ShellCompDirectiveFilterFileExt),
		RunE: func(c *cobra.Command, args []string) error {
			a, err := report.Read(args[0])
			if err != nil {
				return err
			}
			b, err := report.Read(args[1])
			if err != nil {
				return err
			}
			made, err := compare(a, b, force)
			if err != nil {
				return err
			}
			made.A, made.B = args[0], args[1]
			if wantsJSON(c) {
				return writeJSON(c.OutOrStdout(), made)
			}
			for _, note := range slices.Concat(made.Differs, made.Notes) {
				fmt.Fprintln(c.ErrOrStderr(), "note:", note)
			}
			for _, v := range made.Threads {
				_, err = fmt.Fprintf(c.OutOrStdout(), "%-11s %s\n", report.Threads(v.Threads)+":", v.Says)
			}
			return err
		},
	}
	c.Flags().BoolVar(&force, "force", false, "compare other work all the same")
	return c
}

func compare(a, b *report.Report, force bool) (*comparison, error) {
	made := &comparison{Differs: differentWork(a, b), Notes: notes(a, b), Threads: []verdicts{}}
	if len(made.Differs) > 0 && !force {
		return nil, fmt.Errorf("this is not the same work, so the ratio would say nothing: %s (--force compares all the same)", strings.Join(made.Differs, "; "))
	}
	seconds := map[int][2][]float64{} // by the number of threads
	for i, r := range []*report.Report{a, b} {
		for _, run := range r.Runs {
			both := seconds[run.Threads]
			both[i] = perSample(run.Seconds, r.Work.Samples) // of other numbers of samples, only these can be compared
			seconds[run.Threads] = both
		}
	}
	for _, threads := range slices.Sorted(maps.Keys(seconds)) {
		both := seconds[threads]
		if i := slices.IndexFunc(both[:], func(s []float64) bool { return s == nil }); i >= 0 {
			made.Notes = append(made.Notes, fmt.Sprintf("%c did not measure %s", 'A'+i, report.Threads(threads)))
			continue
		}
		c := statistics.Compare(both[0], both[1])
		made.Threads = append(made.Threads, verdicts{threads, c.String(), c})
	}
	if len(made.Threads) == 0 {
		return nil, fmt.Errorf("no number of threads was measured in both")
	}
	return made, nil
}

func perSample(seconds []float64, samples int64) []float64 {
	each := make([]float64, len(seconds))
	for i, s := range seconds {
		each[i] = s / float64(max(samples, 1))
	}
	return each
}

// differences are those of two reports, by what each field is called in words.
func differences(fields func(r *report.Report) []any, a, b *report.Report, format string) (differs []string) {
	x, y := fields(a), fields(b)
	for i := 0; i < len(x); i += 2 {
		if first, second := fmt.Sprint(x[i+1]), fmt.Sprint(y[i+1]); first != second {
			differs = append(differs, fmt.Sprintf(format, x[i], first, second))
		}
	}
	return differs
}

// differentWork says in what the work differs.
func differentWork(a, b *report.Report) []string {
	return differences(func(r *report.Report) []any {
		w := &r.Work
		return []any{"kind of data", w.Kind, "samples", w.Samples, "files (a hash of names and sizes)", w.Digest, "transform", w.Transform, "shape", w.Shape,
			"dtype", w.DType, "batch", w.Batch, "order", w.Order, "seed", w.Seed, "drop-cache", w.DropCache, "device", r.Device, "bad pictures", len(r.Bad)}
	}, a, b, "%s: %s, and then %s")
}

// notes are differences around the work.
func notes(a, b *report.Report) []string {
	notes := differences(func(r *report.Report) []any {
		m := &r.Machine
		return []any{"processor", m.CPU, "number of usable processors", m.Usable, "gofast", m.Gofast + " " + m.Revision, "Go", m.Go, "libjpeg", m.JPEG,
			"Huffman decoder of gofast's own", m.OwnHuffman, "kernel", m.Kernel, "governor", m.Governor}
	}, a, b, "%s differs: %s, and then %s")
	if math.Abs(a.Cache.Resident-b.Cache.Resident) > 0.1 {
		notes = append(notes, fmt.Sprintf("page cache before the run differs: %.0f %% of the bytes in memory, and then %.0f %%", 100*a.Cache.Resident, 100*b.Cache.Resident))
	}
	for i, r := range []*report.Report{a, b} {
		if r.Machine.Load > 0.5*float64(r.Machine.Usable) {
			notes = append(notes, fmt.Sprintf("the machine was busy before %c: load %.1f on %d CPUs", 'A'+i, r.Machine.Load, r.Machine.Usable))
		}
	}
	return notes
}
