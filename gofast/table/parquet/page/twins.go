//go:build !cgo || twins

// Package page holds the hot loops of Parquet pages, here in plain Go.
package page

// Best is the only level there is without C.
var Best = Plain

// Runs8 is described at the C variant.
func (l Level) Runs8(src []byte, width int, dst []byte, table *[256]byte, size int) Status {
	return Runs8Generic(src, width, dst, table, size)
}

// Runs32 is described at the C variant.
func (l Level) Runs32(src []byte, width int, dst []uint32, size uint64) Status {
	return Runs32Generic(src, width, dst, size)
}

// Narrow32 is described at the C variant.
func (l Level) Narrow32(src, dst []byte) bool { return Narrow32Generic(src, dst) }

// Narrow64 is described at the C variant.
func (l Level) Narrow64(src, dst []byte) bool { return Narrow64Generic(src, dst) }

// Rows is described at the C variant.
func (l Level) Rows(t Tile, dst []byte, rowBytes int) { RowsGeneric(t, dst, rowBytes) }
