//go:build !race

// gcc takes 3 s for the stand-in for the CUDA driver, and what the race detector sees of it is tested beside package device.

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast/device"
	"github.com/gofast-org/gofast/gofast/device/devicetest"
)

// The device's figures stand beside the others.
func TestRunOnADevice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	command(t, 0, "synth", path, "--count", "2000", "--columns", "1200")
	args := []string{"run", path, "--label", "", "--batch", "1000", "--epochs", "2", "--threads", "1", "--device", "cuda:0"} // 1.2 MB each
	driver := devicetest.New(t, devicetest.Random)
	first, err := device.Open(0, device.Options{Library: driver.Library}) // the driver of this process, from now on
	if err != nil {
		t.Fatal(err)
	}
	first.Close()
	out, _ := command(t, 0, args...)
	for _, part := range []string{"on cuda:0 (stand-in 0):", "copy rate GB/s", "not waited for: the overlap"} {
		if !strings.Contains(out, part) {
			t.Errorf("no %q in %q", part, out)
		}
	}
	r := ran(t, args[1:]...)
	if m := r.Runs[0].Moves; m.Rate <= 0 || m.CopySeconds <= 0 || m.Bytes < 2*2000*1200 || m.Overlap < 0 || m.Overlap > 1 {
		t.Errorf("%+v", m)
	}
}
