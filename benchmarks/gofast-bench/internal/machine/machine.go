// Package machine records where a figure comes from, and what files are in memory.
package machine

import (
	"os"
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
	CPU         string  `json:"cpu"`
	CPUs        int     `json:"cpus"`   // of the machine
	Usable      int     `json:"usable"` // by this process: affinity and cgroup quota
	Quota       float64 `json:"cgroup_cpus"`
	Memory      int64   `json:"memory_bytes"`
	MemoryLimit int64   `json:"cgroup_memory_bytes"`
	Governor    string  `json:"governor"`
	Kernel      string  `json:"kernel"`
	Load        float64 `json:"load_before"` // processes that ran in the minute before
	Go          string  `json:"go"`
	Gofast      string  `json:"gofast"`
	Revision    string  `json:"revision"`
	JPEG        string  `json:"libjpeg"`
	OwnHuffman  bool    `json:"own_huffman"` // our decoder of coefficients took hold
}

// Look finds the facts.
func Look() Facts {
	_ = image.LoadFormats(nil) // what is missing is empty below
	f := Facts{
		CPU: field(read("/proc/cpuinfo"), "model name"), CPUs: runtime.NumCPU(), Usable: runtime.GOMAXPROCS(0),
		Memory:   kilobytes(field(read("/proc/meminfo"), "MemTotal")),
		Governor: strings.TrimSpace(read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
		Go:       runtime.Version(), Gofast: gofast.Version, Revision: revision(),
		JPEG: jpeg.Library(), OwnHuffman: jpeg.Exchanged(),
	}
	if online := read("/sys/devices/system/cpu/online"); online != "" {
		f.CPUs = max(f.CPUs, countList(strings.TrimSpace(online)))
	}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		f.Kernel = unix.ByteSliceToString(name.Sysname[:]) + " " + unix.ByteSliceToString(name.Release[:])
	}
	if load := strings.Fields(read("/proc/loadavg")); len(load) > 0 {
		f.Load, _ = strconv.ParseFloat(load[0], 64)
	}
	f.Quota, f.MemoryLimit = cgroup()
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

// countList counts the processors of "0-3,8".
func countList(text string) (n int) {
	for part := range strings.SplitSeq(text, ",") {
		from, to, span := strings.Cut(part, "-")
		a, err := strconv.Atoi(from)
		if err != nil {
			return 0
		}
		if !span {
			n++
		} else if b, err := strconv.Atoi(to); err == nil && b >= a {
			n += b - a + 1
		}
	}
	return n
}

// cgroup is the quota of processors and memory of this process's cgroup and those above it.
func cgroup() (cpus float64, memory int64) {
	path := ""
	for line := range strings.Lines(read("/proc/self/cgroup")) {
		if rest, two := strings.CutPrefix(strings.TrimSpace(line), "0::"); two {
			path = rest
		}
	}
	for {
		root := "/sys/fs/cgroup" + path
		if quota := strings.Fields(read(root + "/cpu.max")); len(quota) == 2 {
			most, err := strconv.ParseFloat(quota[0], 64)
			period, err2 := strconv.ParseFloat(quota[1], 64)
			if err == nil && err2 == nil && period > 0 && (cpus == 0 || most/period < cpus) {
				cpus = most / period
			}
		}
		if limit, err := strconv.ParseInt(strings.TrimSpace(read(root+"/memory.max")), 10, 64); err == nil && (memory == 0 || limit < memory) {
			memory = limit
		}
		if path == "" || path == "/" {
			return cpus, memory
		}
		path = path[:strings.LastIndex(path, "/")]
	}
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
