package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/report"
	"golang.org/x/sys/unix"
)

// command runs a command line, and wants a status.
func command(t *testing.T, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, log bytes.Buffer
	if got := execute(context.Background(), args, &out, &log); got != want {
		t.Fatalf("%q: status %d, want %d: %s", args, got, want, log.String())
	}
	return out.String(), log.String()
}

func table(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func pictures(t *testing.T, more ...string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "p")
	command(t, 0, append([]string{"synth", to, "--kind", "png", "--count", "12", "--classes", "2", "--size", "30x20"}, more...)...)
	return to
}

func TestRunOfATable(t *testing.T) {
	path := table(t, "label,a,b\n"+strings.Repeat("1,2,3\n", 100))
	args := []string{"run", path, "--batch", "16", "--threads", "1,2", "--epochs", "5", "--shuffle", "--seed", "0"}
	out, _ := command(t, 0, append(args, "--json")...)
	var r report.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if r.Work.Samples != 100 || r.Work.Shape[0] != 2 || r.Work.Order != "shuffle" || len(r.Runs) != 2 || len(r.Runs[1].Seconds) != 5 ||
		r.Runs[0].SamplesPerS <= 0 || r.Runs[0].Interval == nil || r.Machine.Go == "" {
		t.Errorf("unexpected report: %+v", r)
	}
	out, log := command(t, 0, args...)
	if !strings.Contains(out, "100 rows in 1 file") || !strings.Contains(log, "epoch 5 of 5, 2 threads") {
		t.Errorf("%q, %q", out, log)
	}
	out, _ = command(t, 0, append(args, "--csv")...)
	if rows, err := csv.NewReader(strings.NewReader(out)).ReadAll(); err != nil || len(rows) != 1+10 || strings.Join(rows[7][:2], " ") != "2 2" {
		t.Errorf("%v: %q", err, out)
	}
}

func TestRunOfPicturesWritesAReport(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector makes drawing ten times slower; TestFailures runs pictures too")
	}
	path, folder := pictures(t), filepath.Join(t.TempDir(), "deep", "report")
	args := []string{"run", path, "--transform", "randomresizedcrop=8,hflip", "--batch", "5", "--threads", "1,2", "--epochs", "5", "--order", "shuffle", "--out", folder}
	out, _ := command(t, 0, args...)
	for _, part := range []string{"12 pictures in 12 files", "randomresizedcrop=8,hflip=0.5 -> float32 [3 8 8]", "numbers", "waiting"} {
		if !strings.Contains(out, part) {
			t.Errorf("no %q in %q", part, out)
		}
	}
	if info, err := os.Stat(filepath.Join(folder, "report.csv")); err != nil || info.Size() == 0 {
		t.Error(err)
	}
	written := filepath.Join(folder, "report.json")
	out, _ = command(t, 0, "compare", written, written)
	if strings.Count(out, "no difference shown") != 2 {
		t.Errorf("a run differs from itself: %q", out)
	}
	out, _ = command(t, 0, "roof", path, "--epochs", "1", "--threads", "1,2", "--transform", "centercrop=8")
	for _, part := range []string{"copy finished samples", "read the files", "decode what is needed", "2 threads:  run reaches"} {
		if !strings.Contains(out, part) {
			t.Errorf("no %q in %q", part, out)
		}
	}
}

func TestALabelThatIsNotThere(t *testing.T) {
	path := table(t, "f1,target\n1,2\n3,4\n")
	for _, c := range []struct {
		args   []string
		status int
		said   bool
	}{
		{nil, 0, true}, {[]string{"--label", "target"}, 0, false}, {[]string{"--label", ""}, 0, false},
		{[]string{"--label", "label"}, 1, true}, {[]string{"--header", "false", "--label", ""}, 1, true},
	} {
		_, log := command(t, c.status, append([]string{"run", path, "--epochs", "1"}, c.args...)...)
		if strings.Contains(log, `"target"`) != c.said && c.status == 0 {
			t.Errorf("%q: %q", c.args, log)
		}
	}
}

