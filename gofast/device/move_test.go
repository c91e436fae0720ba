package device

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/gofast-org/gofast/gofast/device/devicetest"
	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// plain is a device for moves, which need no compiler.
func plain(t testing.TB, mode int) (*devicetest.Driver, *Device) {
	t.Helper()
	driver := devicetest.New(t, mode)
	d, err := Open(0, Options{Library: driver.Library})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return driver, d
}

// sender sends slots of a ring whose bytes are all alike, and looks later whether these arrived.
type sender struct {
	d    *Device
	ring engine.Ring
	sent []sent
}

type sent struct {
	memory *Memory
	move   Move
	value  byte
}

func newSender(t testing.TB, d *Device, bytes int64, count int, pinned bool) *sender {
	t.Helper()
	ring, err := engine.NewRing(bytes, count)
	if err != nil {
		t.Fatal(err)
	}
	if pinned {
		if err := d.Pin(ring); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(ring.Drop)
	return &sender{d: d, ring: ring}
}

// send says whether there was a slot.
func (s *sender) send(t testing.TB, n int, value byte) bool {
	t.Helper()
	slot, ok := s.ring.Acquire()
	if !ok {
		return false
	}
	values := slot.Bytes(int64(n))
	for i := range values {
		values[i] = value
	}
	m, err := s.d.Alloc(int64(n))
	if err != nil {
		t.Fatal(err)
	}
	move, err := s.d.Send(Job{Pieces: []Piece{{To: m.Address, Bytes: int64(n)}}}, slot)
	if err != nil {
		t.Fatal(err)
	}
	s.sent = append(s.sent, sent{m, move, value})
	return true
}

func (s *sender) look(t testing.TB) {
	t.Helper()
	for i, one := range s.sent {
		got := make([]byte, one.memory.Bytes)
		if err := s.d.CopyOut(got, one.memory.Address); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, bytes.Repeat([]byte{one.value}, len(got))) {
			t.Errorf("move %d is %x..., not of %x", i, got[0], one.value)
		}
		if err := one.memory.Free(); err != nil {
			t.Error(err)
		}
	}
	s.sent = nil
}

// Staging is gone around many times, with sizes before, at and behind a chunk's, and one larger than all of it.
func TestStagingGoesAround(t *testing.T) {
	const all, chunk = 64 << 20, 8 << 20 // GF_STAGING_BYTES, GF_STAGING_CHUNK
	for _, mode := range []int{devicetest.Late, devicetest.Random} {
		t.Run("", func(t *testing.T) {
			driver, d := plain(t, mode)
			r := rand.New(rand.NewPCG(5, uint64(mode)))
			s := newSender(t, d, all+1, 8, false)
			sizes := []int{1, 63, 64, 65, 1 << 20, chunk - 1, chunk, chunk + 1, 3*chunk + 5}
			for turn := range 60 {
				size := sizes[r.IntN(len(sizes))]
				if turn == 40 {
					size = all + 1
				}
				for !s.send(t, size, byte(turn)) {
					driver.AdvanceAll()
				}
				if turn%7 == 0 {
					s.look(t)
				}
			}
			s.look(t)
			stats := d.Stats()
			if stats.StagedBytes != stats.Bytes || stats.PageableBytes != 0 || stats.Batches != 60 {
				t.Errorf("%+v", stats)
			}
			if stats.Rate <= 0 || stats.CopySeconds <= 0 {
				t.Errorf("no rate of copies: %+v", stats)
			}
		})
	}
}

// Pinned slots are copied by the device alone, come back in their order, and not before.
func TestPinnedSlotsComeBack(t *testing.T) {
	driver, d := plain(t, devicetest.Manual)
	s := newSender(t, d, 4096, 100, true)
	for i := range 100 { // more than the queue has at first
		if !s.send(t, 4096, byte(i)) {
			t.Fatal("no slot")
		}
	}
	if s.send(t, 1, 0) {
		t.Fatal("a slot came back before its copy")
	}
	if stats := d.Stats(); stats.StagedBytes+stats.PageableBytes != 0 || stats.PinnedBytes < 100*4096 {
		t.Errorf("%+v", stats)
	}
	stream := uintptr(d.Info().Stream)
	driver.Advance(stream, 2*50) // a copy and a record each
	for i, want := range []bool{0: true, 49: true, 50: false, 99: false} {
		if i != 0 && i != 49 && i != 50 && i != 99 {
			continue
		}
		if arrived, err := d.Arrived(s.sent[i].move); arrived != want || err != nil {
			t.Errorf("move %d: %v, %v", i, arrived, err)
		}
	}
	for i := range 50 {
		if !s.send(t, 4096, byte(100+i)) {
			t.Fatalf("slot %d did not come back", i)
		}
	}
	if driver.Syncs() != 0 {
		t.Error("the host waited")
	}
	s.look(t)
}

