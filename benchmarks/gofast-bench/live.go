package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/report"
	"golang.org/x/sys/unix"
)

// live is the table on stderr: rewritten in place on a terminal, a line an epoch elsewhere.
type live struct {
	w        io.Writer
	terminal bool
	epochs   int
	lines    int // of the table that stands there
	shown    time.Time
}

func newLive(w io.Writer, epochs int) *live {
	return &live{w: w, terminal: isTerminal(w), epochs: epochs}
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	return err == nil && os.Getenv("TERM") != "dumb"
}

// atMostEvery keeps short epochs from spending their time on the terminal.
const atMostEvery = 100 * time.Millisecond

// show is called behind each epoch of a number of threads.
func (l *live) show(r *report.Report, epoch, threads int) {
	if !l.terminal {
		run := runOf(r, threads)
		if epoch == 0 {
			fmt.Fprintf(l.w, "warm-up, threads %d: %s\n", threads, report.Duration(run.Warmup))
			return
		}
		fmt.Fprintf(l.w, "epoch %d of %d, threads %d: %s %s/s\n", epoch, l.epochs, threads,
			report.Grouped(float64(r.Work.Samples)/run.Seconds[len(run.Seconds)-1]), r.Work.Unit())
		return
	}
	if time.Since(l.shown) >= atMostEvery {
		l.table(r, epoch)
		l.shown = time.Now()
	}
}

func (l *live) table(r *report.Report, epoch int) {
	var text bytes.Buffer
	fmt.Fprintf(&text, "epoch %d of %d\n", epoch, l.epochs)
	_ = r.WriteLive(&text) // into memory
	var out strings.Builder
	if l.lines > 0 {
		fmt.Fprintf(&out, "\x1b[%dA", l.lines) // up
	}
	out.WriteString("\x1b[J") // and clear what is below
	fitting := fit(text.String(), size(l.w))
	l.lines = strings.Count(fitting, "\n")
	out.WriteString(fitting)
	fmt.Fprint(l.w, out.String())
}

// size is that of a terminal, and a usual one where it says none.
func size(w io.Writer) (s unix.Winsize) {
	s = unix.Winsize{Row: 24, Col: 80}
	if file, ok := w.(*os.File); ok {
		if told, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ); err == nil && told.Row > 0 && told.Col > 0 {
			s = *told
		}
	}
	return s
}

// fit cuts lines that a terminal would wrap, and those that it would scroll away: to go up again, it counts lines. A line
// is as wide as its bytes here.
func fit(text string, s unix.Winsize) string {
	var fitting strings.Builder
	for i, line := range slices.Collect(strings.Lines(text)) {
		if i+1 >= int(s.Row) { // the last line has the cursor
			break
		}
		line = strings.TrimSuffix(line, "\n")
		fitting.WriteString(line[:min(len(line), int(s.Col)-1)] + "\n")
	}
	return fitting.String()
}

// end takes the table away: the final one goes to stdout.
func (l *live) end() {
	if l.terminal && l.lines > 0 {
		fmt.Fprintf(l.w, "\x1b[%dA\x1b[J", l.lines)
	}
}

func runOf(r *report.Report, threads int) *report.Run {
	for i := range r.Runs {
		if r.Runs[i].Threads == threads {
			return &r.Runs[i]
		}
	}
	return &report.Run{}
}
