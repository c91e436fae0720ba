package report

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/machine"
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/statistics"
)

func sample() *Report {
	quantiles := make([]float64, 101)
	for i := range quantiles {
		quantiles[i] = 0.02 + float64(i)/1e4
	}
	return &Report{
		Format:  Format,
		Machine: machine.Facts{CPU: "A Processor", CPUs: 64, Cores: 32, Usable: 8, JPEG: "libjpeg-turbo 3.1", Memory: 64e9, Governor: "performance", Kernel: "Linux 6.1", Load: 7, Go: "go1.26", Gofast: "0.1.0"},
		Work: Work{Kind: "pictures", Samples: 1500, Files: 1500, Bytes: 165e6, Transform: "centercrop=224", Shape: []int{3, 224, 224}, DType: "float32",
			Batch: 64, Epochs: 5, Order: "shuffle", Seed: 7},
		Cache: machine.Cache{Known: true, Resident: 0.25, Looked: 1500}, OpenS: 0.0123,
		Runs: []Run{
			{Threads: 1, Seconds: []float64{1, 1.1, 0.9}, Warmup: 1.5, Median: 1, Interval: &statistics.Interval{Low: 0.9, High: 1.1}, SamplesPerS: 1500,
				PerSInterval: &statistics.Interval{Low: 1363.6, High: 1666.7}, ProcessorS: 0.0006, Busy: 0.9, FirstBatch: 0.04, Latency: quantiles,
				Stages: []Stage{{"reading", 0.0001, 0.15}, {"entropy decoding", 0.0005, 0.75}, {Waiting, 0.00007, 0.1}}},
			{Threads: 8, Seconds: []float64{0.2}, Warmup: 0.3, Median: 0.2, SamplesPerS: 7500, ProcessorS: 0.0007, Busy: 0.6, FirstBatch: 0.05,
				Stages: []Stage{{"reading", 0.0001, 0.1}, {Waiting, 0.0009, 0.9}}},
		},
		PeakBytes: 25e7,
		Bad:       []BadSample{{"a/b.jpg", "image file is truncated"}},
	}
}

func TestText(t *testing.T) {
	var text bytes.Buffer
	if err := sample().WriteText(&text); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join("testdata", "report.txt"))
	if err != nil || text.String() != string(want) {
		t.Errorf("%v:\n%s", err, text.String())
	}
}

// Stages go by the clock on the wall: where the processors were others', the text says so.
func TestTheTextTellsOfHeldThreads(t *testing.T) {
	for busy, said := range map[float64]bool{0.9: false, 0.85: false, 0.3: true} {
		r := sample()
		r.Runs[0].Busy = busy
		var text bytes.Buffer
		if err := r.WriteText(&text); err != nil || strings.Contains(text.String(), "60 % of their time") != said || strings.Contains(text.String(), "note: for") != said {
			t.Errorf("busy %g: %v, %s", busy, err, text.String())
		}
	}
}

func TestReadRefusesWhatIsNoReport(t *testing.T) {
	good, err := json.Marshal(sample())
	if err != nil {
		t.Fatal(err)
	}
	for text, says := range map[string]string{
		string(good): "", "": "no report", "[1]": "no report", `{"format":1}`: "format 1", `{"format":2}`: "no runs",
		`{"format":2,"runs":[{"threads":1,"seconds":[0]}]}`:                             "take time",
		`{"format":2,"runs":[{"threads":1,"seconds":[1]},{"threads":1,"seconds":[1]}]}`: "twice",
		`{"format":2,"runs":[{"threads":1,"seconds":[]}]}`:                              "without epochs",
	} {
		path := filepath.Join(t.TempDir(), "r.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Read(path)
		if (err == nil) != (says == "") || err != nil && (!strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), path)) {
			t.Errorf("%.60q: %v, want %q", text, err, says)
		}
	}
}
