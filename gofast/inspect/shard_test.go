package inspect

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast/source/folder"
	"github.com/gofast-org/gofast/gofast/source/tfrecord"
)

// tarOf is a tar file of so many pictures, some of which are spoiled.
func tarOf(t *testing.T, count int, spoil map[int]func(picture []byte) []byte) []byte {
	t.Helper()
	picture := jpegOf(t, 40, 30)
	return encoded(t, func(b *bytes.Buffer) error {
		w := tar.NewWriter(b)
		for i := range count {
			content := picture
			if wrong := spoil[i]; wrong != nil {
				content = wrong(bytes.Clone(picture))
			}
			for suffix, content := range map[string][]byte{"jpg": content, "cls": []byte("1")} {
				if err := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("a/%04d.%s", i, suffix), Size: int64(len(content)), Mode: 0o600}); err != nil {
					return err
				}
				if _, err := w.Write(content); err != nil {
					return err
				}
			}
		}
		return w.Close()
	})
}

func TestTars(t *testing.T) {
	root := t.TempDir()
	spoil := map[int]func([]byte) []byte{
		3:   func(p []byte) []byte { return p[:len(p)/3] },
		150: func([]byte) []byte { return []byte("<html>") },
		151: func([]byte) []byte { return nil },
		170: func([]byte) []byte { return []byte("GIF89a") }, // which Pillow is asked about
	}
	spoiled, whole := tarOf(t, 200, spoil), tarOf(t, 5, nil)
	write(t, filepath.Join(root, "0.tar"), spoiled)
	write(t, filepath.Join(root, "1.tar"), whole)
	write(t, filepath.Join(root, "2.tar"), whole[:len(whole)/2+100])
	header := bytes.Clone(whole)
	header[bytes.Index(header, []byte("a/0003."))] ^= 1
	write(t, filepath.Join(root, "3"), header)
	write(t, filepath.Join(root, "4.tgz"), encoded(t, func(b *bytes.Buffer) error {
		w := gzip.NewWriter(b)
		if _, err := w.Write(spoiled); err != nil {
			return err
		}
		return w.Close()
	}))
	write(t, filepath.Join(root, "5.tar"), []byte("no tar file"))
	write(t, filepath.Join(root, "6.tar"), make([]byte, 1024)) // an empty one
	v := verify(t, root)
	if v.Tars != 7 || v.Others != 0 || v.Pictures < 400 {
		t.Errorf("%+v", v)
	}
	wrong := map[string][]Problem{}
	for _, p := range append(v.Damaged, v.Unchecked...) {
		name := filepath.Base(string(p.Path))
		wrong[name] = append(wrong[name], p)
	}
	for name, said := range map[string][]string{
		"0.tar": {"a/0003.jpg", "a/0150.jpg", "a/0151.jpg", "a/0170.jpg"},
		"2.tar": {"the file ends"},
		"3":     {"checksum"},
		"4.tgz": {"a/0003.jpg", "a/0150.jpg", "a/0151.jpg", "a/0170.jpg"},
		"5.tar": {"the file ends within a header"},
	} {
		if len(wrong[name]) != len(said) {
			t.Errorf("%s: %+v", name, wrong[name])
			continue
		}
		for i, p := range wrong[name] {
			at := bytes.Index(spoiled, []byte(said[i])) + 512
			if !strings.Contains(p.Reason, said[i]) || !strings.Contains(p.Reason, "offset") {
				t.Errorf("%s: %s", name, p.Reason)
			}
			if p.Picture && (p.Offset != int64(at) || string(p.Member) != said[i]) {
				t.Errorf("%s: %+v, not at %d", name, p, at)
			}
		}
	}
	if len(wrong) != 5 {
		t.Errorf("%v", wrong)
	}
}

