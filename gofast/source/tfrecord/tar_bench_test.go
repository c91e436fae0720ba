package tfrecord

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// BenchmarkTar indexes 20,000 members of 1 byte and of 1 kB in turns.
func BenchmarkTar(b *testing.B) {
	members := []string{}
	for i := range 10_000 {
		members = append(members, fmt.Sprintf("%06d.jpg", i), string(make([]byte, 1000)), fmt.Sprintf("%06d.cls", i), "7")
	}
	path := filepath.Join(b.TempDir(), "a.tar")
	if err := os.WriteFile(path, tarOf(b, members...), 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		fd, _, err := Build(b.Context(), Options{Paths: []string{path}, Features: []string{"jpg;png", "cls"}, Form: Tar, Label: "cls", Threads: 1}, "")
		if err != nil {
			b.Fatal(err)
		}
		if err := unix.Close(fd); err != nil {
			b.Fatal(err)
		}
	}
}
