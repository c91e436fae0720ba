package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/report"
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/statistics"
)

// planted is a report whose epochs take about so many seconds.
func planted(t *testing.T, seconds float64, change func(*report.Report)) string {
	t.Helper()
	r := &report.Report{Format: report.Format, Work: report.Work{Kind: "pictures", Samples: 100, Transform: "centercrop=8", Batch: 4, Order: "sequential"}}
	run := report.Run{Threads: 2}
	for _, noise := range []float64{1, 1.02, 0.98, 1.01, 0.99, 1.03} {
		run.Seconds = append(run.Seconds, seconds*noise)
	}
	r.Runs = []report.Run{run, {Threads: 4, Seconds: []float64{seconds}}}
	if change != nil {
		change(r)
	}
	path := filepath.Join(t.TempDir(), "r.json")
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		second float64
		says   string
	}{{0.8, "2 threads:  B is 1.25x faster (1."}, {1.25, "2 threads:  B is 1.25x slower (1."}, {1, "2 threads:  no difference shown (B is 1.00x as fast, "}} {
		out, _ := command(t, 0, "compare", planted(t, 1, nil), planted(t, c.second, nil))
		if !strings.HasPrefix(out, c.says) || !strings.Contains(out, "\n4 threads:  no verdict: 6 epochs or more") {
			t.Errorf("%g: %q", c.second, out)
		}
	}
	out, _ := command(t, 0, "compare", planted(t, 1, nil), planted(t, 0.5, nil), "--json")
	var made comparison
	if err := json.Unmarshal([]byte(out), &made); err != nil {
		t.Fatal(err)
	}
	if v := made.Threads[0]; v.Verdict != statistics.Faster || v.Ratio < 1.99 || v.Ratio > 2.01 || v.Interval.Low < 1.8 || v.Interval.High > 2.2 {
		t.Errorf("%+v", made)
	}
}

func TestOtherWorkIsNotCompared(t *testing.T) {
	a := planted(t, 1, nil)
	for what, change := range map[string]func(*report.Report){
		"transform": func(r *report.Report) { r.Work.Transform = "resize=8x8" }, "samples": func(r *report.Report) { r.Work.Samples = 50 },
		"files": func(r *report.Report) { r.Work.Digest = "x" }, "device": func(r *report.Report) { r.Device = "cuda:0" },
	} {
		b := planted(t, 0.5, change)
		if out, log := command(t, 1, "compare", a, b); out != "" || !strings.Contains(log, what) || !strings.Contains(log, "--force") {
			t.Errorf("%s: %q, %q", what, out, log)
		}
		ratio := "2.00x faster"
		if what == "samples" { // half of them in half the time
			ratio = "no difference"
		}
		if out, log := command(t, 0, "compare", a, b, "--force"); !strings.Contains(out, ratio) || !strings.Contains(log, what) {
			t.Errorf("%s: %q, %q", what, out, log)
		}
	}
	other := planted(t, 1, func(r *report.Report) {
		r.Runs, r.Machine.CPU, r.Cache.Resident = r.Runs[:1], "another", 0.2
	})
	out, log := command(t, 0, "compare", a, other)
	for _, part := range []string{"B did not measure 4 threads", "processor differs", "page cache before"} {
		if strings.Contains(out, "4 threads") || !strings.Contains(log, part) {
			t.Errorf("%q, %q", out, log)
		}
	}
	command(t, 1, "compare", a, planted(t, 1, func(r *report.Report) { r.Runs = r.Runs[:1]; r.Runs[0].Threads = 16 }))
}
