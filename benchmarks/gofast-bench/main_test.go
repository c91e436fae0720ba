package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
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

func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe") // nothing writes into it
	if err := unix.Mkfifo(path, 0o600); err != nil {
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

// ran is the report of a run.
func ran(t *testing.T, args ...string) (r report.Report) {
	t.Helper()
	out, _ := command(t, 0, append([]string{"run", "--json", "--threads", "1", "--epochs", "1", "--seconds", "0"}, args...)...)
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRunOfATable(t *testing.T) {
	path := table(t, "label,a,b\n"+strings.Repeat("1,2,3\n", 100))
	args := []string{path, "--batch", "16", "--threads", "1,2", "--epochs", "6", "--seconds", "0", "--order", "shuffle", "--seed", "0"}
	r := ran(t, args...)
	if r.Work.Samples != 100 || r.Work.Shape[0] != 2 || r.Work.Order != "shuffle" || len(r.Runs) != 2 || len(r.Runs[1].Seconds) != 6 || r.Work.Epochs != 6 ||
		r.Runs[0].SamplesPerS <= 0 || r.Runs[0].Interval == nil || r.Machine.Go == "" {
		t.Errorf("unexpected report: %+v", r)
	}
	out, log := command(t, 0, append([]string{"run"}, args...)...)
	if !strings.Contains(out, "100 rows in 1 file") || !strings.Contains(log, "warm-up, 1 thread: ") {
		t.Errorf("%q, %q", out, log)
	}
	out, _ = command(t, 0, append([]string{"run", "--csv"}, args...)...)
	if rows, err := csv.NewReader(strings.NewReader(out)).ReadAll(); err != nil || len(rows) != 1+12 || strings.Join(rows[8][:2], " ") != "2 2" {
		t.Errorf("%v: %q", err, out)
	}
}

func TestRunOfPicturesWritesAReport(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector makes drawing ten times slower; TestFailures runs pictures too")
	}
	path, folder := pictures(t), filepath.Join(t.TempDir(), "deep", "report")
	written := filepath.Join(folder, "report.json")
	for _, c := range []struct {
		args, parts []string
	}{
		{[]string{"run", path, "--transform", "randomresizedcrop=8,hflip", "--batch", "5", "--threads", "1,2", "--epochs", "6", "--seconds", "0", "--order", "shuffle", "--out", folder},
			[]string{"12 pictures in 12 files", "randomresizedcrop=8,hflip=0.5 -> float32 [3 8 8]", "numbers", "waiting"}},
		{[]string{"compare", written, written}, []string{"1 thread:   no difference shown", "2 threads:  no difference shown"}},
		{[]string{"roof", path, "--epochs", "1", "--seconds", "0", "--threads", "1,2"}, []string{"copy finished samples", "read the files", "decode what is needed", "2 threads:  run reaches"}},
	} {
		out, _ := command(t, 0, c.args...)
		for _, part := range c.parts {
			if !strings.Contains(out, part) {
				t.Errorf("no %q in %q", part, out)
			}
		}
	}
	if info, err := os.Stat(filepath.Join(folder, "report.csv")); err != nil || info.Size() == 0 {
		t.Error(err)
	}
}

// Data sets often lie elsewhere: a link to them, and a folder of links, are what they lead to.
func TestWhatPathsName(t *testing.T) {
	root, elsewhere := pictures(t), t.TempDir()
	class, list, tables := filepath.Join(root, "class001"), filepath.Join(root, "list.txt"), filepath.Join(elsewhere, "[a]*") // no pattern
	for path, text := range map[string]string{list: "class000/000000.png\n\n" + filepath.Join(class, "000001.png") + "\n", filepath.Join(root, "labels.csv"): "a\n1\n",
		filepath.Join(tables, "b.csv"): "a\n1\n", filepath.Join(tables, "a.CSV"): "a\n1\n", filepath.Join(tables, "README.md"): "x", filepath.Join(tables, "_SUCCESS.csv"): ""} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	link, linked := filepath.Join(elsewhere, "link"), filepath.Join(elsewhere, "linked")
	for at, to := range map[string]string{link: root, filepath.Join(linked, "a"): class} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.Symlink(to, at)); err != nil {
			t.Fatal(err)
		}
	}
	digests := map[string]string{}
	for path, want := range map[string]string{root: "12 pictures", link: "12 pictures", linked: "6 pictures", class: "6 pictures", tables: "2 table",
		filepath.Join(root, "class00[1]", "*.png"): "6 pictures", filepath.Join(class, "000001.png"): "1 pictures", "@" + list: "2 pictures"} {
		r := ran(t, path)
		if got := fmt.Sprint(r.Work.Samples, " ", r.Work.Kind); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
		digests[path] = r.Work.Digest
	}
	if digests[root] != digests[link] || digests[root] == digests[class] {
		t.Errorf("%v", digests)
	}
}

