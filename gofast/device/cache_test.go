package device

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofast-org/gofast/gofast/device/devicetest"
	"github.com/gofast-org/gofast/gofast/internal/atomicfile"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/store"
	"github.com/gofast-org/gofast/gofast/numbers"
)

// place is where the kernel lies that loads asks for.
func place(c compiler, folder string) *store.Artefact {
	_, options := compilation(numbers.Uint8, numbers.Float32, "sm_90")
	return kept(folder, c, options)
}

// loads opens a device with a cache, and asks for a kernel; it says how long that took.
func loads(t *testing.T, driver *devicetest.Driver, folder string) time.Duration {
	t.Helper()
	d, err := Open(0, Options{Library: driver.Library, Compilers: devicetest.Compilers(), Cache: folder})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	start := time.Now()
	first, err := d.Kernel(numbers.Uint8, numbers.Float32)
	if err != nil || first == 0 {
		t.Fatalf("%v, %v", first, err)
	}
	took := time.Since(start)
	if again, err := d.Kernel(numbers.Uint8, numbers.Float32); again != first || err != nil {
		t.Errorf("%v and then %v, %v", first, again, err)
	}
	return took
}

func TestKernelsAreKept(t *testing.T) {
	c := needCompiler(t)
	driver, folder := devicetest.New(t, devicetest.Late), filepath.Join(t.TempDir(), "not", "there")
	loads(t, driver, folder)
	files, _ := filepath.Glob(filepath.Join(folder, "*"))
	if len(files) != 1 {
		t.Fatalf("%q", files)
	}
	good, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	// What is kept is used: another code, with its checksum, comes to the driver.
	if _, ok := keptImage(place(c, folder)); !ok {
		t.Error("what is kept is not read")
	}
	keepImage(place(c, folder), []byte("\x00no kernel")) // the stand-in refuses what begins with 0
	d, err := Open(0, Options{Library: driver.Library, Compilers: devicetest.Compilers(), Cache: folder})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Kernel(numbers.Uint8, numbers.Float32); err != nil {
		t.Errorf("a kept kernel that the driver refuses is not made again: %v", err)
	}
	// Damaged files are made again.
	for name, damaged := range map[string][]byte{"empty": {}, "cut": good[:len(good)-1], "short": good[:20], "flipped": flipped(good)} {
		if err := os.WriteFile(files[0], damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		loads(t, driver, folder)
		if now, _ := os.ReadFile(files[0]); !bytes.Equal(now, good) {
			t.Errorf("%s: not mended", name)
		}
	}
}

func flipped(good []byte) []byte {
	bad := bytes.Clone(good)
	bad[len(bad)/2] ^= 1
	return bad
}

// A folder that cannot be written costs time, and is no error; nor is another process that writes, or stands still.
func TestKernelsCannotBeKept(t *testing.T) {
	c := needCompiler(t)
	driver, folder := devicetest.New(t, devicetest.Late), t.TempDir()
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	loads(t, driver, filepath.Join(file, "below"))
	held, err := atomicfile.Begin(t.Context(), "test", place(c, folder).Path)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	done := make(chan struct{})
	go func() { defer close(done); loads(t, driver, folder) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("it waits for who writes the same kernel")
	}
}

func TestTwoProcessesKeepKernels(t *testing.T) {
	c := needCompiler(t)
	driver := devicetest.New(t, devicetest.Late)
	if folder := os.Getenv("GOFAST_TEST_CACHE"); folder != "" {
		loads(t, driver, folder)
		return
	}
	folder := t.TempDir()
	var both [2]*exec.Cmd
	for i := range both {
		both[i] = exec.Command(os.Args[0], "-test.run", "^TestTwoProcessesKeepKernels$")
		both[i].Env = append(os.Environ(), "GOFAST_TEST_CACHE="+folder)
		if err := both[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range both {
		if err := p.Wait(); err != nil {
			t.Error(err)
		}
	}
	files, _ := filepath.Glob(filepath.Join(folder, "*.cubin"))
	if len(files) != 1 {
		t.Fatalf("%q", files)
	}
	if _, ok := keptImage(place(c, folder)); !ok {
		t.Error("what two processes wrote is damaged")
	}
}

func TestKernelsThatAreNot(t *testing.T) {
	needCompiler(t)
	driver := devicetest.New(t, devicetest.Late)
	driver.Capability(1, 0)
	d, err := Open(0, Options{Library: driver.Library, Compilers: devicetest.Compilers(), Cache: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Kernel(numbers.Uint8, numbers.Float32); !errors.Is(err, errs.ErrUnsupported) {
		t.Errorf("no compiler knows sm_10: %v", err)
	}
	for _, pair := range [][2]numbers.Type{{numbers.Float32, numbers.Int32}, {numbers.Float16, numbers.Float32}, {numbers.Invalid, numbers.Float32}, {numbers.Uint8, numbers.Invalid}} {
		if _, err := d.Kernel(pair[0], pair[1]); !errors.Is(err, errs.ErrConfig) {
			t.Errorf("%s of %s: %v", pair[1], pair[0], err)
		}
	}
}
