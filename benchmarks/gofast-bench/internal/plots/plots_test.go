package plots

import (
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/report"
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/statistics"
)

func run(threads int, rate float64) report.Run {
	quantiles := make([]float64, 101)
	for i := range quantiles {
		quantiles[i] = (1 + float64(i)/100) / rate
	}
	return report.Run{Threads: threads, Seconds: []float64{100 / rate}, Median: 100 / rate, SamplesPerS: rate, ProcessorS: 0.9 / rate,
		PerSInterval: &statistics.Interval{Low: 0.9 * rate, High: 1.1 * rate}, Latency: quantiles,
		Stages: []report.Stage{{Name: "reading", Seconds: 1e-4, Share: 0.1}, {Name: report.Waiting, Seconds: 9e-4, Share: 0.9}}}
}

func TestFiguresOfReports(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine draws: nothing for the race detector, which makes it ten times slower")
	}
	whole := &report.Report{Work: report.Work{Kind: "pictures", Samples: 100, Transform: "centercrop=224"}, Runs: []report.Run{run(1, 1000), run(2, 1900), run(64, 30_000)},
		PeakBytes: 1e8,
		Memory:    []report.Memory{{Seconds: 0, Bytes: 1e7, Threads: 1, Warmup: true}, {Seconds: 1, Bytes: 9e7, Threads: 1, Warmup: true}, {Seconds: 2, Bytes: 8e7, Threads: 64}, {Seconds: 3, Bytes: 9e7, Threads: 64}}}
	least := &report.Report{Work: report.Work{Kind: "table", Samples: 1}, Runs: []report.Run{{Threads: 3, Seconds: []float64{1e-9}, Median: 1e-9, SamplesPerS: 1e9}}}
	for _, c := range []struct {
		r     *report.Report
		names []string
	}{{whole, []string{"throughput", "latency", "stages", "memory"}}, {least, []string{"throughput"}}} {
		folder := t.TempDir()
		names, err := Save(c.r, folder)
		if err != nil || !slices.Equal(names, c.names) {
			t.Fatalf("%v, %v", names, err)
		}
		for _, name := range names {
			check(t, filepath.Join(folder, name))
		}
	}
	if _, err := Save(whole, filepath.Join(t.TempDir(), "nowhere")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// check reads both files: an XML with elements, and a picture that is not of one colour.
func check(t *testing.T, path string) {
	t.Helper()
	file, err := os.Open(path + ".svg")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	elements := 0
	for decoder := xml.NewDecoder(file); ; {
		token, err := decoder.Token()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if _, is := token.(xml.StartElement); is {
			elements++
		}
	}
	picture, err := os.Open(path + ".png")
	if err != nil {
		t.Fatal(err)
	}
	defer picture.Close()
	decoded, err := png.Decode(picture)
	if err != nil {
		t.Fatal(err)
	}
	colours := map[any]bool{}
	for y := range decoded.Bounds().Dy() {
		for x := range decoded.Bounds().Dx() {
			colours[decoded.At(x, y)] = true
		}
	}
	if elements < 20 || len(colours) < 20 {
		t.Errorf("%s: %d elements, %d colours", path, elements, len(colours))
	}
}

func TestTicksAreRound(t *testing.T) {
	for _, c := range []struct{ low, high float64 }{{0, 4200}, {0, 1e-3}, {3, 9}, {0, 1}, {0, 0}, {1, 0}} {
		ticks := plainTicks{}.Ticks(c.low, c.high)
		if c.high > c.low && (len(ticks) < 3 || len(ticks) > 8) || c.high <= c.low && len(ticks) > 0 {
			t.Errorf("%v: %v", c, ticks)
		}
		for i := 1; i < len(ticks); i++ {
			if ticks[i].Label == ticks[i-1].Label {
				t.Errorf("%v: %v", c, ticks)
			}
		}
	}
}
