// Package devicetest is a stand-in for a GPU, for tests: a driver in C (../testdata/standin), which gcc builds, and what a
// test says to it and asks it. Its standin.h says what each function does. One test at a time may use it.
package devicetest

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

static void *library;
static void *find(const char *name) { return dlsym(library, name); }
static int load(const char *path) { return library || (library = dlopen(path, RTLD_NOW | RTLD_LOCAL)); }
#define CALL(result, arguments) ((result(*) arguments)f)
static void call_int(void *f, int a) { CALL(void, (int))(a); }
static void call_none(void *f) { CALL(void, (void))(); }
static int ask(void *f) { return CALL(int, (void))(); }
static int ask_name(void *f, const char *name) { return CALL(int, (const char *))(name); }
static const char *text(void *f) { return CALL(const char *, (void))(); }
static void call_words(void *f, uint64_t a, uint64_t b) { CALL(void, (uint64_t, uint64_t))(a, b); }
static void call_two(void *f, int a, int b) { CALL(void, (int, int))(a, b); }
static void call_fail(void *f, const char *name, int nth, int code) { CALL(void, (const char *, int, int))(name, nth, code); }
static uintptr_t stream(void *f, int device) { return (uintptr_t)CALL(void *, (int))(device); }
static int advance(void *f, uintptr_t stream, int n) { return CALL(int, (void *, int))((void *)stream, n); }
static void call_read(void *f, uintptr_t stream, uint64_t address, uint64_t bytes, void *out) {
	CALL(void, (void *, uint64_t, uint64_t, void *, int *))((void *)stream, address, bytes, out, NULL);
}
static void call_touch(void *f, uintptr_t stream, uint64_t address, uint64_t bytes) {
	CALL(void, (void *, uint64_t, uint64_t))((void *)stream, address, bytes);
}
*/
import "C"

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"unsafe"
)

// When work is done.
const (
	Manual = iota
	Late
	OnSight
	Random
)

var build struct {
	sync.Once
	library string
	err     error
}

// sources is the folder of the stand-in.
func sources() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "testdata", "standin")
}

// compile calls gcc as standin.h says. Without -O: the stand-in computes little, and
// gcc takes 1 s for it instead of 3.
func compile(args ...string) error {
	out, err := exec.Command("gcc", append([]string{"-std=gnu11", "-ffp-contract=off", "-Wall", "-Wextra", "-pthread"}, args...)...).CombinedOutput()
	if err != nil || len(out) > 0 {
		return fmt.Errorf("gcc: %v: %s", err, out)
	}
	return nil
}

// library builds the stand-in, once a process. The folder is gone as soon as the library is loaded.
func library() (string, error) {
	build.Do(func() {
		folder, err := os.MkdirTemp("", "gofast-standin")
		if err != nil {
			build.err = err
			return
		}
		defer os.RemoveAll(folder)
		build.library = filepath.Join(folder, "libstandin.so")
		files, _ := filepath.Glob(filepath.Join(sources(), "*.c"))
		if build.err = compile(append([]string{"-fPIC", "-shared", "-fvisibility=hidden", "-o", build.library}, files...)...); build.err != nil {
			return
		}
		path := C.CString(build.library)
		defer C.free(unsafe.Pointer(path))
		if C.load(path) == 0 {
			build.err = fmt.Errorf("the stand-in cannot be loaded")
		}
	})
	return build.library, build.err
}

// Driver is the stand-in.
type Driver struct{ Library string }

// New gives the stand-in as it is at first, and looks at the end of a test whether anything was done wrong or left.
func New(t testing.TB, mode int) *Driver {
	t.Helper()
	path, err := library()
	if err != nil {
		t.Skipf("no stand-in for a GPU: %v", err)
	}
	d := &Driver{path}
	C.call_none(function("standin_reset"))
	d.Mode(mode)
	t.Cleanup(func() {
		if text := d.Violations(); text != "" {
			t.Errorf("done wrong:\n%s", text)
		}
		if text := C.GoString(C.text(function("standin_leaks"))); text != "" {
			t.Errorf("left behind:\n%s", text)
		}
		C.call_none(function("standin_reset"))
	})
	return d
}

var functions sync.Map

func function(name string) unsafe.Pointer {
	if f, known := functions.Load(name); known {
		return f.(unsafe.Pointer)
	}
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	f := C.find(cname)
	if f == nil {
		panic("the stand-in has no " + name)
	}
	functions.Store(name, f)
	return f
}

func named(name string, call func(*C.char)) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	call(text)
}

