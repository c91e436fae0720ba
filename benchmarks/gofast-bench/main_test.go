package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/device"
	"github.com/gofast-org/gofast/gofast/device/devicetest"
)

func TestRunPrintsJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte("label,a,b\n"+strings.Repeat("1,2,3\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, log bytes.Buffer
	args := []string{"run", path, "--batch", "16", "--threads", "1,2", "--epochs", "3", "--shuffle", "--seed", "0", "--json"}
	if err := command(context.Background(), args, &out, &log); err != nil {
		t.Fatal(err, log.String())
	}
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if r.Rows != 100 || r.Width != 2 || len(r.Runs) != 2 || len(r.Runs[1].Seconds) != 3 || r.Runs[0].RowsPerS <= 0 {
		t.Errorf("unexpected report: %+v", r)
	}
	out.Reset()
	if err := command(context.Background(), args[:len(args)-1], &out, &log); err != nil || !strings.Contains(out.String(), "100 rows x 2 features") {
		t.Errorf("text report: %v %q", err, out.String())
	}
}

func TestALabelThatIsNotThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte("f1,target\n1,2\n3,4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		said bool
		bad  error
	}{
		{nil, true, nil}, {[]string{"--label", "target"}, false, nil}, {[]string{"--label", ""}, false, nil},
		{[]string{"--label", "label"}, false, gofast.ErrSchema}, {[]string{"--header", "false", "--label", ""}, false, gofast.ErrSchema},
	} {
		var out, log bytes.Buffer
		err := command(context.Background(), append([]string{"run", path, "--epochs", "1"}, c.args...), &out, &log)
		if !errors.Is(err, c.bad) || strings.Contains(log.String(), `"target"`) != c.said {
			t.Errorf("%q: %v, %q", c.args, err, log.String())
		}
	}
}

func TestWrongCommandLines(t *testing.T) {
	for _, args := range [][]string{{}, {"walk"}, {"run"}, {"run", "x", "--threads", "0"}, {"run", "x", "--batch", "0"}, {"run", "x", "--no"}, {"run", "x", "--header", "maybe"}, {"run", "x", "--device", "cpu"}, {"run", "x", "--device", "cuda:-1"}} {
		var out, log bytes.Buffer
		if err := command(context.Background(), args, &out, &log); !errors.Is(err, errUsage) || log.Len() == 0 {
			t.Errorf("%q: %v, %q", args, err, log.String())
		}
	}
}

// The device's figures stand beside the others. A machine without a driver says so.
func TestRunOnADevice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte("label,a,b\n"+strings.Repeat("1,2,300000\n", 300_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"run", path, "--batch", "150000", "--epochs", "2", "--device", "cuda:0"}
	var out, log bytes.Buffer
	if none := exec.Command(os.Args[0], "-test.run", "^TestNoGPU$"); os.Getenv("GOFAST_TEST_NO_GPU") == "" {
		none.Env = append(os.Environ(), "GOFAST_TEST_NO_GPU="+path)
		if said, err := none.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, said)
		}
	}
	driver := devicetest.New(t, devicetest.Random)
	first, err := device.Open(0, device.Options{Library: driver.Library}) // the driver of this process, from now on
	if err != nil {
		t.Fatal(err)
	}
	first.Close()
	if err := command(context.Background(), args, &out, &log); err != nil {
		t.Fatal(err, log.String())
	}
	for _, part := range []string{"on cuda:0 (stand-in 0):", "copy rate GB/s", "not waited for: the overlap"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("no %q in %q", part, out.String())
		}
	}
	out.Reset()
	if err := command(context.Background(), append(args, "--json"), &out, &log); err != nil {
		t.Fatal(err, log.String())
	}
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if m := r.Runs[0].Moves; m == nil || m.Rate <= 0 || m.CopySeconds <= 0 || m.Bytes < 2*300_000*2*4 || m.Overlap < 0 || m.Overlap > 1 {
		t.Errorf("%+v", m)
	}
}

func TestNoGPU(t *testing.T) {
	path := os.Getenv("GOFAST_TEST_NO_GPU")
	if path == "" {
		t.Skip("TestRunOnADevice runs it")
	}
	var out, log bytes.Buffer
	err := command(context.Background(), []string{"run", path, "--device", "cuda:99"}, &out, &log)
	if !errors.Is(err, gofast.ErrDevice) {
		t.Errorf("%v", err)
	}
}
