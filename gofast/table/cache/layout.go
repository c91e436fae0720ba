package cache

import (
	"encoding/binary"
	"fmt"

	"github.com/gofast-org/gofast/gofast/internal/crc"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/npy"
)

const (
	align        = 64   // of every array's values
	featureAlign = 4096 // a page, so that features can be mapped alone
)

var le = binary.LittleEndian

// member is one array in the file: zip header, numpy header, values.
type member struct {
	name   string
	descr  string
	head   []byte
	at     int64 // offset of the zip header
	values int64 // offset of the values
	bytes  int64 // of the values
	sum    crc.Pair
}

// place puts a member after the previous one.
func place(name, descr string, shape []int64, bytes, at, align int64) member {
	m := member{name: name, descr: descr, head: npy.Header(descr, shape), at: at, bytes: bytes}
	m.values = (at + npy.MinLocal(m.file()) + int64(len(m.head)) + align - 1) / align * align
	return m
}

func (m *member) file() string { return m.name + ".npy" }

func (m *member) end() int64 { return m.values + m.bytes }

// entry is the zip entry; the checksum of the values must be known.
func (m *member) entry() npy.Entry {
	n := int64(len(m.head))
	return npy.Entry{Name: m.file(), At: m.at, PayloadAt: m.values - n, Payload: n + m.bytes, CRC: m.sum.IEEE}
}

// prefix is everything from at to values.
func (m *member) prefix() []byte { return append(m.entry().Local(), m.head...) }

// withSum sets the checksum of head and values, given that of the values.
func (m *member) withSum(values crc.Pair) { m.sum = crc.Of(m.head).Append(values, m.bytes) }

func (m *member) stored() stored {
	return stored{m.name, m.descr, m.values, m.bytes, fmt.Sprintf("%08x%08x", m.sum.IEEE, m.sum.Castagnoli)}
}

// classesName is classes, or classes_I if there are several labels.
func classesName(i, labels int) string {
	if labels == 1 {
		return "classes"
	}
	return fmt.Sprintf("classes_%d", i)
}

// tables places the features and the labels. Labels of one kind have its dtype. If
// kinds are mixed, the array has an integer dtype, and the header has the real kinds.
func tables(rows int64, width int, t table.Type, boolean bool, kinds []string) []member {
	shape := []int64{rows, int64(width)}
	members := []member{place("features", npy.Descr(t, boolean), shape, rows*int64(width*t.Size()), 0, featureAlign)}
	if len(kinds) == 0 {
		return members
	}
	stores := table.Float64
	for _, k := range kinds {
		if k != "float" {
			stores = table.Int64
		}
	}
	n := int64(len(kinds))
	return append(members, place("labels", npy.Descr(stores, false), []int64{rows, n}, rows*n*8, members[0].end(), align))
}

// headerMember is gofast.npy, the last one.
func headerMember(length int, at int64) member {
	return place("gofast", "|u1", []int64{int64(length)}, int64(length), at, align)
}
