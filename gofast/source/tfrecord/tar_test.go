package tfrecord

import (
	"archive/tar"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

func tarOf(t testing.TB, members ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		err := w.WriteHeader(&tar.Header{Name: members[i], Size: int64(len(members[i+1])), Mode: 0o600})
		if err == nil {
			_, err = w.Write([]byte(members[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarIndex(t testing.TB, content []byte) (Schema, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.tar")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	fd, schema, err := Build(t.Context(), Options{Paths: []string{path}, Features: []string{"jpg;png", "cls"}, Form: Tar, Label: "cls", Threads: 1}, "")
	if err == nil {
		err = unix.Close(fd)
	}
	return schema, err
}

func TestMemberIsWebdatasets(t *testing.T) {
	for name, want := range map[string][2]string{
		"a.jpg": {"a", "jpg"}, "x.y/a.Seg.PNG": {"x.y/a", "seg.png"}, "a/.jpg": {"a/", "jpg"}, "a.": {"a", ""},
		".jpg": {}, "a.b/.jpg": {}, "a": {}, "a.b/c": {}, "__x.y__": {}, "a/__x.y__": {"a/__x", "y__"},
	} {
		key, suffix, _ := member(name)
		same(t, [2]string{key, suffix}, want)
	}
}

// A file that is cut or changed at any byte of its headers has an index or an error of the catalogue.
func TestTarCutAndChanged(t *testing.T) {
	whole := tarOf(t, "a.jpg", "picture", "a.cls", "1", "b.png", "other", "b.cls", "2")
	schema, err := tarIndex(t, whole)
	if err != nil || schema.Files[0].Records != 2 || schema.Columns[0].Values != 2 || schema.Columns[1].Kind != Ints {
		t.Fatal(schema, err)
	}
	for at := 0; at < len(whole); at += 7 {
		cut, changed := whole[:at], bytes.Clone(whole)
		changed[at] ^= 0x80
		for _, content := range [][]byte{cut, changed} {
			_, err := tarIndex(t, content)
			var known *errs.Error
			if err != nil && (!errors.As(err, &known) || known.Path == "" || known.Offset == errs.None) {
				t.Fatalf("byte %d: %v", at, err)
			}
		}
	}
	if _, err := tarIndex(t, tarOf(t, "a.jpg", "x", "a.jpg", "y")); !errors.Is(err, errs.ErrDamaged) {
		t.Fatal(err)
	}
}

func FuzzTar(f *testing.F) {
	f.Add(tarOf(f, "a.jpg", "picture", "a.cls", "1"))
	f.Fuzz(func(t *testing.T, content []byte) {
		var known *errs.Error
		if _, err := tarIndex(t, content); err != nil && !errors.As(err, &known) {
			t.Fatal(err)
		}
	})
}
