package device

/*
#include <stdlib.h>
#include "device.h"
#include "nvrtc.h"

static int load_kernel(gf_device *d, const void *image, const char *name, gf_cu_module *module, gf_cu_function *function, gf_device_fault *fault) {
	int code = gf_device_enter(d, fault);
	if (code) return code;
	code = gf_device_said(d, d->driver->module_load(module, image), "cuModuleLoadData", fault);
	if (!code) {
		code = gf_device_said(d, d->driver->module_function(function, *module, name), "cuModuleGetFunction", fault);
		if (code) d->driver->module_unload(*module);
	}
	gf_device_leave(d);
	return code;
}
static void unload_kernel(gf_device *d, gf_cu_module module) {
	if (gf_device_enter(d, NULL)) return;
	d->driver->module_unload(module);
	gf_device_leave(d);
}
*/
import "C"

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/atomicfile"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/store"
	"github.com/gofast-org/gofast/gofast/numbers"
)

//go:embed kernels.cu
var source string

//go:embed making.h
var making string

// integers stands for the standard headers, which a device has no files of.
const integers = `typedef signed char int8_t; typedef unsigned char uint8_t; typedef short int16_t; typedef unsigned short uint16_t;
typedef int int32_t; typedef unsigned int uint32_t; typedef long long int64_t; typedef unsigned long long uint64_t;`

// pair is what a kernel makes of what.
type pair struct{ stored, made numbers.Type }

type kernel struct {
	module   C.gf_cu_module
	function C.gf_cu_function
}

func (k kernel) unload(d *C.gf_device) { C.unload_kernel(d, k.module) }

// Makes says whether there is a kernel that makes numbers of one type of stored ones of another: integers are made of
// integers, and floats of everything that tables store.
func Makes(stored, made numbers.Type) bool {
	return stored >= numbers.Uint8 && stored <= numbers.Float64 && (!made.Integer() || made >= numbers.Uint8 && stored.Integer())
}

// Kernel is the function for the driver that makes samples (making.h). It is compiled when it is first asked for, which
// takes 0.1 s, and kept on disk. Without a compiler the error is ErrUnsupported.
func (d *Device) Kernel(stored, made numbers.Type) (uintptr, error) {
	if !Makes(stored, made) {
		return 0, errs.New(errs.ErrConfig, "kernel", fmt.Sprintf("there is no kernel that makes %s of %s", made, stored))
	}
	d.lock.Lock()
	defer d.lock.Unlock()
	c, err := d.open()
	if err != nil {
		return 0, err
	}
	k, known := d.kernels[pair{stored, made}]
	if !known {
		if k, err = d.loadKernel(c, stored, made); err != nil {
			return 0, err
		}
		d.kernels[pair{stored, made}] = k
	}
	return uintptr(unsafe.Pointer(k.function)), nil
}

func (d *Device) loadKernel(c *C.gf_device, stored, made numbers.Type) (kernel, error) {
	compiler, err := findCompiler(d.options.Compilers)
	if err != nil {
		return kernel{}, err
	}
	name, options := compilation(stored, made, compiler.architecture(int(c.capability)))
	place := kept(d.options.Cache, compiler, options)
	if image, cached := keptImage(place); cached {
		if k, err := loadImage(c, image, name); err == nil {
			return k, nil // else it is made again: an older driver, or another fault of what is kept
		}
	}
	image, _, err := compiler.compile(options)
	if err != nil {
		return kernel{}, err
	}
	keepImage(place, image)
	return loadImage(c, image, name)
}

func loadImage(c *C.gf_device, image []byte, name string) (kernel, error) {
	var k kernel
	var fault C.gf_device_fault
	cname, place := C.CString(name), C.CBytes(image)
	defer C.free(unsafe.Pointer(cname))
	defer C.free(place)
	if C.load_kernel(c, place, cname, &k.module, &k.function, &fault) != 0 {
		// Such as code of a newer CUDA than the driver's. There is a way without kernels.
		return kernel{}, errs.New(errs.ErrUnsupported, "kernel", "the driver does not take the kernel: "+C.GoString(&fault.text[0]))
	}
	return k, nil
}

// compilation is a kernel's name and what the compiler is told.
func compilation(stored, made numbers.Type, architecture string) (name string, options []string) {
	name = fmt.Sprintf("gf_make_%d_%d", stored, made)
	return name, []string{
		"--gpu-architecture=" + architecture, "--fmad=false", "--device-as-default-execution-space",
		fmt.Sprintf("-DGF_STORED=%d", stored), fmt.Sprintf("-DGF_MADE=%d", made), "-DGF_NAME=" + name,
	}
}

// compiler is NVRTC.
type compiler struct {
	c            *C.gf_nvrtc
	major, minor int
}

