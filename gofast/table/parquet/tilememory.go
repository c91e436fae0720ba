package parquet

import (
	"syscall"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// tileMemory is the memory of a crew's tiles: mapped, so that it can ask for
// huge pages (16 MB of the Go heap cost 4,000 page faults, 4 ms of one core).
type tileMemory struct {
	r *Reader
	b []byte
}

// bytes returns n bytes of undefined content; they replace those of the last call.
func (m *tileMemory) bytes(n int) ([]byte, error) {
	if n <= len(m.b) {
		return m.b[:n], nil
	}
	m.free()
	if err := m.r.opts.Budget.Reserve(int64(n), "decoding columns"); err != nil {
		return nil, err
	}
	b, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		m.r.opts.Budget.Release(int64(n))
		return nil, m.r.fault(errs.ErrLimit, "the system refused memory for decoding").Because(err)
	}
	m.b = b
	// Advice only: without huge pages it is slower, not wrong.
	_ = syscall.Madvise(b, syscall.MADV_HUGEPAGE)
	return b, nil
}

func (m *tileMemory) free() {
	if m.b == nil {
		return
	}
	// It can only fail for an address that is not mapped.
	_ = syscall.Munmap(m.b)
	m.r.opts.Budget.Release(int64(len(m.b)))
	m.b = nil
}
