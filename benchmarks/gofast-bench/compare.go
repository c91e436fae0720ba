package main

import (
	"fmt"
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
threads: the ratio of the medians, with a 95 % interval by bootstrap, and a verdict.

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
				fmt.Fprintf(c.OutOrStdout(), "%-11s %s\n", report.Threads(v.Threads)+":", v.Says)
			}
			return nil
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
	for _, first := range a.Runs {
		second := runOf(b, first.Threads)
		if len(second.Seconds) == 0 {
			made.Notes = append(made.Notes, fmt.Sprintf("B did not measure %s", report.Threads(first.Threads)))
			continue
		}
		// Of other numbers of samples, only times of a sample can be compared.
		c := statistics.Compare(perSample(first.Seconds, a.Work.Samples), perSample(second.Seconds, b.Work.Samples), a.Work.Seed)
		made.Threads = append(made.Threads, verdicts{first.Threads, c.String(), c})
	}
	for _, second := range b.Runs {
		if len(runOf(a, second.Threads).Seconds) == 0 {
			made.Notes = append(made.Notes, fmt.Sprintf("A did not measure %s", report.Threads(second.Threads)))
		}
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

// differentWork says in what the work differs.
func differentWork(a, b *report.Report) (differs []string) {
	differ := func(what string, x, y any) {
		if first, second := fmt.Sprint(x), fmt.Sprint(y); first != second {
			differs = append(differs, fmt.Sprintf("%s: %s, and then %s", what, first, second))
		}
	}
	x, y := &a.Work, &b.Work
	differ("kind of data", x.Kind, y.Kind)
	differ("samples", x.Samples, y.Samples)
	differ("files (a hash of names and sizes)", x.Digest, y.Digest)
	differ("transform", x.Transform, y.Transform)
	differ("shape", x.Shape, y.Shape)
	differ("dtype", x.DType, y.DType)
	differ("batch", x.Batch, y.Batch)
	differ("order", x.Order, y.Order)
	differ("seed", x.Seed, y.Seed)
	differ("drop-cache", x.DropCache, y.DropCache)
	differ("device", a.Device, b.Device)
	differ("bad pictures", len(a.Bad), len(b.Bad))
	return differs
}

// notes are differences around the work.
func notes(a, b *report.Report) (notes []string) {
	differ := func(what string, x, y any) {
		if x != y {
			notes = append(notes, fmt.Sprintf("%s differs: %v, and then %v", what, x, y))
		}
	}
	m, n := &a.Machine, &b.Machine
	differ("processor", m.CPU, n.CPU)
	differ("number of usable processors", m.Usable, n.Usable)
	differ("gofast", m.Gofast+" "+m.Revision, n.Gofast+" "+n.Revision)
	differ("Go", m.Go, n.Go)
	differ("libjpeg", m.JPEG, n.JPEG)
	differ("Huffman decoder of gofast's own", m.OwnHuffman, n.OwnHuffman)
	differ("kernel", m.Kernel, n.Kernel)
	differ("governor", m.Governor, n.Governor)
	if math.Abs(a.Cache.Resident-b.Cache.Resident) > 0.1 {
		notes = append(notes, fmt.Sprintf("page cache before the run differs: %.0f %% of the bytes in memory, and then %.0f %%", 100*a.Cache.Resident, 100*b.Cache.Resident))
	}
	for name, r := range map[string]*report.Report{"A": a, "B": b} {
		if r.Machine.Load > 0.5*float64(r.Machine.Usable) {
			notes = append(notes, fmt.Sprintf("the machine was busy before %s: load %.1f on %d CPUs", name, r.Machine.Load, r.Machine.Usable))
		}
	}
	slices.Sort(notes)
	return notes
}