func TestWrongCommandLines(t *testing.T) {
	path := table(t, "label,a\n1,2\n")
	for _, args := range [][]string{
		{}, {"walk"}, {"run"}, {"run", ""}, {"run", "x", "--threads", "0"}, {"run", "x", "--threads", "1,1"}, {"run", "x", "--batch", "0"}, {"run", "x", "--epochs", "0"},
		{"run", "x", "--no"}, {"run", "x", "--header", "maybe"}, {"run", "x", "--device", "cpu"}, {"run", "x", "--device", "cuda:-1"}, {"run", "x", "--order", "random"},
		{"run", "x", "--as", "audio"}, {"run", "x", "--on-error", "skip"}, {"run", "x", "--transform", "resize"}, {"run", path, "--transform", "resize=4x4"}, {"run", path, "--csv", "--json"}, {"compare"}, {"compare", "a"}, {"roof"}, {"roof", "x", "--epochs", "0"}, {"run", path, "--drop-cache"},
		{"synth"}, {"synth", "x", "--size", "5"}, {"synth", "x", "--kind", "gif"},
	} {
		if out, log := command(t, 2, args...); out != "" || !strings.Contains(log, "Try 'gofast-bench") {
			t.Errorf("%q: %q, %q", args, out, log)
		}
	}
}

func TestFailures(t *testing.T) {
	damaged := pictures(t, "--broken", "2")
	first := filepath.Join(damaged, "class000", "000000.png")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"run", t.TempDir()}, "nothing to measure: no pictures"}, {[]string{"run", damaged, "--epochs", "1"}, first}, {[]string{"roof", damaged, "--epochs", "1"}, first},
		{[]string{"run", "nowhere.jpg"}, "nowhere.jpg"}, {[]string{"compare", "nowhere", "nowhere"}, "nowhere"}, {[]string{"synth", damaged}, "already"},
		{[]string{"run", damaged, "--out", os.Args[0] + "/x"}, "--out"},
	} {
		if out, log := command(t, 1, c.args...); out != "" || !strings.Contains(log, c.says) {
			t.Errorf("%q: %q, %q", c.args, out, log)
		}
	}
	out, _ := command(t, 0, "run", damaged, "--epochs", "1", "--on-error", "zero", "--transform", "randomresizedcrop=8", "--json")
	var r report.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || len(r.Bad) != 2 || r.Bad[0].Reason == "" {
		t.Errorf("%v: %+v", err, r.Bad)
	}
	// What stands in the way of a file is known too late, and the figures are printed all the same.
	folder := filepath.Join(t.TempDir(), "out")
	if err := os.MkdirAll(filepath.Join(folder, "report.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, log := command(t, 1, "run", table(t, "label,a\n1,2\n"), "--out", folder, "--epochs", "1", "--threads", "1"); !strings.Contains(out, "1 rows in 1 file") || !strings.Contains(log, "report.json") {
		t.Errorf("%q, %q", out, log)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, args := range [][]string{{"run", pictures(t)}, {"roof", pictures(t)}, {"synth", filepath.Join(t.TempDir(), "x"), "--count", "5"}} {
		var out, log bytes.Buffer
		if status := execute(ctx, args, &out, &log); status != 130 || out.Len() > 0 {
			t.Errorf("%q: %d, %s", args, status, log.String())
		}
	}
}

// TestMain lets the tests start the program itself.
func TestMain(m *testing.M) {
	if os.Getenv("GOFAST_BENCH_TEST_MAIN") != "" {
		main()
	}
	os.Exit(m.Run())
}

// A signal ends what asks no context too: here a report is read from a pipe in which nothing comes.
func TestSignalsEndAtOnce(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for signal, status := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} { // as shells say it
		program := exec.Command(os.Args[0], "compare", pipe, pipe)
		program.Env = append(os.Environ(), "GOFAST_BENCH_TEST_MAIN=1")
		started := program.Start()
		writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits until the program reads
		if err := errors.Join(started, err, program.Process.Signal(signal)); err != nil {
			t.Fatal(err)
		}
		var ended *exec.ExitError
		if err := program.Wait(); !errors.As(err, &ended) || ended.ExitCode() != status {
			t.Errorf("%v: %v, want %d", signal, err, status)
		}
		writer.Close()
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, unix.ENOSPC }

// What could not be printed is no success.
func TestOutputThatFails(t *testing.T) {
	var log bytes.Buffer
	args := []string{"synth", filepath.Join(t.TempDir(), "t.csv"), "--count", "1", "--columns", "1"}
	if status := execute(context.Background(), args, full{}, &log); status != statusFailed || !strings.Contains(log.String(), "no space left") {
		t.Errorf("%d, %q", status, log.String())
	}
}

// What this program needs is not linked into the Python extension.
func TestTheExtensionStaysFree(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "github.com/gofast-org/gofast/pybind").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := string(out)
	if !strings.Contains(packages, "gofast/gofast/image") {
		t.Fatalf("no dependencies of pybind: %q", packages)
	}
	for _, foreign := range []string{"cobra", "pflag", "gofast-bench"} {
		if strings.Contains(packages, foreign) {
			t.Errorf("pybind depends on %s", foreign)
		}
	}
}
