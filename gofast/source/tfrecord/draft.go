package tfrecord

import (
	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/internal/store"
)

// draft is an index that is being made, in the memory that it will lie in: what was inflated goes there at once, and
// columns when all records are known.
type draft struct {
	memory *store.Memory
	end    int64  // behind what has a place
	data   []byte // all of it, mapped, once it is encoded
}

func newDraft() (*draft, error) {
	memory, err := store.NewMemory(op, "gofast-tfrecord")
	if err != nil {
		return nil, err
	}
	return &draft{memory: memory, end: headBytes}, nil
}

// room is a place for so many bytes.
func (d *draft) room(bytes int64) int64 {
	at := d.end
	d.end = (at + bytes + 7) &^ 7
	return at
}

// mapped maps so many bytes for writing, which hold what is there already.
func (d *draft) mapped(size int64) (err error) {
	d.data, err = d.memory.Map(size)
	return err
}

// seal gives the index away.
func (d *draft) seal() (int, error) {
	d.unmap()
	return d.memory.Seal()
}

func (d *draft) unmap() {
	if d.data != nil {
		_ = unix.Munmap(d.data)
		d.data = nil
	}
}

func (d *draft) close() {
	d.unmap()
	d.memory.Close()
}
