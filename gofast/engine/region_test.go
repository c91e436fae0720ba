package engine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"testing"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// mapped is the permissions of the memory at an address, as the kernel shows them: "" where nothing is.
func mapped(t *testing.T, at uintptr) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip("no /proc here")
	}
	for line := range bytes.Lines(text) {
		from, to, rights := uintptr(0), uintptr(0), ""
		if _, err := fmt.Sscanf(string(line), "%x-%x %s", &from, &to, &rights); err == nil && from <= at && at < to {
			return rights
		}
	}
	return ""
}

// left is written to memory that is to go. A thread may map its own there at once, as the address sanitizer's do.
const left = 0xa5

// isThere is whether an address still has what was left there.
func isThere(t *testing.T, at uintptr) bool {
	t.Helper()
	memory, err := os.Open("/proc/self/mem")
	if err != nil {
		t.Skip("no /proc here")
	}
	defer memory.Close()
	got := make([]byte, 1)
	_, err = memory.ReadAt(got, int64(at))
	return err == nil && got[0] == left
}

func TestRegionsAreGivenBack(t *testing.T) {
	for _, size := range []int64{1, 4096, 4097, 1 << 20} {
		region, err := NewRegion(size)
		if err != nil {
			t.Fatal(err)
		}
		at := uintptr(unsafe.Pointer(&region.Bytes()[0]))
		if mapped(t, at) != "rw-p" || mapped(t, at+uintptr(size)-1) != "rw-p" {
			t.Errorf("%d bytes cannot be written", size)
		}
		region.Bytes()[0] = left
		if region.Close(); isThere(t, at) {
			t.Errorf("%d bytes are still there", size)
		}
	}
	for _, size := range []int64{-1, 1 << 62} {
		if region, err := NewRegion(size); err == nil {
			region.Close()
			t.Errorf("a region of %d bytes", size)
		} else if !errors.Is(err, errs.ErrLimit) {
			t.Errorf("%d bytes: want ErrLimit, got %v", size, err)
		}
	}
}

func TestRegionIsCutAndReadOnly(t *testing.T) {
	region, err := NewRegion(100_000)
	if err != nil {
		t.Fatal(err)
	}
	copy(region.Bytes(), "hello")
	page := os.Getpagesize()
	region.Bytes()[page] = left
	if err := region.Finish(5); err != nil {
		t.Fatal(err)
	}
	if string(region.Bytes()) != "hello" {
		t.Errorf("reads back %q", region.Bytes())
	}
	data := region.Bytes()
	at := region.Give()
	if mapped(t, at) != "r--p" || isThere(t, at+uintptr(page)) {
		t.Errorf("%q, and what is cut off is there: %v", mapped(t, at), isThere(t, at+uintptr(page)))
	}
	if region.Close(); mapped(t, at) == "" {
		t.Error("what was given away is gone")
	}
	unmap(data)
}