func TestWait(t *testing.T) {
	driver, d := plain(t, devicetest.Manual)
	s := newSender(t, d, 64, 2, true)
	s.send(t, 64, 7)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if err := d.Wait(ctx, s.sent[0].move); !errors.Is(err, errs.ErrCanceled) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	go func() {
		time.Sleep(3 * time.Millisecond)
		driver.AdvanceAll()
	}()
	if err := d.Wait(t.Context(), s.sent[0].move); err != nil {
		t.Error(err)
	}
	s.look(t)
}

// What a consumer puts on its stream behind Receive finds the batch, and what gofast puts behind Follow leaves the
// consumer's work alone.
func TestStreamsWaitForEachOther(t *testing.T) {
	for seed := range uint64(30) {
		t.Run("", func(t *testing.T) {
			driver, d := plain(t, devicetest.Random)
			driver.Seed(seed)
			consumer := driver.Stream(0)
			s := newSender(t, d, 256, 3, true)
			m, err := d.Alloc(256)
			if err != nil {
				t.Fatal(err)
			}
			var mark Mark
			for i := range 20 {
				slot, ok := s.ring.Acquire()
				for !ok {
					driver.AdvanceAll()
					if _, err := d.Arrived(1); err != nil {
						t.Fatal(err)
					}
					slot, ok = s.ring.Acquire()
				}
				copy(slot.Bytes(256), bytes.Repeat([]byte{byte(i)}, 256))
				if mark != (Mark{}) {
					if err := d.Follow(mark); err != nil {
						t.Fatal(err)
					}
				}
				move, err := d.Send(Job{Pieces: []Piece{{To: m.Address, Bytes: 256}}}, slot)
				if err != nil {
					t.Fatal(err)
				}
				if err := d.Receive(move, Stream(consumer)); err != nil {
					t.Fatal(err)
				}
				if err := d.Receive(move+100, Stream(consumer)); err != nil { // no such move: nothing to wait for
					t.Fatal(err)
				}
				driver.Touch(consumer, m.Address, 256)
				if mark, err = d.Mark(Stream(consumer)); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(d.Follow(mark), d.Drain(), m.Free()); err != nil {
				t.Error(err)
			}
			driver.AdvanceAll()
		})
	}
}

func TestPinIsRefused(t *testing.T) {
	driver, d := plain(t, devicetest.Random)
	driver.PinLimit(4096)
	ring, err := engine.NewRing(1<<20, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer ring.Drop()
	if err := d.Pin(ring); !errors.Is(err, errs.ErrDevice) {
		t.Errorf("%v", err)
	}
	s := &sender{d: d, ring: ring}
	s.send(t, 1<<20, 3) // staging is pinned too, and refused: the driver takes the bytes
	s.look(t)
	if stats := d.Stats(); stats.PageableBytes != 1<<20 || stats.PinnedBytes != 0 {
		t.Errorf("%+v", stats)
	}
	driver.PinLimit(0)
	if err := errors.Join(d.Pin(ring), d.Pin(ring)); err != nil { // twice is once
		t.Error(err)
	}
	s.send(t, 1<<20, 4)
	s.look(t)
}

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

// A row without values and labels is made by doing nothing.
func TestRowsOfNothing(t *testing.T) {
	needCompiler(t)
	_, d := opened(t, devicetest.Late)
	kernel, err := d.Kernel(1, 5)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []Making{{Count: 3}, {Width: 3}, {}} {
		if err := d.Launch(kernel, m, 0); err != nil {
			t.Errorf("%+v: %v", m, err)
		}
	}
}
