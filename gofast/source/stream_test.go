package source

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

func pack(t *testing.T, c Compression, data []byte, window int) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch c {
	case Gzip:
		w = gzip.NewWriter(&b)
	case Zstd:
		var err error
		if w, err = zstd.NewWriter(&b, zstd.WithWindowSize(window), zstd.WithSingleSegment(false)); err != nil {
			t.Fatal(err)
		}
	default:
		return data
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func unpack(t *testing.T, packed []byte, memory int64) ([]byte, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "packed")
	if err := os.WriteFile(path, packed, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := OpenStream(f, CompressionOf(packed), memory)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	data, err := io.ReadAll(s)
	if err == nil && s.Consumed() != f.Size() {
		t.Errorf("%d of %d bytes were taken", s.Consumed(), f.Size())
	}
	return data, err
}

func TestStreams(t *testing.T) {
	data := bytes.Repeat([]byte("some text, "), 200_000)
	for _, c := range []Compression{Plain, Gzip, Zstd} {
		packed := pack(t, c, data, 1<<20)
		if got := CompressionOf(packed); got != c {
			t.Errorf("%v is recognised as %v", c, got)
		}
		got, err := unpack(t, packed, 1<<30)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%v: %d bytes, %v", c, len(got), err)
		}
		if c == Plain {
			continue
		}
		if got, err := unpack(t, append(packed, packed...), 1<<30); err != nil || len(got) != 2*len(data) {
			t.Errorf("%v twice: %d bytes, %v", c, len(got), err)
		}
		for _, cut := range []int{len(packed) / 2, len(packed) - 1, 5} {
			if _, err := unpack(t, packed[:cut], 1<<30); !errors.Is(err, errs.ErrDamaged) {
				t.Errorf("%v cut to %d bytes: %v, want ErrDamaged", c, cut, err)
			}
		}
	}
}

// What stands around packed text and holds none of it: zeros behind members of gzip, frames of zstd to skip.
func TestPadding(t *testing.T) {
	data := bytes.Repeat([]byte("some text, "), 20_000)
	gz, zst := pack(t, Gzip, data, 0), pack(t, Zstd, data, 1<<20)
	skipped := []byte("\x5f\x2a\x4d\x18\x03\x00\x00\x00abc")
	for name, packed := range map[string][]byte{
		"gzip": slices.Concat(gz, make([]byte, 512), gz, make([]byte, 300_000)),
		"zstd": slices.Concat(skipped, zst, skipped, skipped, zst, skipped),
	} {
		if got, err := unpack(t, packed, 1<<30); err != nil || !bytes.Equal(got, slices.Concat(data, data)) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if _, err := unpack(t, append(packed, "other"...), 1<<30); !errors.Is(err, errs.ErrDamaged) {
			t.Errorf("%s with something else behind: %v, want ErrDamaged", name, err)
		}
	}
}

func TestWindowLimit(t *testing.T) {
	packed := pack(t, Zstd, bytes.Repeat([]byte("x"), 3<<20), 2<<20)
	if _, err := unpack(t, packed, 1<<20); !errors.Is(err, errs.ErrLimit) {
		t.Errorf("%v, want ErrLimit", err)
	}
}
