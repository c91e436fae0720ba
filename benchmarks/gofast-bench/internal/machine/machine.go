// Package machine records where a figure comes from, and what files are in memory.
package machine

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/image"
	"github.com/gofast-org/gofast/gofast/image/jpeg"
	"golang.org/x/sys/unix"
)

// Facts say on which machine and by which program something was measured. What cannot be
// found out is empty or 0.
type Facts struct {
	CPU        string  `json:"cpu"`
	CPUs       int     `json:"cpus"`   // of the machine, as the kernel counts: two of a core with two threads
	Cores      int     `json:"cores"`  // of the machine
	Usable     int     `json:"usable"` // CPUs for this process: affinity and cgroup quota
	Memory     int64   `json:"memory_bytes"`
	Governor   string  `json:"governor"`
	Kernel     string  `json:"kernel"`
	Load       float64 `json:"load_before"` // processes that ran in the minute before
	Go         string  `json:"go"`
	Gofast     string  `json:"gofast"`
	Revision   string  `json:"revision"`
	JPEG       string  `json:"libjpeg"`
	OwnHuffman bool    `json:"own_huffman"` // our decoder of coefficients took hold
}

// Look finds the facts.
func Look() Facts {
	_ = image.LoadFormats(nil) // what is missing is empty below
	info := read("/proc/cpuinfo")
	f := Facts{
		CPU:  cmp.Or(field(info, "model name"), runtime.GOARCH+" part "+field(info, "CPU part")), // arm64 has no names
		CPUs: max(runtime.NumCPU(), strings.Count("\n"+info, "\nprocessor")), Cores: cores(), Usable: runtime.GOMAXPROCS(0),
		Governor: strings.TrimSpace(read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
		Go:       runtime.Version(), Gofast: gofast.Version, Revision: revision(),
		JPEG: jpeg.Library(), OwnHuffman: jpeg.Exchanged(),
	}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		f.Kernel = unix.ByteSliceToString(name.Sysname[:]) + " " + unix.ByteSliceToString(name.Release[:])
	}
	var now unix.Sysinfo_t
	if unix.Sysinfo(&now) == nil {
		f.Memory, f.Load = int64(now.Totalram)*int64(now.Unit), float64(now.Loads[0])/65536
	}
	return f
}

// Status is a field of /proc/self/status in bytes: VmRSS is what is in memory now, VmHWM the most that was.
func Status(name string) int64 {
	n, _ := strconv.ParseInt(strings.TrimSuffix(field(read("/proc/self/status"), name), " kB"), 10, 64)
	return n << 10
}

func read(path string) string {
	data, _ := os.ReadFile(path) // what is missing stays empty
	return string(data)
}

// field is the value behind "name :" in /proc's way, of its first line.
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// cores counts the sets of CPUs that share a core.
func cores() int {
	lists, _ := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list") // no bad pattern
	known := map[string]bool{}
	for _, list := range lists {
		known[read(list)] = true
	}
	return len(known)
}

// revision says what the program was built from, as far as the go command noted it.
func revision() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}