// Mode says when work is done.
func (d *Driver) Mode(mode int) { C.call_int(function("standin_mode"), C.int(mode)) }

// Seed is of Random.
func (d *Driver) Seed(seed uint64) { C.call_words(function("standin_seed"), C.uint64_t(seed), 0) }

// Devices is how many there are.
func (d *Driver) Devices(n int) { C.call_int(function("standin_devices"), C.int(n)) }

// Version is the driver's: 12040.
func (d *Driver) Version(version int) { C.call_int(function("standin_version"), C.int(version)) }

// Capability is the devices'.
func (d *Driver) Capability(major, minor int) {
	C.call_two(function("standin_capability"), C.int(major), C.int(minor))
}

// Memory is of each device.
func (d *Driver) Memory(left, total uint64) {
	C.call_words(function("standin_memory"), C.uint64_t(left), C.uint64_t(total))
}

// PinLimit bounds pinned pages.
func (d *Driver) PinLimit(bytes uint64) {
	C.call_words(function("standin_pin_limit"), C.uint64_t(bytes), 0)
}

// Fail lets the nth next call return a code.
func (d *Driver) Fail(call string, nth, code int) {
	named(call, func(name *C.char) { C.call_fail(function("standin_fail"), name, C.int(nth), C.int(code)) })
}

// Heal forgets the failures that are still to come.
func (d *Driver) Heal() { C.call_none(function("standin_heal")) }

// Lose lets a device do nothing any more.
func (d *Driver) Lose(device int) { C.call_int(function("standin_lose"), C.int(device)) }

// Stream makes a stream of the consumer's.
func (d *Driver) Stream(device int) uintptr {
	return uintptr(C.stream(function("standin_stream"), C.int(device)))
}

// Advance does up to n operations of a stream.
func (d *Driver) Advance(stream uintptr, n int) int {
	return int(C.advance(function("standin_advance"), C.uintptr_t(stream), C.int(n)))
}

// AdvanceAll does all.
func (d *Driver) AdvanceAll() { C.call_none(function("standin_advance_all")) }

// Reset forgets everything, what is left behind too.
func (d *Driver) Reset() { C.call_none(function("standin_reset")) }

// Pending is the number of operations that are not done.
func (d *Driver) Pending() int { return int(C.ask(function("standin_pending"))) }

// Read reads as a kernel of the consumer would. The stand-in must be one that reads at once.
func (d *Driver) Read(stream uintptr, address uint64, bytes int) []byte {
	out := C.calloc(1, C.size_t(bytes+1))
	defer C.free(out)
	C.call_read(function("standin_read"), C.uintptr_t(stream), C.uint64_t(address), C.uint64_t(bytes), out)
	return C.GoBytes(out, C.int(bytes))
}

// ReadLater is Read whenever the stream comes to it. What it gives says what was read, once all is done.
func (d *Driver) ReadLater(stream uintptr, address uint64, bytes int) func() []byte {
	out := C.calloc(1, C.size_t(bytes+1))
	C.call_read(function("standin_read"), C.uintptr_t(stream), C.uint64_t(address), C.uint64_t(bytes), out)
	return func() []byte {
		defer C.free(out)
		return C.GoBytes(out, C.int(bytes))
	}
}

// Touch uses memory as a kernel of the consumer would.
func (d *Driver) Touch(stream uintptr, address uint64, bytes int) {
	C.call_touch(function("standin_touch"), C.uintptr_t(stream), C.uint64_t(address), C.uint64_t(bytes))
}

// Calls is how often a symbol was called.
func (d *Driver) Calls(call string) (n int) {
	named(call, func(name *C.char) { n = int(C.ask_name(function("standin_calls"), name)) })
	return n
}

// Syncs is how often the host waited.
func (d *Driver) Syncs() int { return int(C.ask(function("standin_syncs"))) }

// Violations are what was done wrong, one a line.
func (d *Driver) Violations() string { return C.GoString(C.text(function("standin_violations"))) }

// Compilers are the libraries of NVRTC that are here: $GOFAST_NVRTC, or those of the repository's environment. Tests that
// need one skip without.
func Compilers() []string {
	if path := os.Getenv("GOFAST_NVRTC"); path != "" {
		return []string{path}
	}
	root := filepath.Join(sources(), "..", "..", "..", "..")
	found, _ := filepath.Glob(filepath.Join(root, ".venv*", "lib", "python*", "site-packages", "nvidia", "*", "lib", "libnvrtc.so.*"))
	return found
}
