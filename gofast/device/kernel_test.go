package device

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast/device/devicetest"
	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/numbers"
)

// opened is device 0 of the stand-in, with a compiler; the test skips without one.
func opened(t testing.TB, mode int) (*devicetest.Driver, *Device) {
	t.Helper()
	driver := devicetest.New(t, mode)
	d, err := Open(0, Options{Library: driver.Library, Compilers: devicetest.Compilers(), Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return driver, d
}

// cache is of all tests: a kernel takes 0.1 s to compile. TestMain sets it.
var cache string

func needCompiler(t testing.TB) compiler {
	t.Helper()
	c, err := findCompiler(devicetest.Compilers())
	if err == nil {
		_, options := compilation(numbers.Uint8, numbers.Uint8, "sm_90")
		_, _, err = c.compile(options) // under the address sanitizer it does not find the library that it needs, for one
	}
	if err != nil {
		t.Skipf("%v (or let GOFAST_NVRTC name a library)", err)
	}
	return c
}

// eachPair calls for every stored and made type that a kernel is for.
func eachPair(call func(stored, made numbers.Type)) {
	for stored := numbers.Uint8; stored <= numbers.Bfloat16; stored++ {
		for made := numbers.Uint8; made <= numbers.Bfloat16; made++ {
			if Makes(stored, made) {
				call(stored, made)
			}
		}
	}
}

// A device that the compiler does not know gets the code of an older one of its generation, or else PTX.
func TestDevicesNewerThanTheCompiler(t *testing.T) {
	c := needCompiler(t)
	for capability, want := range map[int]string{75: "sm_75", 90: "sm_90", 99: "sm_90", 31: "sm_31"} {
		if got := c.architecture(capability); got != want {
			t.Errorf("%d: %s, not %s", capability, got, want)
		}
	}
	newest := c.architecture(990)
	if !strings.HasPrefix(newest, "compute_") {
		t.Fatal(newest)
	}
	_, options := compilation(numbers.Uint8, numbers.Float32, newest)
	image, words, err := c.compile(options)
	if err != nil || words != "" || !bytes.Contains(image, []byte(".target sm_")) {
		t.Errorf("%v %s", err, words)
	}
}

// Without a word of the compiler, for every architecture that CUDA 13 knows.
func TestKernelsCompileForEveryArchitecture(t *testing.T) {
	c := needCompiler(t)
	for _, capability := range []int{90, 75, 80, 100, 120} {
		t.Run(fmt.Sprintf("sm_%d", capability), func(t *testing.T) {
			t.Parallel()
			n := 0
			eachPair(func(stored, made numbers.Type) {
				if n++; testing.Short() && (capability != 90 || n%5 > 0) {
					return
				}
				_, options := compilation(stored, made, c.architecture(capability))
				code, said, err := c.compile(options)
				if err != nil || said != "" || len(code) == 0 {
					t.Errorf("%s of %s: %v %s", made, stored, err, said)
				}
			})
			if n != 40 {
				t.Errorf("%d kernels", n)
			}
		})
	}
}

func TestKernelsAgreeWithArithmetic(t *testing.T) {
	needCompiler(t)
	_, d := opened(t, devicetest.Late)
	turns := 60
	if testing.Short() {
		turns = 8
	}
	eachPair(func(stored, made numbers.Type) {
		r := rand.New(rand.NewPCG(uint64(stored), uint64(made)))
		for range turns {
			s := randomTrial(r, stored, made)
			s.check(t, d)
		}
	})
}

// A row without values and labels is made by doing nothing.
func TestRowsOfNothing(t *testing.T) {
	needCompiler(t)
	_, d := opened(t, devicetest.Late)
	kernel, err := d.Kernel(1, 5)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []Making{{Count: 3}, {Width: 3}, {}} {
		if _, err := d.Send(Job{Kernel: kernel, Making: m}, engine.Slot{}); err != nil {
			t.Errorf("%+v: %v", m, err)
		}
	}
}

// Closing waits for kernels before it unloads their code.
func TestCloseWithKernelsUnderWay(t *testing.T) {
	needCompiler(t)
	driver, d := opened(t, devicetest.Late)
	other, err := Open(0, Options{}) // the same GPU, for memory that outlives the device
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	m, err := other.Alloc(64)
	if err != nil {
		t.Fatal(err)
	}
	kernel, err := d.Kernel(numbers.Uint8, numbers.Uint8)
	if err != nil {
		t.Fatal(err)
	}
	making := Making{Stored: m.Address, Made: m.Address + 32, Count: 1, Width: 8, Channels: 1}
	if _, err := d.Send(Job{Kernel: kernel, Making: making}, engine.Slot{}); err != nil {
		t.Fatal(err)
	}
	if driver.Pending() == 0 {
		t.Fatal("nothing is under way")
	}
	d.Close()
	if err := m.Free(); err != nil {
		t.Error(err)
	}
}

// More rows, and wider ones, than a grid has threads: each thread makes several.
func TestGridsHaveLimits(t *testing.T) {
	needCompiler(t)
	if testing.Short() {
		t.Skip("rows of 67 MB")
	}
	_, d := opened(t, devicetest.Late)
	for _, shape := range [][2]int{{65535*256 + 777, 1}, {2, 4096*256*4 + 1028}, {3, 4096*256*4 + 1027}} {
		s := trial{spec: numbers.Spec{Type: numbers.Int16, Channels: 1}, stored: numbers.Uint8, tableRows: shape[0], count: shape[0], width: shape[1]}
		s.features = make([]byte, shape[0]*shape[1])
		s.wanted = make([]byte, 2*len(s.features))
		for i := range s.features {
			s.features[i] = byte(i * 31 >> 3)
			s.wanted[2*i] = s.features[i]
		}
		if got, _ := s.run(t, d); !bytes.Equal(got, s.wanted) {
			at := differs(got, s.wanted)
			t.Errorf("%d rows of %d: value %d is %x", shape[0], shape[1], at/2, got[at])
		}
	}
}

func FuzzKernels(f *testing.F) {
	needCompiler(f)
	for seed := range uint64(40) {
		f.Add(seed, byte(seed), byte(seed/3), []byte("gofast"))
	}
	f.Fuzz(func(t *testing.T, seed uint64, stored, made byte, data []byte) {
		from, to := numbers.Uint8+numbers.Type(stored%6), numbers.Uint8+numbers.Type(made%8)
		if !Makes(from, to) {
			return
		}
		_, d := opened(t, devicetest.Late)
		s := randomTrial(rand.New(rand.NewPCG(seed, 1)), from, to)
		copy(s.features, data)
		s.want()
		s.check(t, d)
	})
}
