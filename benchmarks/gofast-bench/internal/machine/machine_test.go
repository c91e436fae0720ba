package machine

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestTexts(t *testing.T) {
	for text, want := range map[string]int{"0": 1, "0-3,8": 5, "0-63": 64, "": 0, "x": 0, "3-x": 0} {
		if got := countList(text); got != want {
			t.Errorf("%q: %d", text, got)
		}
	}
	if got := field("a : 1\nmodel name\t: X Y\n", "model name"); got != "X Y" {
		t.Errorf("%q", got)
	}
	if kilobytes("12 kB") != 12<<10 || kilobytes("") != 0 {
		t.Error("kilobytes")
	}
}

func TestFacts(t *testing.T) {
	f := Look()
	if f.Go != runtime.Version() || f.Usable < 1 || f.CPUs < f.Usable || f.Memory == 0 || f.Kernel == "" || f.Gofast == "" {
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
