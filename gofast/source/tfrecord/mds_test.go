package tfrecord

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table/arrow"
)

// words are numbers as they are stored.
func words(numbers ...int) (stored []byte) {
	for _, n := range numbers {
		stored = binary.LittleEndian.AppendUint32(stored, uint32(n))
	}
	return stored
}

// chunkOf is a chunk of litData, or with columns one of MDS.
func chunkOf(columns string, samples ...[]byte) []byte {
	ends := []int{len(samples), 8 + 4*len(samples) + len(columns)}
	for i, sample := range samples {
		ends = append(ends, ends[i+1]+len(sample))
	}
	return append(append(words(ends...), columns...), bytes.Join(samples, nil)...)
}

// shards are small files of all kinds: those of MDS, and of litData as they are, packed in three ways, and with rows of Arrow.
func shards(tb testing.TB) map[string][]byte {
	tb.Helper()
	packer, err := zstd.NewWriter(nil, zstd.WithSingleSegment(true)) // it says how much it holds
	if err != nil {
		tb.Fatal(err)
	}
	pack := func(data []byte) []byte { return packer.EncodeAll(data, nil) }
	picture := append(words(2, 1, 3), "RGBabcdef"...)
	sample := func(label byte) []byte {
		return append(append(words(len(picture), 8), picture...), label, 0, 0, 0, 0, 0, 0, 0)
	}
	whole := [][]byte{sample(1), sample(2)}
	columns := `{"column_names": ["image", "class"], "column_encodings": ["pil", "int"], "column_sizes": [null, 8]}`
	mds := func(label byte) []byte {
		return append(append(words(len(picture)), picture...), label, 0, 0, 0, 0, 0, 0, 0)
	}
	frame, one := pack(bytes.Join(whole, nil)), len(whole[0])
	batch := append([]byte(framesMagic+"\x01\x00\x00\x00"), words(2, 2, 1, 0, one, 2*one)...)
	batch = append(append(batch, words(0, 2, len(batch)+frameEntry, 0, len(frame), 2*one)...), frame...)
	rows, err := os.ReadFile("../../table/arrow/testdata/texts.arrow")
	if err != nil {
		tb.Fatal(err)
	}
	return map[string][]byte{
		"mds": chunkOf(columns, mds(1), mds(2)), "plain": chunkOf("", whole...), "chunk": pack(chunkOf("", whole...)), "batch": batch,
		"sample": chunkOf("", pack(whole[0]), pack(whole[1])),
		"rows":   bytes.Join([][]byte{chunkOf("", make([][]byte, 6)...), rows, words(len(rows)), []byte(rowsMagic)}, nil),
	}
}

// shardIndex is the index of a file as that kind of shard.
func shardIndex(t testing.TB, kind string, content []byte) (Schema, []byte, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.bin")
	o := Options{Paths: []string{path}, Features: []string{"image", "class"}, Form: LitData, Rows: arrow.Values, Threads: 1, Memory: 64 << 20}
	o.Leaves = []Leaf{{Name: "image", Encoding: "pil"}, {Name: "class", Encoding: "int"}}
	switch kind {
	case "mds":
		o.Form = MDS
	case "chunk":
		path = filepath.Join(t.TempDir(), "a.zstd.bin")
		o.Paths, o.Compression = []string{path}, Suffix
	case "batch", "sample":
		o.Compression = kind
	case "rows":
		o.Features, o.Leaves = []string{"t"}, []Leaf{{Name: "t", Path: []string{"t"}, Encoding: "str"}}
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	fd, schema, err := Build(t.Context(), o, "")
	if err != nil {
		return schema, nil, err
	}
	return schema, read(t, fd)[:schema.Size], nil
}

func TestShards(t *testing.T) {
	for kind, content := range shards(t) {
		want := int64(2)
		if kind == "rows" {
			want = 6
		}
		if schema, _, err := shardIndex(t, kind, content); err != nil || schema.Files[0].Records != want {
			t.Errorf("%s: %v, %v", kind, schema.Files, err)
		}
	}
}

// FuzzShards reads any file as each kind of shard: what is found lies in it, and what is wrong has its place.
func FuzzShards(f *testing.F) {
	kinds := []string{"mds", "plain", "chunk", "batch", "sample", "rows"}
	whole := shards(f)
	for i, kind := range kinds {
		f.Add(whole[kind], uint8(i))
	}
	f.Fuzz(func(t *testing.T, content []byte, number uint8) {
		schema, index, err := shardIndex(t, kinds[int(number)%len(kinds)], content)
		var known *errs.Error
		if err != nil {
			if !errors.As(err, &known) || errors.Is(err, errs.ErrInternal) || known.Path == "" {
				t.Fatal(err)
			}
			return
		}
		size := schema.Files[0].Stamp.Size
		for _, c := range schema.Columns {
			for i := range c.Values {
				if place := index[c.At+i*valueBytes(Bytes):]; c.Kind == Bytes {
					at, length, packed := int64(native.Uint64(place[8:])), int64(native.Uint64(place[16:])), native.Uint32(place[4:])
					if at < 0 || length < 0 || length > size-at || packed != 0 && packed != source.Pixels {
						t.Fatalf("%d bytes at %d of %d, packed %d", length, at, size, packed)
					}
				}
			}
		}
	})
}
