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
	CPU         string  `json:"cpu"`
	CPUs        int     `json:"cpus"`   // of the machine, as the kernel counts: two of a core with two threads
	Cores       int     `json:"cores"`  // of the machine
	Usable      int     `json:"usable"` // CPUs for this process: affinity and cgroup quota
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
		CPU: processor(read("/proc/cpuinfo")), CPUs: runtime.NumCPU(), Cores: cores("/sys/devices/system/cpu"), Usable: runtime.GOMAXPROCS(0),
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
	f.Quota, f.MemoryLimit = cgroup("/sys/fs/cgroup", read("/proc/self/cgroup"))
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

// cgroup is the quota of processors and memory of this process's cgroup and those above it, of either version. root is
// where they are mounted, and own is /proc/self/cgroup.
func cgroup(root, own string) (cpus float64, memory int64) {
	for line := range strings.Lines(own) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, path, ok := strings.Cut(rest, ":")
		if !ok {
			continue
		}
		for {
			for _, c := range strings.Split(controllers, ",") {
				folder := filepath.Join(root, c, path)
				cpus = lower(cpus, quota(c, folder))
				memory = lower(memory, memoryLimit(c, folder))
			}
			if path == "" || path == "/" {
				break
			}
			path = path[:max(0, strings.LastIndexByte(path, '/'))]
		}
	}
	return cpus, memory
}

// lower is the lower limit; 0 is none.
func lower[T int64 | float64](a, b T) T {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// quota is a cgroup's, in processors. The second version has no names of controllers.
func quota(controller, folder string) float64 {
	var words []string
	switch controller {
	case "":
		words = strings.Fields(read(folder + "/cpu.max"))
	case "cpu":
		words = strings.Fields(read(folder+"/cpu.cfs_quota_us") + " " + read(folder+"/cpu.cfs_period_us"))
	}
	if len(words) != 2 {
		return 0
	}
	most, err := strconv.ParseFloat(words[0], 64)
	period, err2 := strconv.ParseFloat(words[1], 64)
	if err != nil || err2 != nil || most <= 0 || period <= 0 {
		return 0
	}
	return most / period
}

// noLimit is what the first version says of no limit, less what it may round away.
const noLimit = 1 << 62

func memoryLimit(controller, folder string) int64 {
	name := map[string]string{"": "/memory.max", "memory": "/memory.limit_in_bytes"}[controller]
	if name == "" {
		return 0
	}
	limit, err := strconv.ParseInt(strings.TrimSpace(read(folder+name)), 10, 64)
	if err != nil || limit >= noLimit {
		return 0
	}
	return limit
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
