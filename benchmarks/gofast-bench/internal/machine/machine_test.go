package machine

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestProcessors(t *testing.T) {
	if got := field("a : 1\nmodel name\t: X Y\n", "model name"); got != "X Y" {
		t.Errorf("%q", got)
	}
	if kilobytes("12 kB") != 12<<10 || kilobytes("") != 0 {
		t.Error("kilobytes")
	}
	for info, want := range map[string]string{"processor: 0\nmodel name: Xeon\n": "Xeon", "": runtime.GOARCH,
		"CPU implementer : 0x41\nCPU part : 0xd40\n": runtime.GOARCH + " implementer 0x41 part 0xd40"} {
		if got := processor(info); got != want {
			t.Errorf("%q: %q", info, got)
		}
	}
	root := t.TempDir()
	for cpu, siblings := range map[string]string{"cpu0": "0,2", "cpu1": "1,3", "cpu2": "0,2", "cpu3": "1,3", "cpuidle": "9"} {
		put(t, filepath.Join(root, cpu, "topology", "thread_siblings_list"), siblings+"\n")
	}
	if n := cores(root); n != 2 {
		t.Errorf("two cores of two threads are %d", n)
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFacts(t *testing.T) {
	f := Look()
	if f.Go != runtime.Version() || f.Usable < 1 || f.CPUs < f.Usable || f.Cores > f.CPUs || f.CPU == "" || f.Memory == 0 || f.Kernel == "" || f.Gofast == "" {
		t.Errorf("%+v", f)
	}
}

func TestTheCacheOfFiles(t *testing.T) {
	paths := []string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "empty"), "nowhere"}
	if err := os.WriteFile(paths[0], make([]byte, 100_000), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(paths[1], nil, 0o600); err != nil {
		t.Fatal(err)
	}
	path := func(i int64) string { return paths[i] }
	c, err := LookCache(context.Background(), 3, path)
	if err != nil || !c.Known || c.Resident != 1 || c.Looked != 1 { // it was just written
		t.Errorf("%+v, %v", c, err)
	}
	if c, err = LookCache(context.Background(), 2, func(int64) string { return "nowhere" }); err != nil || c.Known {
		t.Errorf("%+v, %v", c, err)
	}
	if err := DropCache(context.Background(), 3, path); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := LookCache(ctx, 1, path); err == nil || DropCache(ctx, 1, path) == nil {
		t.Error("a context that ended is not noticed")
	}
}
