package device

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/gofast-org/gofast/gofast/device/devicetest"
	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// Every call that a send makes is refused, one after the other: an error or none, and no slot, memory or event is lost.
func TestSendsAreRefused(t *testing.T) {
	for _, pinned := range []bool{true, false} {
		for _, call := range []string{"cuCtxPushCurrent_v2", "cuEventCreate", "cuEventRecord", "cuMemcpyHtoDAsync_v2", "cuEventQuery", "cuMemHostAlloc", "cuEventElapsedTime"} {
			for nth := 1; nth <= 5; nth++ {
				t.Run(fmt.Sprintf("%s %d pinned %v", call, nth, pinned), func(t *testing.T) {
					driver, d := plain(t, devicetest.Manual)
					s := newSender(t, d, 2<<20, 4, pinned)
					m, err := d.Alloc(4 << 20)
					if err != nil {
						t.Fatal(err)
					}
					driver.Fail(call, nth, 1)
					for range 8 {
						slot, ok := s.ring.Acquire()
						if !ok {
							driver.AdvanceAll()
							_, _ = d.Arrived(1)
							_, _ = d.Arrived(1) // the first may be the one that is refused
							if slot, ok = s.ring.Acquire(); !ok {
								t.Fatal("a slot was lost")
							}
						}
						slot.Bytes(1)[0]++ // the device must be done with it
						_, err := d.Send(Job{Pieces: []Piece{{To: m.Address, Bytes: 1 << 20}, {Host: slot.Data() + 1<<20, To: m.Address + 2<<20, Bytes: 1 << 20, Pinned: pinned}}}, slot)
						if err != nil && !errors.Is(err, errs.ErrDevice) {
							t.Error(err)
						}
					}
					if err := errors.Join(d.Drain(), m.Free()); err != nil {
						t.Error(err)
					}
					d.Close()
					for range s.ring.Count() {
						slot, ok := s.ring.Acquire()
						if !ok {
							t.Fatal("a closed device kept a slot")
						}
						defer slot.Release()
					}
				})
			}
		}
	}
}

// A device that is lost says so from then on, and closing gives all back.
func TestALostDevice(t *testing.T) {
	driver, d := plain(t, devicetest.Manual)
	s := newSender(t, d, 4096, 4, true)
	s.send(t, 4096, 1)
	driver.Lose(0)
	if err := d.Wait(t.Context(), s.sent[0].move); !errors.Is(err, errs.ErrDevice) {
		t.Errorf("%v", err)
	}
	slot, _ := s.ring.Acquire()
	for _, err := range []error{
		func() error { _, err := d.Send(Job{}, slot); return err }(), d.Receive(1, 0), d.Drain(), d.CopyOut(make([]byte, 1), s.sent[0].memory.Address),
	} {
		if err != nil && !errors.Is(err, errs.ErrDevice) {
			t.Error(err)
		}
	}
	driver.AdvanceAll()
	_ = s.sent[0].memory.Free() // says that the device is lost
	d.Close()
	for range s.ring.Count() {
		slot, ok := s.ring.Acquire()
		if !ok {
			t.Fatal("a slot was lost")
		}
		defer slot.Release()
	}
}

// Where somebody has destroyed the context, the driver frees what was in it, and slots come back all the same.
func TestCloseWithoutAContext(t *testing.T) {
	driver, d := plain(t, devicetest.Manual)
	ring, err := engine.NewRing(64, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer ring.Drop()
	m, err := d.Alloc(64)
	if err != nil {
		t.Fatal(err)
	}
	slot, _ := ring.Acquire()
	if _, err := d.Send(Job{Pieces: []Piece{{To: m.Address, Bytes: 64}}}, slot); err != nil {
		t.Fatal(err)
	}
	driver.Fail("cuCtxPushCurrent_v2", 1, 709) // CUDA_ERROR_CONTEXT_IS_DESTROYED
	driver.Fail("cuCtxPushCurrent_v2", 2, 709)
	d.Close()
	again, ok := ring.Acquire()
	if !ok {
		t.Fatal("the slot was lost")
	}
	again.Release()
	driver.Reset()
}

// Close waits for what is under way. A ring that the device pinned lives on, and so does its context.
func TestCloseWithMovesUnderWay(t *testing.T) {
	driver, d := plain(t, devicetest.Late)
	ring, err := engine.NewRing(1<<20, 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Pin(ring); err != nil {
		t.Fatal(err)
	}
	other, err := Open(0, Options{}) // the same GPU, for its memory
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	m, err := other.Alloc(3 << 20)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(3) {
		slot, _ := ring.Acquire()
		if _, err := d.Send(Job{Pieces: []Piece{{To: m.Address + i<<20, Bytes: 1 << 20}}}, slot); err != nil {
			t.Fatal(err)
		}
	}
	if driver.Pending() == 0 {
		t.Fatal("nothing is under way")
	}
	d.Close()
	if err := m.Free(); err != nil {
		t.Fatal(err)
	}
	slot, _ := ring.Acquire()
	ring.Drop()
	slot.Bytes(1)[0] = 1 // still there
	slot.Release()       // now the ring goes, and the context with it
}

func TestTwoDevices(t *testing.T) {
	driver := devicetest.New(t, devicetest.Random)
	driver.Devices(2)
	var both [2]*Device
	var senders [2]*sender
	for i := range both {
		d, err := Open(i, Options{Library: driver.Library})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		both[i], senders[i] = d, newSender(t, d, 4096, 2, i == 0)
	}
	// A slot that one device pinned is pinned for the other too.
	slot, _ := senders[0].ring.Acquire()
	copy(slot.Bytes(4), "both")
	m, err := both[1].Alloc(4)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := both[1].Send(Job{Pieces: []Piece{{To: m.Address, Bytes: 4}}}, slot); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 4)
	if err := errors.Join(both[1].CopyOut(got, m.Address), m.Free()); err != nil || string(got) != "both" {
		t.Errorf("%q, %v", got, err)
	}
	for i := range 20 {
		for k, s := range senders {
			for !s.send(t, 4096, byte(2*i+k)) {
				driver.AdvanceAll()
				_, _ = both[k].Arrived(1)
			}
		}
	}
	for _, s := range senders {
		s.look(t)
	}
}

// Goroutines send at once; every one finds its own bytes.
func TestManySenders(t *testing.T) {
	driver, d := plain(t, devicetest.Random)
	driver.Seed(9)
	var all sync.WaitGroup
	senders := make([]*sender, 6)
	for i := range senders {
		senders[i] = newSender(t, d, 8192, 2, i%2 == 0)
		all.Go(func() {
			s := senders[i]
			for k := range 40 {
				for !s.send(t, 1+k*200, byte(i*40+k)) {
					if err := d.Wait(t.Context(), s.sent[len(s.sent)-2].move); err != nil {
						t.Error(err)
						return
					}
				}
				d.Stats()
			}
		})
	}
	all.Wait()
	for _, s := range senders {
		s.look(t)
	}
}
