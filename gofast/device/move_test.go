package device

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
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
	const all, chunk = 64 << 20, 8 << 20 // STAGING_BYTES, STAGING_CHUNK of move.c
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
			if stats.CopySeconds != 0 {
				t.Errorf("filling the staging is no time of the device's: %+v", stats)
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

func TestCopiesOfPinnedMemoryAreTimed(t *testing.T) {
	_, d := plain(t, devicetest.Late)
	s := newSender(t, d, 2<<20, 2, true)
	s.send(t, 2<<20, 1)
	move := s.sent[0].move
	s.look(t)
	if arrived, err := d.Arrived(move); !arrived || err != nil {
		t.Fatal(arrived, err)
	}
	if stats := d.Stats(); stats.StagedBytes != 0 || stats.Rate <= 0 || stats.CopySeconds <= 0 {
		t.Errorf("no rate of copies: %+v", stats)
	}
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
