package limits

import (
	"testing"
	"testing/fstest"
)

const (
	unified = "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw\n"
	split   = "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
)

// The group with the least left counts, from the process's own up to the root.
func TestAvailable(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing is told":  {nil, 4 << 30},
		"no control group": {map[string]string{"proc/meminfo": "MemTotal: 9 kB\nMemAvailable:    5 kB\n"}, 5 << 10},
		"more than the machine has": {map[string]string{"proc/meminfo": "MemAvailable: 5 kB\n",
			"sys/fs/cgroup/memory.max": "100000\n", "sys/fs/cgroup/memory.current": "1\n"}, 5 << 10},
		"version 2, without mountinfo": {map[string]string{"sys/fs/cgroup/memory.max": "1000\n", "sys/fs/cgroup/memory.current": "900\n"}, 100},
		"version 2, no limit":          {map[string]string{"proc/self/mountinfo": unified, "sys/fs/cgroup/memory.max": "max\n", "sys/fs/cgroup/memory.current": "900\n"}, 4 << 30},
		"version 2, its own group": {map[string]string{"proc/self/mountinfo": unified, "proc/self/cgroup": "0::/a.slice/job 7\n",
			"sys/fs/cgroup/a.slice/job 7/memory.max": "1000\n", "sys/fs/cgroup/a.slice/job 7/memory.current": "400\n",
			"sys/fs/cgroup/a.slice/memory.max": "2000\n", "sys/fs/cgroup/a.slice/memory.current": "500\n"}, 600},
		"version 2, a group above": {map[string]string{"proc/self/mountinfo": unified, "proc/self/cgroup": "0::/a.slice/job\n",
			"sys/fs/cgroup/a.slice/job/memory.max": "max\n", "sys/fs/cgroup/a.slice/job/memory.current": "400\n",
			"sys/fs/cgroup/a.slice/memory.max": "2000\n", "sys/fs/cgroup/a.slice/memory.current": "1900\n"}, 100},
		"version 2, pages of files": {map[string]string{"proc/self/mountinfo": unified, "proc/self/cgroup": "0::/\n",
			"sys/fs/cgroup/memory.max": "1000\n", "sys/fs/cgroup/memory.current": "900\n",
			"sys/fs/cgroup/memory.stat": "anon 500\nfile 350\ninactive_file 100\nactive_file 250\n"}, 450},
		"version 2, mounted elsewhere": {map[string]string{"proc/self/mountinfo": "9 1 0:9 / /my\\040groups rw - cgroup2 none rw\n", "proc/self/cgroup": "0::/a\n",
			"my groups/a/memory.max": "10\n", "my groups/a/memory.current": "3\n"}, 7},
		"version 2, outside its namespace": {map[string]string{"proc/self/mountinfo": unified, "proc/self/cgroup": "0::/../other\n",
			"sys/fs/cgroup/memory.max": "10\n", "sys/fs/cgroup/memory.current": "4\n"}, 6},
		"version 1, its own group": {map[string]string{"proc/self/mountinfo": split, "proc/self/cgroup": "4:cpu:/else\n3:hugetlb,memory:/job/7\n0::/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n", "sys/fs/cgroup/memory/memory.usage_in_bytes": "1\n",
			"sys/fs/cgroup/memory/job/7/memory.limit_in_bytes": "1000\n", "sys/fs/cgroup/memory/job/7/memory.usage_in_bytes": "900\n",
			"sys/fs/cgroup/memory/job/7/memory.stat": "inactive_file 1\ntotal_inactive_file 300\n"}, 400},
		"version 1, a container with the host's names": {map[string]string{
			"proc/self/mountinfo":                        "35 31 0:32 /docker/77 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			"proc/self/cgroup":                           "3:memory:/docker/77/in\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "1000\n", "sys/fs/cgroup/memory/memory.usage_in_bytes": "900\n",
			"sys/fs/cgroup/memory/in/memory.limit_in_bytes": "50\n", "sys/fs/cgroup/memory/in/memory.usage_in_bytes": "20\n"}, 30},
		"version 1, a name that only begins alike": {map[string]string{
			"proc/self/mountinfo":                        "35 31 0:32 /docker/7 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			"proc/self/cgroup":                           "3:memory:/docker/77\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "1000\n", "sys/fs/cgroup/memory/memory.usage_in_bytes": "900\n"}, 100},
		"more used than allowed": {map[string]string{"sys/fs/cgroup/memory.max": "10\n", "sys/fs/cgroup/memory.current": "90\n"}, 0},
		"nonsense": {map[string]string{"proc/meminfo": "MemAvailable:\n\n:", "proc/self/mountinfo": "- cgroup2\n\n - \n", "proc/self/cgroup": "0\n\n::\n",
			"sys/fs/cgroup/memory.max": "", "sys/fs/cgroup/memory.current": "x"}, 4 << 30},
	} {
		files := fstest.MapFS{}
		for path, text := range c.files {
			files[path] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := (system{files}).available(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if got := Available(); got <= 0 {
		t.Errorf("this machine has %d bytes", got)
	}
}
