package engine

import (
	"errors"
	"os"
	"testing"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"golang.org/x/sys/unix"
)

// openDescriptors is how many descriptors this process has.
func openDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc here")
	}
	return len(entries)
}

func TestRegionsLeaveNoDescriptor(t *testing.T) {
	before := openDescriptors(t)
	for _, size := range []int64{0, 1, 1 << 20} {
		region, err := NewRegion("test", size)
		if err != nil {
			t.Fatal(err)
		}
		region.Close()
		region, err = NewRegion("test", size)
		if err != nil {
			t.Fatal(err)
		}
		fd, err := region.Finish(size)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Close(fd); err != nil {
			t.Errorf("the descriptor is not ours: %v", err)
		}
	}
	for _, size := range []int64{-1, 1 << 62} {
		if region, err := NewRegion("test", size); err == nil {
			region.Close()
			t.Errorf("a region of %d bytes", size)
		} else if !errors.Is(err, errs.ErrLimit) {
			t.Errorf("%d bytes: want ErrLimit, got %v", size, err)
		}
	}
	if after := openDescriptors(t); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}
