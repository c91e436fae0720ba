package gofast

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/numbers"
	"github.com/gofast-org/gofast/gofast/table/gather"
)

// digits opens a table of rows x 64 whose cell (r, c) is (r + c) % 256 and whose
// label is r.
func digits(t *testing.T, rows int) *Dataset {
	t.Helper()
	var b strings.Builder
	b.WriteString("label")
	for c := range 64 {
		b.WriteString(",p")
		b.WriteByte(byte('0' + c/10))
		b.WriteByte(byte('0' + c%10))
	}
	b.WriteByte('\n')
	for r := range rows {
		b.WriteString(itoa(r))
		for c := range 64 {
			b.WriteString("," + itoa((r+c)%256))
		}
		b.WriteByte('\n')
	}
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	table, err := OpenTable(context.Background(), []string{path},
		TableOptions{Label: []ColumnRef{{Name: "label"}}}, gather.Transform{Scale: gather.ScaleNone})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(table.Close)
	return table
}

var itoa = strconv.Itoa

func check(t *testing.T, b Batch, indices []int64) {
	t.Helper()
	labels, err := b.Int64Labels()
	if err != nil {
		t.Fatal(err)
	}
	features, err := b.Float32()
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range indices {
		if got := labels[i]; got != row {
			t.Fatalf("row %d has label %d, want %d", i, got, row)
		}
		for c, v := range features[i*64 : i*64+64] {
			if v != float32((int(row)+c)%256) {
				t.Fatalf("row %d, feature %d is %v", row, c, v)
			}
		}
	}
}

func TestBatchesComeInOrder(t *testing.T) {
	table := digits(t, 1000)
	for _, threads := range []int{1, 3} {
		e := NewEngine(threads)
		for _, size := range []int{1, 7, 64, 1000, 5000} {
			order := Shuffled(table.Len(), 1, uint64(size))
			at := 0
			for b, err := range e.Batches(context.Background(), table, order, size) {
				if err != nil {
					t.Fatal(err)
				}
				check(t, b, order[at:at+b.Rows])
				at += b.Rows
			}
			if at != 1000 {
				t.Fatalf("%d rows of 1000", at)
			}
		}
		e.Close()
	}
}

// A bad index fails its own batch only; the engine and the ticket's other batches
// go on.
func TestBadIndexFailsItsBatch(t *testing.T) {
	table := digits(t, 100)
	e := engineOf(t, 2)
	ring, err := engine.NewRing(table.view.RowBytes()*10, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer ring.Drop()
	labels := cMemory(t, 8*30)
	indices := make([]int64, 30)
	for i := range indices {
		indices[i] = int64(i)
	}
	indices[13] = 100
	var slots []engine.Slot
	for range 3 {
		slot, _ := ring.Acquire()
		slot.Describe(10, []int64{64}, 2, 32)
		slots = append(slots, slot)
	}
	ticket, err := e.engine.Submit(engine.Request{View: table.view, Indices: indices, BatchRows: 10, Slots: slots, Labels: labels.Data()})
	if err != nil {
		t.Fatal(err)
	}
	if err := ticket.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	ticket.Release()
	if slots[1].Status() != engine.Failed || slots[1].BadIndex() != 100 {
		t.Errorf("batch 1: status %d, bad index %d", slots[1].Status(), slots[1].BadIndex())
	}
	for _, k := range []int{0, 2} {
		if slots[k].Status() != engine.Ready {
			t.Fatalf("batch %d: status %d", k, slots[k].Status())
		}
		check(t, Batch{Rows: 10, Features: slots[k].Bytes(10 * 256), Labels: labels.Bytes(240)[k*80 : k*80+80], features: numbers.Float32, labels: numbers.Int64}, indices[k*10:k*10+10])
	}
	for _, slot := range slots {
		slot.Release()
	}
	for _, err := range e.Batches(context.Background(), table, []int64{0, -101}, 2) {
		if !errors.Is(err, ErrIndex) {
			t.Errorf("want ErrIndex, got %v", err)
		}
	}
}

// cMemory is one slot of its own, which the test releases at its end.
func cMemory(t *testing.T, bytes int64) engine.Slot {
	t.Helper()
	ring, err := engine.NewRing(bytes, 1)
	if err != nil {
		t.Fatal(err)
	}
	slot, _ := ring.Acquire()
	ring.Drop()
	t.Cleanup(slot.Release)
	return slot
}

func TestCloseFinishesAndRefuses(t *testing.T) {
	table := digits(t, 500)
	e := NewEngine(2)
	slot, labels := cMemory(t, table.view.RowBytes()*500), cMemory(t, 8*500)
	slot.Describe(500, []int64{64}, 2, 32)
	request := engine.Request{View: table.view, Indices: Sequential(500), BatchRows: 500, Slots: []engine.Slot{slot}, Labels: labels.Data()}
	ticket, err := e.engine.Submit(request)
	if err != nil {
		t.Fatal(err)
	}
	e.Close()
	e.Close()
	if slot.Status() != engine.Ready {
		t.Errorf("what was queued was not finished: status %d", slot.Status())
	}
	ticket.Release()
	if _, err := e.engine.Submit(request); !errors.Is(err, ErrClosed) {
		t.Errorf("want ErrClosed, got %v", err)
	}
}
