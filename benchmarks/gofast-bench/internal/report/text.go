package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/machine"
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/statistics"
)

// Grouped is a whole number with commas.
func Grouped(v float64) string {
	text := strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// unit is one of a kind, the largest first.
type unit struct {
	size   float64
	format string
}

func inUnits(v float64, units ...unit) string {
	i := slices.IndexFunc(units, func(u unit) bool { return v >= u.size })
	if i < 0 {
		i = len(units) - 1
	}
	return fmt.Sprintf(units[i].format, v/units[i].size)
}

// Duration is seconds in a unit that people read.
func Duration(seconds float64) string {
	return inUnits(seconds, unit{1, "%.2f s"}, unit{1e-3, "%.2f ms"}, unit{1e-6, "%.1f us"}, unit{1e-9, "%.0f ns"})
}

func bytesText(n int64) string {
	return inUnits(float64(n), unit{1e9, "%.2f GB"}, unit{1e6, "%.1f MB"}, unit{1e3, "%.1f kB"})
}

// WriteHead says what was measured, and where.
func (r *Report) WriteHead(w io.Writer) {
	m, k := &r.Machine, &r.Work
	fmt.Fprintf(w, "%s %s in %s (%s), opened in %s\n", Grouped(float64(k.Samples)), k.Unit(), countOf(k.Files, "file"), bytesText(k.Bytes), Duration(r.OpenS))
	if k.Transform != "" {
		fmt.Fprintf(w, "transform   %s -> %s %v\n", k.Transform, k.DType, k.Shape)
	} else {
		fmt.Fprintf(w, "features    %v stored as %s -> %s\n", k.Shape, k.Stored, k.DType)
	}
	fmt.Fprintf(w, "batches     of %d, %s, seed %d; %s timed after others to warm up\n", k.Batch, k.Order, k.Seed, countOf(int64(k.Epochs), "epoch"))
	fmt.Fprintf(w, "page cache  %s\n", r.cacheText())
	fmt.Fprintf(w, "machine     %s\n", machineText(m))
	if m.Load > 0.5*float64(m.Usable) {
		fmt.Fprintf(w, "note        the machine was busy before: load %.1f on %d CPUs\n", m.Load, m.Usable)
	}
}

func countOf(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return Grouped(float64(n)) + " " + what + "s"
}

// Threads is a number of them.
func Threads(n int) string { return countOf(int64(n), "thread") }

func machineText(m *machine.Facts) string {
	cpus := fmt.Sprintf("%d of %d CPUs", m.Usable, m.CPUs)
	if m.Cores > 0 && m.Cores != m.CPUs {
		cpus += fmt.Sprintf(" (%s)", countOf(int64(m.Cores), "core"))
	}
	parts := []string{m.CPU, cpus, bytesText(m.Memory)}
	if m.Governor != "" {
		parts = append(parts, "governor "+m.Governor)
	}
	if m.JPEG != "" {
		parts = append(parts, m.JPEG)
	}
	return strings.Join(append(parts, m.Kernel, m.Go, "gofast "+m.Gofast), ", ")
}

func (r *Report) cacheText() string {
	said := func(c machine.Cache) string {
		if !c.Known {
			return "not known (the kernel tells it to a file's owner only)"
		}
		return fmt.Sprintf("%.0f %% of the bytes in memory", 100*c.Resident)
	}
	if r.Dropped != nil {
		text := "dropped before each epoch; left in it then: " + said(*r.Dropped)
		if r.Dropped.Resident > 0.1 {
			text += ": these files do not come from a disk (a file system in memory, or another process has them mapped)"
		}
		return text
	}
	return "before the run: " + said(r.Cache)
}

// writeRuns is the table of the runs.
func (r *Report) writeRuns(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "threads\t%s/s\t95 %% interval\tepoch\tfirst epoch\tfirst batch\tbatch p50\tp95\tp99\tCPU each\tbusy\t\n", r.Work.Unit())
	for _, run := range r.Runs {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.0f %%\t\n", run.Threads, Grouped(run.SamplesPerS), intervalText(run.PerSInterval),
			Duration(run.Median), Duration(run.Warmup), Duration(run.FirstBatch), run.quantile(50), run.quantile(95), run.quantile(99),
			Duration(run.ProcessorS), 100*run.Busy)
	}
	return t.Flush()
}