func TestALabelThatIsNotThere(t *testing.T) {
	path := table(t, "f1,target\n1,2\n3,4\n")
	for args, status := range map[string]int{"--label target": 0, "--label=": 0, "--seed 1": 0, "--label label": 1, "--header false --label=": 1} {
		_, log := command(t, status, append([]string{"run", path, "--epochs", "1", "--seconds", "0"}, strings.Fields(args)...)...)
		if said := strings.Contains(log, `"target"`); said != (args == "--seed 1") && status == 0 {
			t.Errorf("%q: %q", args, log)
		}
	}
}

func TestWrongCommandLines(t *testing.T) {
	path := table(t, "label,a\n1,2\n")
	for _, args := range [][]string{
		{}, {"walk"}, {"run"}, {"run", ""}, {"run", "x", "--threads", "0"}, {"run", "x", "--threads", "1,1"}, {"run", "x", "--batch", "0"}, {"run", "x", "--epochs", "0"}, {"run", "x", "--seconds", "-1"}, {"run", "x", "--seconds", "NaN"},
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
	damaged, empty, pipe := pictures(t, "--broken", "2"), t.TempDir(), fifo(t)
	first := filepath.Join(damaged, "class000", "000000.png")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"run", empty}, "nothing to measure: no pictures"}, {[]string{"run", damaged, "--epochs", "1"}, first}, {[]string{"roof", damaged, "--epochs", "1"}, first},
		{[]string{"run", "nowhere/*.jpg"}, "nowhere"}, {[]string{"run", pipe}, "no such file"}, {[]string{"run", damaged, "t.csv"}, "stands alone"},
		{[]string{"run", "@nowhere"}, "nowhere"}, {[]string{"run", "@" + os.DevNull}, "nothing to measure"}, {[]string{"run", "--as", "table", damaged}, damaged},
		{[]string{"compare", "nowhere", "nowhere"}, "nowhere"}, {[]string{"synth", damaged}, "already"}, {[]string{"run", damaged, "--out", os.Args[0] + "/x"}, "--out"},
	} {
		if out, log := command(t, 1, c.args...); out != "" || !strings.Contains(log, c.says) {
			t.Errorf("%q: %q, %q", c.args, out, log)
		}
	}
	if r := ran(t, damaged, "--epochs", "3", "--on-error", "zero", "--transform", "randomresizedcrop=8"); len(r.Bad) != 2 || r.Bad[0].Path != first || r.Bad[0].Reason == "" {
		t.Errorf("%+v", r.Bad)
	}
	// What stands in the way of a file is known too late, and the figures are printed all the same.
	folder := filepath.Join(t.TempDir(), "out")
	if err := os.MkdirAll(filepath.Join(folder, "report.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, log := command(t, 1, "run", table(t, "label,a\n1,2\n"), "--out", folder, "--epochs", "1", "--seconds", "0", "--threads", "1"); !strings.Contains(out, "1 rows in 1 file") || !strings.Contains(log, "report.json") {
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
	pipe := fifo(t)
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
