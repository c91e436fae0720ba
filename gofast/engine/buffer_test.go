package engine

import (
	"sync"
	"sync/atomic"
	"testing"
)

func mustRing(t *testing.T, bytes int64, count int) Ring {
	t.Helper()
	ring, err := NewRing(bytes, count)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

func TestRingHandsOutEverySlotOnce(t *testing.T) {
	ring := mustRing(t, 100, 3)
	defer ring.Drop()
	seen := map[uintptr]bool{}
	var slots []Slot
	for range 3 {
		slot, ok := ring.Acquire()
		if !ok || seen[slot.Data()] || slot.Data()%64 != 0 {
			t.Fatalf("slot %v at %#x", ok, slot.Data())
		}
		seen[slot.Data()] = true
		slots = append(slots, slot)
	}
	if _, ok := ring.Acquire(); ok {
		t.Fatal("a fourth slot of three")
	}
	slots[1].Release()
	if slot, ok := ring.Acquire(); !ok || slot.Data() != slots[1].Data() {
		t.Error("the slot that was released is not free again")
	} else {
		slot.Release()
	}
	slots[0].Release()
	slots[2].Release()
}

// A slot outlives its ring's owner: the memory goes with the last slot.
func TestSlotOutlivesItsRing(t *testing.T) {
	ring := mustRing(t, 1<<20, 2)
	slot, _ := ring.Acquire()
	ring.Drop()
	data := slot.Bytes(1 << 20)
	for i := range data {
		data[i] = 7
	}
	slot.Release() // unmaps; the address sanitizer would see a second one
}

func TestRefusesAbsurdSizes(t *testing.T) {
	for _, c := range []struct {
		bytes int64
		count int
	}{{1 << 62, 2}, {1 << 40, 1 << 30}, {1, 0}} {
		if ring, err := NewRing(c.bytes, c.count); err == nil {
			ring.Drop()
			t.Errorf("%d slots of %d bytes were mapped", c.count, c.bytes)
		}
	}
}

// Many threads take and release: no slot ever has two owners.
func TestSlotsHaveOneOwner(t *testing.T) {
	ring := mustRing(t, 8, 4)
	defer ring.Drop()
	var owners sync.Map
	var taken atomic.Int64
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 20_000 {
				slot, ok := ring.Acquire()
				if !ok {
					continue
				}
				if _, twice := owners.LoadOrStore(slot.Address(), true); twice {
					t.Error("a slot with two owners")
				}
				taken.Add(1)
				owners.Delete(slot.Address())
				slot.Release()
			}
		})
	}
	group.Wait()
	if taken.Load() == 0 {
		t.Error("nothing was taken")
	}
	for range 4 { // all are free again
		slot, ok := ring.Acquire()
		if !ok {
			t.Fatal("a slot was lost")
		}
		defer slot.Release()
	}
}