// A picture that Pillow had in memory has no file's format. Training refuses one whose bytes are too few, so it is found.
func TestPicturesInMemory(t *testing.T) {
	root := t.TempDir()
	for name, whole := range map[string]bool{"abcdef": true, "abc": false} {
		picture := "\x02\x00\x00\x00\x01\x00\x00\x00\x03\x00\x00\x00RGB" + name
		size := byte(len(picture))
		chunk := string([]byte{1, 0, 0, 0, 12, 0, 0, 0, 16 + size, 0, 0, 0, size, 0, 0, 0}) + picture
		path := write(t, filepath.Join(root, name), []byte(chunk))
		leaves := []tfrecord.Leaf{{Name: "image", Encoding: "pil"}}
		listed := Shards{Form: tfrecord.LitData, Paths: []folder.Name{folder.Name(path)}, Samples: []int64{1}, Leaves: leaves}
		v, err := Verify(t.Context(), []string{path}, Options{Shards: []Shards{listed}})
		if err != nil || len(v.Unchecked) != 0 || (len(v.Damaged) == 0) != whole || (v.Pictures == 1) != whole {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
}

// A report is short, however many pictures of a shard are wrong and however they are called.
func TestManyWrongPictures(t *testing.T) {
	defer func(most int64) { mostWrong = most }(mostWrong)
	mostWrong = 200
	bad := encoded(t, func(b *bytes.Buffer) error {
		w := tar.NewWriter(b)
		for i := range mostWrong + 200 {
			if err := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("%05d.jpg", i)}); err != nil {
				return err
			}
		}
		return w.Close()
	})
	long := encoded(t, func(b *bytes.Buffer) error {
		w := tar.NewWriter(b)
		return errors.Join(w.WriteHeader(&tar.Header{Name: strings.Repeat("n", 1<<19) + ".jpg"}), w.Close())
	})
	root := t.TempDir()
	write(t, filepath.Join(root, "bad.tar"), bad)
	write(t, filepath.Join(root, "long.tar"), long)
	v := verify(t, root)
	if n := len(v.Damaged); int64(n) < mostWrong || int64(n) >= mostWrong+200 || len(v.Damaged[n-1].Reason) > 2*mostName {
		t.Errorf("%d problems", n)
	}
	if len(v.Unchecked) != 1 || v.Unchecked[0].Kind != "Limit" || !strings.Contains(v.Unchecked[0].Reason, "not looked at") {
		t.Errorf("%+v", v.Unchecked)
	}
}

// Columns of rows are read one after another, each from the shard's beginning: what is done never gets less.
func TestProgressOfColumns(t *testing.T) {
	rows, err := os.ReadFile("../table/arrow/testdata/texts.arrow")
	if err != nil {
		t.Fatal(err)
	}
	words := func(numbers ...int) (b []byte) {
		for _, n := range numbers {
			b = binary.LittleEndian.AppendUint32(b, uint32(n))
		}
		return b
	}
	chunk := bytes.Join([][]byte{words(6, 32, 32, 32, 32, 32, 32, 32), rows, words(len(rows)), []byte("LDARW01\x00")}, nil)
	path, before, most := write(t, filepath.Join(t.TempDir(), "a.bin"), chunk), int64(0), int64(0)
	listed := Shards{Form: tfrecord.LitData, Paths: []folder.Name{folder.Name(path)}, Samples: []int64{6}}
	for i := range 60 { // 64 values are visited at a time
		listed.Leaves = append(listed.Leaves, tfrecord.Leaf{Name: fmt.Sprint(i), Path: []string{"t"}, Encoding: "bytes"})
	}
	v, err := Verify(t.Context(), []string{path}, Options{Threads: 1, Shards: []Shards{listed}, Progress: func(done, total int64) {
		if done < before {
			t.Errorf("%d bytes, and before %d", done, before)
		}
		before, most = done, total
	}})
	if err != nil || len(v.Damaged)+len(v.Unchecked) != 0 || before != most {
		t.Errorf("%+v, %v: %d of %d", v, err, before, most)
	}
}
