package device

import (
	"os"
	"testing"
)

// TestMain keeps the kernels that the tests compile for all of them.
func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "gofast-kernels")
	if err != nil {
		panic(err)
	}
	cache = folder
	status := m.Run()
	os.RemoveAll(folder)
	os.Exit(status)
}
