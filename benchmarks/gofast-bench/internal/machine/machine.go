// Package machine records where a figure comes from, and what files are in memory.
package machine

import (
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
	f := Facts{
		CPU: processor(read("/proc/cpuinfo")), CPUs: onlineCPUs(), Cores: cores("/sys/devices/system/cpu"), Usable: runtime.GOMAXPROCS(0),
		Memory:   kilobytes(field(read("/proc/meminfo"), "MemTotal")),
		Governor: strings.TrimSpace(read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
		Go:       runtime.Version(), Gofast: gofast.Version, Revision: revision(),
		JPEG: jpeg.Library(), OwnHuffman: jpeg.Exchanged(),
	}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		f.Kernel = unix.ByteSliceToString(name.Sysname[:]) + " " + unix.ByteSliceToString(name.Release[:])
	}
	if load := strings.Fields(read("/proc/loadavg")); len(load) > 0 {
		f.Load, _ = strconv.ParseFloat(load[0], 64)
	}
	return f
}

func read(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
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

// kilobytes reads "123 kB".
func kilobytes(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(text, "kB")), 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}

// onlineCPUs are the machine's, whatever this process may use of them.
func onlineCPUs() int {
	return max(runtime.NumCPU(), strings.Count("\n"+read("/proc/cpuinfo"), "\nprocessor"))
}

// processor is the model's name; where the kernel gives none, as on arm64, its numbers.
func processor(info string) string {
	if name := field(info, "model name"); name != "" {
		return name
	}
	if maker, part := field(info, "CPU implementer"), field(info, "CPU part"); part != "" {
		return runtime.GOARCH + " implementer " + maker + " part " + part
	}
	return runtime.GOARCH
}

// cores counts the sets of CPUs that share a core.
func cores(root string) int {
	lists, _ := filepath.Glob(root + "/cpu[0-9]*/topology/thread_siblings_list") // no bad pattern
	known := map[string]bool{}
	for _, list := range lists {
		known[strings.TrimSpace(read(list))] = true
	}
	return len(known)
}

// revision is the commit that the program was built from, where the go command noted it.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	found, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			found = s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	if found == "" {
		return info.Main.Version
	}
	return found + dirty
}