// architecture is what to compile for: the device's own. Machine code of an older one of the same generation runs too,
// and the driver itself compiles PTX for a device that is newer than the compiler.
func (c compiler) architecture(capability int) string {
	var known [64]C.int
	architectures := known[:C.gf_nvrtc_architectures(c.c, &known[0], C.int(len(known)))]
	nearest := 0
	for _, a := range architectures {
		if int(a) <= capability {
			nearest = max(nearest, int(a))
		}
	}
	switch {
	case nearest == 0: // older than the compiler knows: its words say so
		return fmt.Sprintf("sm_%d", capability)
	case nearest/10 == capability/10:
		return fmt.Sprintf("sm_%d", nearest)
	default:
		return fmt.Sprintf("compute_%d", nearest)
	}
}

var finding sync.Mutex

// findCompiler tries the libraries given, then the system's.
func findCompiler(libraries []string) (compiler, error) {
	finding.Lock()
	defer finding.Unlock()
	names := append(append([]string{}, libraries...), "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so")
	list := make([]*C.char, len(names))
	for i, name := range names {
		list[i] = C.CString(name)
		defer C.free(unsafe.Pointer(list[i]))
	}
	var text [256]C.char
	c := C.gf_nvrtc_load(unsafe.SliceData(list), C.int(len(list)), &text[0], C.size_t(len(text)))
	if c == nil {
		return compiler{}, errs.New(errs.ErrUnsupported, "kernel",
			"no kernel can be compiled: "+C.GoString(&text[0])+"; install nvidia-cuda-nvrtc, as torch's own wheels for CUDA do")
	}
	var major, minor C.int
	C.gf_nvrtc_version(c, &major, &minor)
	return compiler{c, int(major), int(minor)}, nil
}

// headers are what kernels.cu includes.
func headers() (names, texts []string) {
	round, err := numbers.Headers.ReadFile("round.h")
	if err != nil {
		panic(err) // it is embedded
	}
	return []string{"making.h", "../numbers/round.h", "stdint.h", "string.h"}, []string{making, string(round), integers, ""}
}

// compile gives machine code, and what the compiler said of it.
func (c compiler) compile(options []string) (code []byte, said string, err error) {
	var free []unsafe.Pointer
	defer func() {
		for _, p := range free {
			C.free(p)
		}
	}()
	text := func(s string) *C.char {
		p := C.CString(s)
		free = append(free, unsafe.Pointer(p))
		return p
	}
	list := func(texts []string) **C.char { // in C memory: Go's may not hold pointers to pointers for C
		p := C.calloc(C.size_t(len(texts)+1), C.size_t(unsafe.Sizeof(uintptr(0))))
		free = append(free, p)
		for i, s := range texts {
			unsafe.Slice((**C.char)(p), len(texts))[i] = text(s)
		}
		return (**C.char)(p)
	}
	names, texts := headers()
	from := C.gf_nvrtc_source{text: text(source), headers: list(texts), names: list(names), n_headers: C.int(len(names))}
	var image unsafe.Pointer
	var size C.size_t
	var words [2048]C.char
	if C.gf_nvrtc_compile(c.c, &from, list(options), C.int(len(options)), &image, &size, &words[0], C.size_t(len(words))) != 0 {
		return nil, "", errs.New(errs.ErrUnsupported, "kernel", fmt.Sprintf("NVRTC %d.%d does not compile it for %s: %s", c.major, c.minor, options[0], C.GoString(&words[0])))
	}
	defer C.free(image)
	return C.GoBytes(image, C.int(size)), C.GoString(&words[0]), nil
}

// kept is where a kernel of this source, by this compiler with these options, is kept; nil where nothing can be.
func kept(folder string, c compiler, options []string) *store.Artefact {
	if folder == "" {
		if folder = store.Folder("kernels"); folder == "" {
			return nil
		}
	}
	names, texts := headers()
	sum := sha256.Sum224(fmt.Appendf(nil, "%q %q %q %q %d.%d", source, names, texts, options, c.major, c.minor))
	path := filepath.Join(folder, fmt.Sprintf("%x.cubin", sum[:16]))
	return &store.Artefact{Op: "kernel", Kind: "kernel", Version: 1, Path: path, Of: sum}
}

// keptImage reads a kernel that was kept.
func keptImage(a *store.Artefact) ([]byte, bool) {
	if a == nil {
		return nil, false
	}
	r, err := a.Open(context.Background())
	if err != nil {
		return nil, false
	}
	defer r.Close()
	return bytes.Clone(r.Data[store.HeadBytes:]), true
}

// keepImage writes a kernel for the next process, if the folder can be written: it costs 0.1 s to make again.
func keepImage(a *store.Artefact, image []byte) {
	if a == nil || os.MkdirAll(filepath.Dir(a.Path), 0o700) != nil {
		return
	}
	// A process that writes the same kernel is not waited for.
	atOnce, end := context.WithCancel(context.Background())
	end()
	_ = store.Once(atOnce, a.Op, a.Path, func() bool { return false }, func(file *atomicfile.File) error {
		r, err := a.Write(context.Background(), file, append(make([]byte, store.HeadBytes), image...))
		if err != nil {
			return err
		}
		return r.Close()
	})
}
