package machine

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestFacts(t *testing.T) {
	f := Look()
	if f.Go != runtime.Version() || f.Usable < 1 || f.CPUs < f.Usable || f.Cores > f.CPUs || f.CPU == "" || f.Memory < 1<<28 || f.Kernel == "" || f.Gofast == "" {
		t.Errorf("%+v", f)
	}
	if now, most := Status("VmRSS"), Status("VmHWM"); now < 1<<20 || most < now/2 {
		t.Errorf("%d bytes, %d at most", now, most)
	}
}

func TestTheCacheOfFiles(t *testing.T) {
	paths := []string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "empty"), "nowhere"}
	for i, bytes := range []int{100_000, 0} {
		if err := os.WriteFile(paths[i], make([]byte, bytes), 0o600); err != nil {
			t.Fatal(err)
		}
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
