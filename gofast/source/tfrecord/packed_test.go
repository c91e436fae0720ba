package tfrecord

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

func gzipped(t testing.TB, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestPackedTars(t *testing.T) {
	plain := tarOf(t, "a.jpg", strings.Repeat("x", 70_000), "a.cls", "1")
	dir := t.TempDir()
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	odd := tarOf(t, "BZh91AY.jpg", "x", "BZh91AY.cls", "1") // begins as bzip2 does
	for name, c := range map[string]struct {
		content []byte
		is      string
	}{
		"plain": {plain, ""}, "odd": {odd, ""}, "gzip": {gzipped(t, plain), "gzip"}, "zstd": {encoder.EncodeAll(plain, nil), "zstd"},
		"two": {append(gzipped(t, plain[:5000]), gzipped(t, plain[5000:])...), "gzip"}, "empty": {nil, ""},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, c.content, 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := Packs(t.Context(), []string{path}, 1)
		if err != nil || found[0].Compression != c.is {
			t.Fatalf("%s: %v %v", name, found, err)
		}
		if c.is == "" {
			continue
		}
		for _, most := range []int64{int64(len(plain)) - 1, int64(len(plain)), 1 << 30} {
			part := path + ".part"
			if err := os.WriteFile(part, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			larger, err := Unpack(t.Context(), []Unpacking{{path, part, path + ".tar", most}}, 1, func(_, _ int64) {})
			if err != nil || larger[0] != (most < int64(len(plain))) {
				t.Fatalf("%s: %v %v", name, larger, err)
			}
			made, err := os.ReadFile(path + ".tar")
			if larger[0] != (err != nil) || err == nil && !bytes.Equal(made, plain) {
				t.Fatalf("%s: %d bytes, %v", name, len(made), err)
			}
		}
		if err := errors.Join(os.WriteFile(path, c.content[:len(c.content)-9], 0o600), os.WriteFile(path+".part", nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		if _, err := Unpack(t.Context(), []Unpacking{{path, path + ".part", path + ".tar", 1 << 30}}, 1, func(_, _ int64) {}); !errors.Is(err, errs.ErrDamaged) {
			t.Errorf("%s, cut: %v", name, err)
		}
	}
	if schema, err := tarIndex(t, odd); err != nil || schema.Files[0].Records != 1 {
		t.Errorf("%v %v", schema, err)
	}
}

// Whoever cancels is told so, and of no fault of gofast's.
func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := filepath.Join(t.TempDir(), "a.tar.gz")
	if err := os.WriteFile(path, gzipped(t, tarOf(t, "a.cls", "1")), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	_, packs := Packs(ctx, []string{path}, 1)
	_, unpack := Unpack(ctx, []Unpacking{{From: path}}, 1, func(_, _ int64) {})
	_, indexes := Indexes(ctx, int(file.Fd()), 1, []ShardIndex{{}})
	for i, err := range []error{packs, unpack, indexes} {
		if !errors.Is(err, errs.ErrCanceled) {
			t.Errorf("%d: %v", i, err)
		}
	}
}
