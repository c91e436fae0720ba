package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table/tabletest"
)

// oldLZ4 writes pages under the format's first number for LZ4.
type oldLZ4 func(src []byte) []byte

func (oldLZ4) String() string { return "LZ4" }
func (oldLZ4) CompressionCodec() format.CompressionCodec {
	return format.CompressionCodec(codecLZ4Hadoop)
}
func (f oldLZ4) Encode(dst, src []byte) ([]byte, error)    { return append(dst[:0], f(src)...), nil }
func (oldLZ4) Decode([]byte, []byte) (dst []byte, _ error) { return nil, errors.ErrUnsupported }

func lz4Block(src []byte) []byte {
	dst := make([]byte, lz4.CompressBlockBound(len(src)))
	n, err := lz4.CompressBlock(src, dst, nil)
	if err != nil || n == 0 { // CompressBlock gives up where the bound is not enough for its hash
		panic("lz4: the block does not compress")
	}
	return dst[:n]
}

// hadoop writes frames of content bytes, each in blocks of block bytes.
func hadoop(content, block int) oldLZ4 {
	return func(src []byte) (out []byte) {
		for frame := range slices.Chunk(src, content) {
			out = binary.BigEndian.AppendUint32(out, uint32(len(frame)))
			for part := range slices.Chunk(frame, block) {
				packed := lz4Block(part)
				out = append(binary.BigEndian.AppendUint32(out, uint32(len(packed))), packed...)
			}
		}
		return out
	}
}

func lz4Frame(src []byte) []byte {
	var out bytes.Buffer
	w := lz4.NewWriter(&out)
	_, err := w.Write(src)
	if err = errors.Join(err, w.Close()); err != nil {
		panic(err)
	}
	return out.Bytes()
}

func lz4File(t *testing.T, codec oldLZ4) []byte {
	values := make([]any, 20_000)
	for i := range values {
		values[i] = int64(i * i % 1000)
	}
	file := fileOf{options: []pq.WriterOption{pq.Compression(codec)}}
	file.add("x", pq.Encoded(pq.Leaf(pq.Int64Type), &pq.Plain), values)
	return file.bytes(t)
}

func TestOldLZ4(t *testing.T) {
	for name, codec := range map[string]oldLZ4{
		"one block":      hadoop(1<<30, 1<<30),
		"several blocks": hadoop(1<<30, 5000),
		"several frames": hadoop(30_000, 7000),
		"lz4's frame":    lz4Frame,
		"a bare block":   lz4Block,
	} {
		t.Run(name, func(t *testing.T) {
			r := mustOpen(t, lz4File(t, codec))
			d, err := tabletest.Decode(t.Context(), r, all(r), nil, 1<<24)
			if err != nil || d.Rows != 20_000 {
				t.Fatal(d, err)
			}
			for i := range 20_000 {
				if want := int64(i * i % 1000); d.At(i, 0) != want {
					t.Fatalf("row %d: %v, want %v", i, d.At(i, 0), want)
				}
			}
		})
	}
}

func TestOldLZ4Damaged(t *testing.T) {
	whole := hadoop(1<<30, 5000)
	for name, codec := range map[string]oldLZ4{
		"cut":             func(src []byte) []byte { b := whole(src); return b[:len(b)-1] },
		"no content":      func(src []byte) []byte { return make([]byte, 4<<10) },
		"more content":    func(src []byte) []byte { return whole(append(src[:len(src):len(src)], 1, 2, 3)) },
		"less content":    func(src []byte) []byte { return whole(src[:len(src)-1]) },
		"huge sizes":      func(src []byte) []byte { return bytes.Repeat([]byte{0xff}, 100) },
		"bytes behind it": func(src []byte) []byte { return append(whole(src), 0) },
		"a frame cut":     func(src []byte) []byte { return lz4Frame(src)[:1000] },
		"frame too long":  func(src []byte) []byte { return lz4Frame(append(src[:len(src):len(src)], 1)) },
	} {
		t.Run(name, func(t *testing.T) {
			r := mustOpen(t, lz4File(t, codec))
			if _, err := tabletest.Decode(t.Context(), r, all(r), nil, 1<<24); !errors.Is(err, errs.ErrDamaged) {
				t.Errorf("%v, want ErrDamaged", err)
			}
		})
	}
}

// Frames of every form that the library writes. Blocks with checksums, which it makes of the wrong bytes, are polars's: python/tests/tables/test_arrow.py.
func TestLZ4Frames(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 200 {
		content := make([]byte, rng.IntN(1<<rng.IntN(19)))
		for k := range content {
			content[k] = byte(rng.IntN(1 << rng.IntN(8)))
		}
		if i%3 == 0 {
			content = bytes.Repeat(content[:min(len(content), 1000)], 100)
		}
		var out bytes.Buffer
		w := lz4.NewWriter(&out)
		if err := w.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(i%2 == 0)); err != nil {
			t.Fatal(err)
		}
		if i%7 == 0 {
			if err := w.Apply(lz4.SizeOption(uint64(len(content)))); err != nil {
				t.Fatal(err)
			}
		}
		_, err := w.Write(content)
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		dst := make([]byte, len(content))
		if n, err := unlz4Frame(out.Bytes(), dst); err != nil || n != len(dst) || !bytes.Equal(dst, content) {
			t.Fatalf("%d: %d of %d bytes, %v", i, n, len(dst), err)
		}
		if n, err := unlz4Frame(append(out.Bytes(), 0), dst); err == nil && n == len(dst) {
			t.Fatalf("%d: a byte behind the end", i)
		}
		for cut := range min(out.Len(), 50) {
			if n, err := unlz4Frame(out.Bytes()[:out.Len()-1-cut], dst); err == nil && n == len(dst) {
				t.Fatalf("%d: cut by %d", i, 1+cut)
			}
		}
		if i%2 == 0 { // a checksum finds each changed byte
			changed := slices.Clone(out.Bytes())
			changed[4+rng.IntN(len(changed)-4)] ^= 1 << rng.IntN(8)
			if n, err := unlz4Frame(changed, dst); err == nil && n == len(dst) && !bytes.Equal(dst, content) {
				t.Fatalf("%d: other content", i)
			}
		}
	}
}
