package tfrecord

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/internal/atomicfile"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/store"
	"github.com/gofast-org/gofast/gofast/source"
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

// The index beside a shard is found by its size and tag, without the shard, and has all suffixes.
func TestShardIndexTravels(t *testing.T) {
	dir := t.TempDir()
	shard, index := filepath.Join(dir, "a.tar"), filepath.Join(dir, "a.tar.index")
	content := tarOf(t, "a.jpg", "picture", "a.cls", "1", "b.png", "other", "b.cls", "2")
	if err := os.WriteFile(shard, content, 0o600); err != nil {
		t.Fatal(err)
	}
	size := int64(len(content))
	o := Options{Paths: []string{shard}, Form: Tar, Label: "cls", Threads: 1, Shard: &Shard{Size: size, Tag: "x"}}
	fd, made, err := Build(t.Context(), o, index)
	if err != nil || !made.Stored {
		t.Fatal(made, err)
	}
	if err := errors.Join(unix.Close(fd), os.Remove(shard)); err != nil {
		t.Fatal(err)
	}
	found, err := indexesIn(t, index, Shard{size, "x"})
	if err != nil || !found.Reused {
		t.Fatal(found, err)
	}
	kinds := map[string]Kind{}
	for _, c := range found.Columns {
		kinds[c.Name] = c.Kind
	}
	same(t, kinds, map[string]Kind{"jpg": Bytes, "png": Bytes, "cls": Ints})
	same(t, found.Files[0].Stamp, source.Stamp{Size: size})
	for _, other := range []Shard{{size, "y"}, {size + 512, "x"}, {size, ""}} {
		if _, err := indexesIn(t, index, other); !errors.Is(err, errs.ErrChanged) {
			t.Errorf("%v: %v", other, err)
		}
	}
	whole, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(whole) {
		if err := os.WriteFile(index, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := indexesIn(t, index, Shard{size, "x"}); !errors.Is(err, errs.ErrDamaged) {
			t.Errorf("the first %d bytes: %v", n, err)
		}
	}
}

// An index may lie anywhere in a file of several, and each is looked for within the file alone.
func TestIndexesLieInOneFile(t *testing.T) {
	dir := t.TempDir()
	var all []byte
	var indexes []ShardIndex
	for i := range 5 {
		content := tarOf(t, "a.jpg", strings.Repeat("x", 600*i), "a.cls", strconv.Itoa(i))
		shard, index := filepath.Join(dir, "a.tar"), filepath.Join(dir, strconv.Itoa(i))
		if err := os.WriteFile(shard, content, 0o600); err != nil {
			t.Fatal(err)
		}
		own := Shard{Size: int64(len(content))}
		fd, _, err := Build(t.Context(), Options{Paths: []string{shard}, Form: Tar, Label: "cls", Threads: 1, Shard: &own}, index)
		if err != nil {
			t.Fatal(err)
		}
		unix.Close(fd)
		data, err := os.ReadFile(index)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, make([]byte, 8)...)
		indexes = append(indexes, ShardIndex{Name: index, At: int64(len(all)), Bytes: int64(len(data)), Shard: Shard{own.Size, "any"}})
		all = append(all, data...)
	}
	file, err := os.Create(filepath.Join(dir, "all"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Write(all); err != nil {
		t.Fatal(err)
	}
	schemas, err := Indexes(t.Context(), int(file.Fd()), 2, indexes)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range schemas {
		same(t, s.Files[0].Stamp.Size, indexes[i].Shard.Size)
	}
	indexes[2].Bytes = int64(len(all))
	if _, err := Indexes(t.Context(), int(file.Fd()), 2, indexes); !errors.Is(err, errs.ErrConfig) {
		t.Error(err)
	}
}

// An index may have its checksum, and yet lead anywhere: it is named.
func TestAnIndexThatLies(t *testing.T) {
	path, shard := filepath.Join(t.TempDir(), "a"), Shard{Size: 5}
	a := artefact(path)
	a.Of = shard.of()
	lies := make([]byte, headBytes+64)
	native.PutUint64(lies[textAt:], 1<<40)
	err := store.Once(t.Context(), op, path, func() bool { return false }, func(file *atomicfile.File) error {
		r, err := a.Write(t.Context(), file, lies)
		return errors.Join(err, r.Close())
	})
	if err != nil {
		t.Fatal(err)
	}
	known := (*errs.Error)(nil)
	if _, err = indexesIn(t, path, shard); !errors.Is(err, errs.ErrDamaged) || !errors.As(err, &known) || known.Path != path {
		t.Error(err)
	}
}

// indexesIn is the only index of a file.
func indexesIn(t *testing.T, path string, shard Shard) (s Schema, err error) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	found, err := Indexes(t.Context(), int(file.Fd()), 1, []ShardIndex{{Name: path, Bytes: info.Size(), Shard: shard}})
	if err != nil {
		return s, err
	}
	return found[0], nil
}

func TestMemberIsWebdatasets(t *testing.T) {
	for name, want := range map[string][2]string{
		"a.jpg": {"a", "jpg"}, "x.y/a.Seg.PNG": {"x.y/a", "seg.png"}, "a/.jpg": {"a/", "jpg"}, "a.": {"a", ""},
		".jpg": {}, "a.b/.jpg": {}, "a": {}, "a.b/c": {}, "__x.y__": {}, "a/__x.y__": {"a/__x", "y__"},
		"__x__/a.jpg": {}, "__x__a.jpg": {"__x__a", "jpg"}, "y/__x__/b.jpg": {"y/__x__/b", "jpg"}, "__m__\n": {}, "a..b": {"a", ".b"},
		"x.y\nz/a.jpg": {}, "x\nz/a.jpg": {"x\nz/a", "jpg"}, "a//.jpg": {"a//", "jpg"}, "a.J\xff": {"a", "j\xff"},
	} {
		key, suffix, _ := member([]byte(name))
		same(t, [2]string{string(key), string(suffix)}, want)
	}
	webdatasets := regexp.MustCompile(`^((?:.*/|)[^.]+)[.]([^/]*)$`)
	for n := range 1 << 16 { // all names of 8 of these
		name := make([]byte, 8)
		for i := range name {
			name[i] = "a./\n"[n>>(2*i)&3]
		}
		want := webdatasets.FindSubmatch(name)
		if key, suffix, ok := member(name); ok != (want != nil) || ok && (!bytes.Equal(key, want[1]) || !bytes.Equal(suffix, want[2])) {
			t.Fatalf("%q is %q and %q, %t, and not %q", name, key, suffix, ok, want)
		}
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

// A header is what it is without the one before, of which most of its sum and of its fields are known.
func TestHeadersDoNotDependOnTheLast(t *testing.T) {
	whole := tarOf(t, "a.jpg", "1", "b.jpg", "22", "c.jpg", "333")
	verdict := func(content []byte, first int64) (verdicts [3]string) {
		r := tarFile{at: first, w: window{file: bytes.NewReader(content), size: int64(len(content))}}
		for at := first / 1024; at < 3; at++ {
			r.at = at * 1024
			_, err := r.head(t.Context(), false)
			verdicts[at] = fmt.Sprint(r.size)
			if err != nil {
				verdicts[at] = err.Error()
				break
			}
		}
		return verdicts
	}
	refused := 0
	for at := range tarBlock {
		for _, value := range []byte{whole[1024+at] ^ 0x80, whole[1024+at] ^ 1, whole[1024+at] + 8, ' ', 0, '9', 'x'} {
			for _, summed := range []bool{false, true} {
				content := bytes.Clone(whole)
				head := content[1024:1536]
				head[at] = value
				if sum := sumOf(head); summed {
					for _, b := range head[148:156] {
						sum += ' ' - int64(b)
					}
					copy(head[148:156], fmt.Sprintf("%06o\x00 ", sum))
				}
				got, want := verdict(content, 0), verdict(content, 1024)
				if got[1] != want[1] || got[2] != want[2] {
					t.Fatalf("byte %d as %#x: %q behind another header, %q without", at, value, got, want)
				}
				if want[2] == "" {
					refused++
				}
			}
		}
	}
	if refused < 3000 || refused > 6000 {
		t.Errorf("%d of 7168 headers were refused", refused)
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

// A field is the number that Python's tarfile reads there; what it reads as none, or would need more of its syntax, is noNumber.
func TestTarNumber(t *testing.T) {
	for field, want := range map[string]int64{
		"0000644\x00": 0o644, " 644 \x00x": 0o644, "": 0, "\x00\x00\x007": 0, "   ": 0, "7\n\x1c": 7, "-12": -10, "+7": 7,
		"8": noNumber, "-": noNumber, "7 7": noNumber, "0o7": noNumber, "1_0": noNumber, "- 7": noNumber, "7\x807": noNumber,
		"\x80\x00\x01\x00": 256, "\xff\xff\xfe": -2, "\x80" + string(bytes.Repeat([]byte{0xff}, 11)): math.MaxInt64,
		"\xff\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00": math.MinInt64 + 1,
	} {
		if got := tarNumber(append([]byte(field), make([]byte, max(0, 1-len(field)))...)); got != want {
			t.Errorf("%q is %d, and not %d", field, got, want)
		}
	}
	for width, form := range map[int]string{8: "%06o\x00 ", 12: "%011o\x00"} { // words of 8 digits are one step
		for bit := range 3*width - 3 {
			n := int64(0o7654321076543210)>>bit&(1<<(3*width-6)-1) | 1<<min(bit, 3*width-7)
			field := fmt.Appendf(nil, form, n)
			if got := tarNumber(field); got != n {
				t.Errorf("%q is %d, and not %d", field, got, n)
			}
			digit := bit / 3 % (width - 2)
			for value := range 256 {
				if field[digit] = byte(value); value == 0x80 || value == 0xff {
					continue // these are bytes, and not digits
				}
				want := tarNumber(append(bytes.Clone(field), 0)) // of a width that has no words
				if got := tarNumber(field); got != want {
					t.Errorf("%q is %d, and not %d", field, got, want)
				}
			}
		}
	}
}