func intervalText(i *statistics.Interval) string {
	if i == nil {
		return "-"
	}
	return Grouped(i.Low) + " to " + Grouped(i.High)
}

func (r *Run) quantile(percent int) string {
	if len(r.Latency) != 101 {
		return "-"
	}
	return Duration(r.Latency[percent])
}

// mostListed bounds the bad pictures that a text names.
const mostListed = 20

// WriteText is all of it.
func (r *Report) WriteText(w io.Writer) error {
	r.WriteHead(w)
	fmt.Fprintln(w)
	if err := r.writeRuns(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nmemory at most %s, that of all numbers of threads together\n\n", bytesText(r.PeakBytes))
	if err := r.writeStages(w); err != nil {
		return err
	}
	if held := r.held(); held > 0.1 {
		fmt.Fprintf(w, "\nnote: for up to %.0f %% of their time, threads stood still in the middle of their work: for a file, or while others had\n"+
			"the processors. The stages hold that time.\n", 100*held)
	}
	r.WriteBad(w)
	return r.writeMoves(w)
}

// held is the largest share of the threads' time in which they had work and no processor.
func (r *Report) held() (most float64) {
	for _, run := range r.Runs {
		if len(run.Stages) > 0 {
			most = max(most, 1-run.stage(Waiting).Share-run.Busy)
		}
	}
	return most
}

// WriteBad lists the pictures that could not be made, if there are any.
func (r *Report) WriteBad(w io.Writer) {
	if len(r.Bad) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s could not be made, and zeroes are in their place:\n", countOf(int64(len(r.Bad)), "picture"))
	for _, b := range r.Bad[:min(len(r.Bad), mostListed)] {
		fmt.Fprintf(w, "  %s: %s\n", b.Path, b.Reason)
	}
	if more := len(r.Bad) - mostListed; more > 0 {
		fmt.Fprintf(w, "  and %d more, which --json lists\n", more)
	}
}

// stage is a stage's of the run; zero if it has none of the name.
func (r *Run) stage(name string) Stage {
	for _, s := range r.Stages {
		if s.Name == name {
			return s
		}
	}
	return Stage{Name: name}
}

func (r *Report) writeStages(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "threads x time\t")
	for _, run := range r.Runs {
		fmt.Fprintf(t, "%s\t", Threads(run.Threads))
	}
	longest := slices.MaxFunc(r.Runs, func(a, b Run) int { return len(a.Stages) - len(b.Stages) })
	for _, row := range longest.Stages {
		fmt.Fprintf(t, "\n%s\t", row.Name)
		for _, run := range r.Runs {
			s := run.stage(row.Name)
			fmt.Fprintf(t, "%.1f %% (%s)\t", 100*s.Share, Duration(s.Seconds))
		}
	}
	fmt.Fprintln(t)
	return t.Flush()
}

// writeMoves is the table of what went to a device.
func (r *Report) writeMoves(w io.Writer) error {
	if r.Device == "" {
		return nil
	}
	fmt.Fprintf(w, "\non %s:\n", r.Device)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "threads\tMB to the device\tcopy rate GB/s\tcopies ms\tkernels ms\tnot waited for\t")
	for _, run := range r.Runs {
		m := run.Moves
		if m == nil || m.CopySeconds == 0 { // smaller ones are not timed
			fmt.Fprintf(t, "%d\t-\t-\t-\t-\t-\t\n", run.Threads)
			continue
		}
		fmt.Fprintf(t, "%d\t%.1f\t%.2f\t%.2f\t%.2f\t%.0f %%\t\n", run.Threads, float64(m.Bytes)/1e6, m.Rate/1e9, m.CopySeconds*1e3, m.KernelSeconds*1e3, 100*m.Overlap)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, overlapMeans)
	return err
}

const overlapMeans = `copies and kernels: of all epochs together, of batches of 1 MiB and more
not waited for: the overlap, which is the share of that time in which the loop, waiting for each batch, did not wait; the
rest of it lay under the filling and the copies of other batches`
