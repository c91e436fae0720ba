package tfrecord

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// feature is one of an Example to be written.
type feature struct {
	name  string
	value []byte // of the Feature
}

func listOf(field byte, values []byte) []byte {
	return append(binary.AppendUvarint([]byte{field<<3 | 2}, uint64(len(values))), values...)
}

func bytesList(values ...string) []byte {
	var b []byte
	for _, v := range values {
		b = append(b, listOf(1, []byte(v))...)
	}
	return listOf(1, b)
}

func floatList(values ...float32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return listOf(2, listOf(1, b))
}

func intList(values ...int64) []byte {
	var b []byte
	for _, v := range values {
		b = binary.AppendUvarint(b, uint64(v))
	}
	return listOf(3, listOf(1, b))
}

func entryOf(f feature) []byte {
	return listOf(1, append(listOf(1, []byte(f.name)), listOf(2, f.value)...))
}

func exampleOf(features ...feature) []byte {
	var b []byte
	for _, f := range features {
		b = append(b, entryOf(f)...)
	}
	return listOf(1, b)
}

func framed(records ...[]byte) []byte {
	sum := func(b []byte) uint32 {
		c := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
		return (c>>15 | c<<17) + 0xa282ead8
	}
	var b []byte
	for _, data := range records {
		length := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
		b = append(b, length...)
		b = binary.LittleEndian.AppendUint32(b, sum(length))
		b = append(b, data...)
		b = binary.LittleEndian.AppendUint32(b, sum(data))
	}
	return b
}

func write(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// values is what an index says of a feature, for each record: nil, [][]byte, []float32 or []int64.
func values(t testing.TB, data []byte, name string, content ...[]byte) []any {
	t.Helper()
	s, err := parse(data, "")
	if err != nil {
		t.Fatal(err)
	}
	var made []any
	for _, c := range s.Columns {
		if c.Name != name {
			continue
		}
		records := int64(0)
		for _, f := range s.Files {
			records += f.Records
		}
		for i := range records {
			from, to := int64(native.Uint64(data[c.Starts+8*i:])), int64(native.Uint64(data[c.Starts+8*i+8:]))
			if data[c.Has+i] == 0 {
				if from != to {
					t.Fatal("a record without the feature has values")
				}
				made = append(made, nil)
				continue
			}
			var strings [][]byte
			var floats []float32
			var ints []int64
			for j := from; j < to; j++ {
				switch at := data[c.At+j*valueBytes(c.Kind):]; c.Kind {
				case Bytes:
					file, offset, length := native.Uint32(at), native.Uint64(at[8:]), native.Uint64(at[16:])
					strings = append(strings, content[file][offset:offset+length])
				case Floats:
					floats = append(floats, math.Float32frombits(native.Uint32(at)))
				case Ints:
					ints = append(ints, int64(native.Uint64(at)))
				}
			}
			switch c.Kind {
			case Bytes:
				made = append(made, strings)
			case Floats:
				made = append(made, floats)
			case Ints:
				made = append(made, ints)
			}
		}
	}
	return made
}

// indexed is the index of a file in memory.
func indexed(t testing.TB, content []byte, names ...string) ([]byte, error) {
	t.Helper()
	o := Options{Paths: []string{write(t, "a.tfrecord", content)}, Features: names, Threads: 1}
	fd, schema, err := Build(context.Background(), o, "")
	if err != nil {
		return nil, err
	}
	return read(t, fd)[:schema.Size], nil
}

func kindOf(err error) string {
	if err == nil {
		return ""
	}
	return errs.Name(err)
}
