package kerneltest

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"encoding/binary"
	"hash/adler32"
	"io"
	"math/rand/v2"
	"testing"
)

// samples are bytes of several kinds: noise, few values, runs, repeats from far away.
func samples(r *rand.Rand, n int) []byte {
	out := make([]byte, n)
	kind, few := r.IntN(5), 1+r.IntN(40)
	for i := range out {
		switch kind {
		case 0:
			out[i] = byte(r.Uint32())
		case 1:
			out[i] = byte(r.IntN(few))
		case 2:
			out[i] = byte(r.NormFloat64() * float64(few))
		case 3:
			out[i] = byte(i / (few * few))
		default:
			if far := 1 + r.IntN(33000); i >= far && r.IntN(300) > 0 {
				out[i] = out[i-far]
				if i > 0 && r.IntN(20) > 0 {
					out[i] = out[max(0, i-1-few)]
				}
			} else {
				out[i] = byte(r.Uint32())
			}
		}
	}
	return out
}

// written is a stream of raw, in pieces of any size.
func written(r *rand.Rand, raw []byte, level int) []byte {
	var b bytes.Buffer
	w, _ := zlib.NewWriterLevel(&b, level) // every level is one
	for len(raw) > 0 {
		n := 1 + r.IntN(len(raw))
		w.Write(raw[:n])
		raw = raw[n:]
		if r.IntN(3) == 0 {
			w.Flush() // an empty stored block
		}
	}
	w.Close()
	return b.Bytes()
}

func TestQuickInflatesWhatZlibWrites(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	levels := []int{flate.NoCompression, flate.BestSpeed, flate.DefaultCompression, flate.BestCompression, flate.HuffmanOnly}
	for i := range 250 {
		want := samples(r, r.IntN(1+r.IntN(150000)))
		b := written(r, want, levels[i%len(levels)])
		stream := append(bytes.Clone(b), 1, 2, 3)
		for _, plain := range []bool{false, true} {
			got, read := Inflate(plain, stream, len(want))
			if read != len(b) || !bytes.Equal(got, want) {
				t.Fatalf("%d bytes at level %d, plain %v: read %d of %d", len(want), levels[i%len(levels)], plain, read, len(b))
			}
		}
		for _, size := range []int{len(want) - 1, len(want) + 1} {
			if size < 0 {
				continue
			}
			if _, read := Inflate(false, stream, size); read != 0 {
				t.Fatalf("%d bytes taken for %d", len(want), size)
			}
		}
		for _, cut := range []int{1, 4, 5, len(b) / 2} {
			if _, read := Inflate(false, b[:len(b)-cut], len(want)); read != 0 {
				t.Fatalf("a stream that lacks its last %d bytes was taken", cut)
			}
		}
	}
}

func compareInflate(t *testing.T, stream []byte) {
	t.Helper()
	const limit = 1 << 16
	reader, err := zlib.NewReader(bytes.NewReader(stream))
	var want []byte
	if err == nil {
		want, err = io.ReadAll(io.LimitReader(reader, limit))
	}
	for _, plain := range []bool{false, true} {
		got, read := Inflate(plain, stream, len(want))
		if err == nil && len(want) < limit && (read == 0 || !bytes.Equal(got, want)) {
			t.Fatalf("plain %v: a good stream of %d bytes was left", plain, len(want))
		}
		if err != nil && read != 0 {
			t.Fatalf("plain %v: a bad stream was taken: %v", plain, err)
		}
	}
}

func TestQuickLeavesDamagedStreams(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for range 4000 {
		stream := written(r, samples(r, 1+r.IntN(400)), flate.DefaultCompression)
		for range 1 + r.IntN(2) {
			stream[r.IntN(len(stream))] ^= 1 << r.IntN(8)
		}
		compareInflate(t, stream)
	}
}

// FuzzQuick compares with Go's zlib on any bytes, with and without a right sum
// behind them: few random streams have one.
func FuzzQuick(f *testing.F) {
	r := rand.New(rand.NewPCG(15, 16))
	for range 10 {
		f.Add(written(r, samples(r, 300), flate.DefaultCompression))
	}
	f.Add([]byte("\x78\x9c\x4b\x04\x00\x00\x62\x00\x62"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		compareInflate(t, stream)
		if len(stream) < 2 {
			return
		}
		rest := bytes.NewReader(stream[2:])
		raw, err := io.ReadAll(io.LimitReader(flate.NewReader(rest), 1<<16))
		if err != nil || len(raw) == 1<<16 {
			return
		}
		used := stream[:len(stream)-rest.Len()]
		compareInflate(t, binary.BigEndian.AppendUint32(bytes.Clone(used), adler32.Checksum(raw)))
	})
}
