package store

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/gofast-org/gofast/gofast/internal/atomicfile"
	"github.com/gofast-org/gofast/gofast/internal/errs"
)

func artefact(t *testing.T, content []byte) *Artefact {
	t.Helper()
	a := &Artefact{Op: "test", Kind: "test", Version: 1, Path: filepath.Join(t.TempDir(), "a"), Of: [28]byte{1}}
	if err := a.put(t.Context(), content); err != nil {
		t.Fatal(err)
	}
	return a
}

func behindHead(content []byte) []byte { return append(make([]byte, HeadBytes), content...) }

func (a *Artefact) put(ctx context.Context, content []byte) error {
	return Once(ctx, a.Op, a.Path, func() bool { return false }, func(file *atomicfile.File) error {
		r, err := a.Write(ctx, file, behindHead(content))
		if err != nil {
			return err
		}
		if !bytes.Equal(r.Data[HeadBytes:], content) {
			return errors.New("another content")
		}
		return r.Close()
	})
}

func TestArtefact(t *testing.T) {
	for _, content := range [][]byte{nil, []byte("abc"), bytes.Repeat([]byte("x"), 1<<20)} {
		a := artefact(t, content)
		r, err := a.Open(t.Context())
		if err != nil || !bytes.Equal(r.Data[HeadBytes:], content) {
			t.Fatalf("%v", err)
		}
		if err := a.put(t.Context(), []byte("later")); err != nil || !bytes.Equal(r.Data[HeadBytes:], content) {
			t.Errorf("what is open changed: %v", err)
		}
		if err := errors.Join(r.Close(), r.Close()); err != nil {
			t.Error(err)
		}
		if left, _ := filepath.Glob(a.Path + "*"); len(left) != 1 {
			t.Errorf("left: %q", left)
		}
	}
}

func TestWhatIsNotTheArtefact(t *testing.T) {
	a := artefact(t, []byte("some content"))
	for name, c := range map[string]struct {
		change func(a *Artefact)
		want   error
	}{
		"other source":  {func(a *Artefact) { a.Of[27] = 1 }, errs.ErrChanged},
		"other version": {func(a *Artefact) { a.Version++ }, errs.ErrDamaged},
		"other kind":    {func(a *Artefact) { a.Kind = "text" }, errs.ErrDamaged},
		"none":          {func(a *Artefact) { a.Path += "x" }, errs.ErrNotFound},
		"folder":        {func(a *Artefact) { a.Path = filepath.Dir(a.Path) }, errs.ErrDamaged},
	} {
		other := *a
		c.change(&other)
		if _, err := other.Open(t.Context()); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	is := func(kind, path string) bool { return (&Artefact{Kind: kind, Path: path}).Is() }
	if !a.Is() || is(a.Kind, filepath.Dir(a.Path)) || is(a.Kind, a.Path+"x") || is("text", a.Path) {
		t.Error("it is not told by its first bytes")
	}
	good, err := os.ReadFile(a.Path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		flipped := slices.Clone(good)
		flipped[i] ^= 1 << (i % 8)
		for _, bad := range [][]byte{flipped, good[:i]} {
			if err := os.WriteFile(a.Path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := a.Open(t.Context()); !errors.Is(err, errs.ErrDamaged) {
				t.Fatalf("byte %d: %v", i, err)
			}
		}
	}
}

func TestFullDisk(t *testing.T) {
	a := artefact(t, []byte("old"))
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	// The limit is the process's: `go test` writes its own log of opened files meanwhile, some 100 KB.
	const limit = 16 << 20
	small := was
	small.Cur = limit
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small); err != nil {
		t.Fatal(err)
	}
	err := a.put(t.Context(), make([]byte, limit+1))
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	r, opened := a.Open(t.Context())
	if !errors.Is(err, errs.ErrRead) || opened != nil || string(r.Data[HeadBytes:]) != "old" {
		t.Errorf("%v, then %v", err, opened)
	}
	r.Close()
	if left, _ := filepath.Glob(a.Path + "*"); len(left) != 1 {
		t.Errorf("left: %q", left)
	}
}

func TestOneMakesItAndOthersWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	a := &Artefact{Op: "test", Kind: "test", Path: path}
	var made atomic.Int32
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			there := func() bool {
				r, err := a.Open(t.Context())
				return err == nil && r.Close() == nil
			}
			err := Once(t.Context(), a.Op, path, there, func(file *atomicfile.File) error {
				made.Add(1)
				r, err := a.Write(t.Context(), file, behindHead([]byte("x")))
				if err != nil {
					return err
				}
				return r.Close()
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if made.Load() != 1 {
		t.Errorf("made %d times", made.Load())
	}
}

func TestMemoryIsSealed(t *testing.T) {
	fd, err := InMemory("test", "test", []byte("hello"))
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "memory")
	defer f.Close()
	head := make([]byte, 5)
	if _, err := f.ReadAt(head, 0); err != nil || string(head) != "hello" {
		t.Errorf("reads back %q, %v", head, err)
	}
	if _, err := f.WriteAt([]byte("j"), 0); err == nil || f.Truncate(1) == nil || f.Truncate(100) == nil {
		t.Error("sealed memory changed")
	}
}
