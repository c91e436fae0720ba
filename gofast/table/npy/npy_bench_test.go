package npy

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
)

const benchRows, benchWidth = 60_000, 785

func benchDecode(b *testing.B, content []byte, to table.Type) {
	path := filepath.Join(b.TempDir(), "file")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		b.Fatal(err)
	}
	data := make([]byte, benchRows*benchWidth*to.Size())
	b.SetBytes(int64(len(content)))
	for b.Loop() {
		f, err := source.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		open := Open
		if IsZip(content) {
			open = OpenNPZ
		}
		r, err := open(f, table.Options{Threads: 2})
		if err != nil {
			b.Fatal(err)
		}
		sel := table.Selection{Features: upTo(len(r.Columns()))}
		if _, err := r.Decode(context.Background(), sel, table.Target{Features: table.Matrix{Data: data, Type: to, Width: benchWidth}}); err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
}

func BenchmarkDecode(b *testing.B) {
	pixels := make([]uint8, benchRows*benchWidth)
	wide := make([]int64, len(pixels))
	floats := make([]float32, len(pixels))
	for i := range pixels {
		pixels[i] = uint8(i * 2654435761 >> 11)
		wide[i], floats[i] = int64(pixels[i]), float32(pixels[i])
	}
	const shape = "(60000, 785)"
	uint8s := npyOf("|u1", false, shape, binary.LittleEndian, pixels)
	b.Run("uint8", func(b *testing.B) { benchDecode(b, uint8s, table.Uint8) })
	b.Run("uint8/fortran", func(b *testing.B) {
		benchDecode(b, npyOf("|u1", true, shape, binary.LittleEndian, pixels), table.Uint8)
	})
	b.Run("uint8/npz", func(b *testing.B) { benchDecode(b, npzOf(b, stored, part{"x.npy", uint8s}), table.Uint8) })
	b.Run("uint8/npz-deflated", func(b *testing.B) { benchDecode(b, npzOf(b, deflated, part{"x.npy", uint8s}), table.Uint8) })
	b.Run("int64-to-uint8", func(b *testing.B) {
		benchDecode(b, npyOf("<i8", false, shape, binary.LittleEndian, wide), table.Uint8)
	})
	b.Run("float32", func(b *testing.B) {
		benchDecode(b, npyOf("<f4", false, shape, binary.LittleEndian, floats), table.Float32)
	})
}
