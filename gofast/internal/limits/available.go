package limits

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Available is the memory this process may still use: MemAvailable, or what its
// control groups leave if that is less.
func Available() int64 { return system{os.DirFS("/")}.available() }

// system is /proc and /sys below a root. A test plants files of its own.
// python/gofast/_core/machine.py reads the same for the commands.
type system struct{ root fs.FS }

func (s system) available() int64 {
	available := int64(4 << 30) // used if /proc is hidden
	if kb, ok := s.fields("/proc/meminfo")["MemAvailable"]; ok {
		available = kb << 10
	}
	for _, g := range s.groups() {
		for _, v := range versions {
			if left, ok := s.left(g, v); ok {
				available = min(available, left)
			}
		}
	}
	return available
}

// version says how one version of control groups names its files.
type version struct{ limit, used, files string }

var versions = []version{
	{"memory.max", "memory.current", ""},
	{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_"},
}

// noLimit are the bytes from which version 1 means no limit.
const noLimit = 1 << 60

// left is what one group's limit leaves; ok is false where it has none.
func (s system) left(group string, v version) (bytes int64, ok bool) {
	limit, ok1 := s.number(path.Join(group, v.limit)) // "max" in version 2 is no number
	used, ok2 := s.number(path.Join(group, v.used))
	if !ok1 || !ok2 || limit >= noLimit {
		return 0, false
	}
	// Pages of files are given up before anything fails. A data set that is read again and again fills the group with them.
	pages := s.fields(path.Join(group, "memory.stat"))
	files := pages[v.files+"inactive_file"] + pages[v.files+"active_file"]
	return max(limit-used+min(files, used), 0), true
}

// mount is a tree of control groups.
type mount struct {
	top  string // the group that lies at the mount's folder
	at   string // that folder
	kind string // cgroup or cgroup2
}

// groups are the folders of this process's groups that may limit memory, with all those above them: the limit
// of each holds.
func (s system) groups() []string {
	own := s.ownGroups()
	var found []string
	for _, m := range s.mounts() {
		folder := m.at
		// In a container, a group may have the host's name, and its tree begins at the mount.
		if below, inside := under(m.top, own[m.kind]); inside {
			folder = path.Join(m.at, below)
		}
		for ; ; folder = path.Dir(folder) {
			found = append(found, folder)
			if folder == m.at {
				break
			}
		}
	}
	return found
}

// under is the rest of a name below top.
func under(top, name string) (rest string, ok bool) {
	top = strings.TrimSuffix(top, "/")
	rest, ok = strings.CutPrefix(name, top)
	return rest, ok && (rest == "" || rest[0] == '/')
}

// ownGroups are the names of this process's groups, by the kind of their tree.
func (s system) ownGroups() map[string]string {
	own := map[string]string{}
	for line := range strings.Lines(s.text("/proc/self/cgroup")) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		switch {
		case len(parts) < 3:
		case parts[1] == "":
			own["cgroup2"] = path.Clean(parts[2])
		case slices.Contains(strings.Split(parts[1], ","), "memory"):
			own["cgroup"] = path.Clean(parts[2])
		}
	}
	return own
}

// mounts are the trees that may limit memory: where they usually are, if the system does not say.
func (s system) mounts() []mount {
	text := s.text("/proc/self/mountinfo")
	if text == "" {
		return []mount{{"/", "/sys/fs/cgroup", "cgroup2"}, {"/", "/sys/fs/cgroup/memory", "cgroup"}}
	}
	var found []mount
	for line := range strings.Lines(text) {
		here, there, _ := strings.Cut(line, " - ")
		place, file := strings.Fields(here), strings.Fields(there)
		if len(place) < 5 || len(file) < 3 {
			continue
		}
		if file[0] == "cgroup2" || file[0] == "cgroup" && slices.Contains(strings.Split(file[2], ","), "memory") {
			found = append(found, mount{unescaped.Replace(place[3]), path.Clean(unescaped.Replace(place[4])), file[0]})
		}
	}
	return found
}

// unescaped undoes what mountinfo does to blanks.
var unescaped = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// text is a file's content, empty where it cannot be read.
func (s system) text(name string) string {
	data, err := fs.ReadFile(s.root, strings.TrimPrefix(name, "/"))
	if err != nil {
		return ""
	}
	return string(data)
}

func (s system) number(name string) (int64, bool) {
	v, err := strconv.ParseInt(strings.TrimSpace(s.text(name)), 10, 64)
	return v, err == nil
}

// fields are the lines "name value" of a file.
func (s system) fields(name string) map[string]int64 {
	found := map[string]int64{}
	for line := range strings.Lines(s.text(name)) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		if v, err := strconv.ParseInt(words[1], 10, 64); err == nil {
			found[strings.TrimSuffix(words[0], ":")] = v
		}
	}
	return found
}
