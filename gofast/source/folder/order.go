package folder

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// walkOrder is sorted(os.walk(class)) for one class after the other. It sorts the
// directories by their whole paths, so "a b" comes before "a/c".
func (t *tree) walkOrder() {
	keys := make(map[*directory]string)
	for _, d := range t.places {
		if len(d.files) > 0 {
			t.runs = append(t.runs, run{d, d.files})
			keys[d] = key(d.path)
		}
	}
	slices.SortFunc(t.runs, func(a, b run) int {
		if c := cmp.Compare(a.directory.class, b.directory.class); c != 0 {
			return c
		}
		return strings.Compare(keys[a.directory], keys[b.directory])
	})
}

// inPathOrder is the order of sorted paths. It mixes a directory's files with the
// content of its directories, as if a directory's name ended with a slash.
func (t *tree) inPathOrder(d *directory) {
	type below struct {
		directory *directory
		key       string
	}
	var inside []below
	for _, child := range d.children {
		if child.place == listed {
			inside = append(inside, below{child, key(child.path[strings.LastIndexByte(child.path, '/')+1:]) + "/"})
		}
	}
	slices.SortFunc(inside, func(a, b below) int { return strings.Compare(a.key, b.key) })
	files := d.files
	take := func(n int) {
		if n > 0 {
			t.runs = append(t.runs, run{d, files[:n]})
			files = files[n:]
		}
	}
	for _, b := range inside {
		take(sort.Search(len(files), func(i int) bool { return key(files[i]) > b.key }))
		t.inPathOrder(b.directory)
	}
	take(len(files))
}
