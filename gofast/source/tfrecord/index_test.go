package tfrecord

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

func same(t *testing.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestValuesOfAllKinds(t *testing.T) {
	content := framed(
		exampleOf(feature{"i", intList(1, -2, math.MinInt64)}, feature{"b", bytesList("one", "", "three")}),
		nil, // an empty Example
		exampleOf(feature{"f", floatList(1.5, float32(math.Inf(1)))}, feature{"b", bytesList()}, feature{"i", nil}, feature{"late", intList(7)}),
	)
	data, err := indexed(t, content)
	if err != nil {
		t.Fatal(err)
	}
	same(t, values(t, data, "i"), []any{[]int64{1, -2, math.MinInt64}, nil, nil})
	same(t, values(t, data, "b", content), []any{[][]byte{[]byte("one"), {}, []byte("three")}, nil, [][]byte(nil)})
	same(t, values(t, data, "f"), []any{nil, nil, []float32{1.5, float32(math.Inf(1))}})
	same(t, values(t, data, "late"), []any{nil, nil, []int64{7}})
	if s, _ := parse(data, ""); !reflect.DeepEqual(s.First, []string{"i", "b"}) {
		t.Errorf("first %v", s.First)
	}
}

// What other writers may write, and what TensorFlow and protobuf read alike.
func TestOddExamples(t *testing.T) {
	unpacked := listOf(3, []byte{1 << 3, 5, 1 << 3, 6})
	floats := listOf(2, append([]byte{1<<3 | 5}, 0, 0, 0x80, 0x3f))
	swapped := listOf(1, append(listOf(2, intList(5)), listOf(1, []byte("i"))...))
	for name, c := range map[string]struct {
		example []byte
		want    any
	}{
		"unpacked ints":      {exampleOf(feature{"i", unpacked}), []int64{5, 6}},
		"unpacked floats":    {exampleOf(feature{"i", floats}), []float32{1}},
		"value before name":  {listOf(1, swapped), []int64{5}},
		"two Features":       {append(exampleOf(feature{"i", intList(1)}), exampleOf(feature{"j", intList(2)})...), []int64{1}},
		"the last counts":    {exampleOf(feature{"i", intList(1, 2)}, feature{"j", intList(9)}, feature{"i", intList(3)}), []int64{3}},
		"the last is empty":  {exampleOf(feature{"i", intList(1, 2)}, feature{"i", nil}), nil},
		"an unknown varint":  {append([]byte{9 << 3, 0x80, 1}, exampleOf(feature{"i", intList(4)})...), []int64{4}},
		"an unknown message": {append([]byte{9<<3 | 2, 1, 7}, exampleOf(feature{"i", intList(4)})...), []int64{4}},
		"unknown words":      {append([]byte{9<<3 | 5, 1, 2, 3, 4, 9<<3 | 1, 1, 2, 3, 4, 5, 6, 7, 8}, exampleOf(feature{"i", intList(4)})...), []int64{4}},
		"an empty int list":  {exampleOf(feature{"i", listOf(3, nil)}), []int64(nil)},
		"a packed empty one": {exampleOf(feature{"i", listOf(3, listOf(1, nil))}), []int64(nil)},
		"a long zero":        {exampleOf(feature{"i", listOf(3, listOf(1, []byte{0x80, 0}))}), []int64{0}},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := indexed(t, framed(c.example), "i")
			if err != nil {
				t.Fatal(err)
			}
			same(t, values(t, data, "i"), []any{c.want})
		})
	}
}

func TestRefusedExamples(t *testing.T) {
	int5 := listOf(1, []byte{5})
	for name, c := range map[string]struct {
		example []byte
		kind    string
	}{
		"two lists":              {exampleOf(feature{"i", append(intList(1), intList(2)...)}), "Unsupported"},
		"packed twice":           {exampleOf(feature{"i", listOf(3, append(int5, int5...))}), "Unsupported"},
		"packed and unpacked":    {exampleOf(feature{"i", listOf(3, append(int5, 1<<3, 5))}), "Unsupported"},
		"unpacked and packed":    {exampleOf(feature{"i", listOf(3, append([]byte{1 << 3, 5}, int5...))}), "Damaged"},
		"an unknown kind":        {exampleOf(feature{"i", listOf(4, nil)}), "Unsupported"},
		"no name":                {listOf(1, listOf(1, listOf(2, intList(1)))), "Damaged"},
		"no value":               {listOf(1, listOf(1, listOf(1, []byte("i")))), "Damaged"},
		"two names":              {listOf(1, listOf(1, append(listOf(1, []byte("i")), listOf(1, []byte("i"))...))), "Unsupported"},
		"a third part":           {listOf(1, listOf(1, append(entryOf(feature{"i", intList(1)})[2:], 9<<3, 1))), "Unsupported"},
		"a name of other bytes":  {exampleOf(feature{"\xff", intList(1)}), "Unsupported"},
		"a group":                {append([]byte{9<<3 | 3}, exampleOf(feature{"i", intList(1)})...), "Damaged"},
		"field 0":                {[]byte{0, 1}, "Damaged"},
		"a long tag":             {append([]byte{0x8a, 0}, exampleOf(feature{"i", intList(1)})[1:]...), "Damaged"},
		"a field of Features":    {listOf(1, []byte{2 << 3, 1}), "Unsupported"},
		"an int of 11 bytes":     {exampleOf(feature{"i", listOf(3, listOf(1, bytes.Repeat([]byte{0x80}, 11)))}), "Damaged"},
		"a cut int":              {exampleOf(feature{"i", listOf(3, listOf(1, []byte{0x80}))}), "Damaged"},
		"a cut float":            {exampleOf(feature{"i", listOf(2, listOf(1, []byte{1, 2, 3, 4, 5}))}), "Damaged"},
		"ints as floats":         {exampleOf(feature{"i", listOf(2, []byte{1 << 3, 1})}), "Damaged"},
		"floats as bytes":        {exampleOf(feature{"i", listOf(1, []byte{1<<3 | 5, 0, 0, 0, 0})}), "Damaged"},
		"a length past the end":  {[]byte{first, 200}, "Damaged"},
		"a length of 64 bits":    {[]byte{first, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}, "Damaged"},
		"a skip past the end":    {[]byte{9<<3 | 1, 1}, "Damaged"},
		"another kind than here": {exampleOf(feature{"i", intList(1)}, feature{"i", floatList(1)}), "Schema"},
	} {
		t.Run(name, func(t *testing.T) {
			good := exampleOf(feature{"i", nil})
			_, err := indexed(t, framed(good, c.example), "i")
			if kindOf(err) != c.kind {
				t.Fatalf("got %v, want %s", err, c.kind)
			}
			var known *errs.Error
			if errors.As(err, &known); known.Row != 1 || known.Offset != int64(len(framed(good))) || !strings.HasSuffix(known.Path, "a.tfrecord") {
				t.Errorf("the place is wrong: %v", err)
			}
		})
	}
}

// What nobody asked for is not looked into, as TensorFlow does not.
func TestOnlyWhatIsAskedForIsRead(t *testing.T) {
	data, err := indexed(t, framed(exampleOf(feature{"bad", []byte{1, 2, 3}}, feature{"i", intList(1)})), "i")
	if err != nil {
		t.Fatal(err)
	}
	same(t, values(t, data, "i"), []any{[]int64{1}})
	if _, err := indexed(t, framed(exampleOf(feature{"bad", []byte{1, 2, 3}}))); err == nil {
		t.Error("a broken feature was read")
	}
}

func TestEveryCutAndEveryBitIsNoticed(t *testing.T) {
	one := framed(exampleOf(feature{"i", intList(1)}))
	content := append(bytes.Clone(one), framed(exampleOf(feature{"b", bytesList("xy")}))...)
	for n := range len(content) {
		_, err := indexed(t, content[:n])
		if whole := n == 0 || n == len(one); (err == nil) != whole {
			t.Errorf("cut at %d of %d: %v", n, len(content), err)
		}
		for bit := range 8 {
			changed := bytes.Clone(content)
			changed[n] ^= 1 << bit
			if _, err := indexed(t, changed); kindOf(err) != "Damaged" {
				t.Fatalf("byte %d, bit %d: %v", n, bit, err)
			}
		}
	}
}

func TestSeveralFiles(t *testing.T) {
	var paths []string
	var contents [][]byte
	var want, wantB []any
	for i := range 7 {
		var records [][]byte
		for j := range i {
			records = append(records, exampleOf(feature{"i", intList(int64(i), int64(j))}, feature{fmt.Sprint("only", i), bytesList(fmt.Sprint(i, j))}))
			want = append(want, []int64{int64(i), int64(j)})
			if i == 4 {
				wantB = append(wantB, [][]byte{[]byte(fmt.Sprint(i, j))})
			} else {
				wantB = append(wantB, nil)
			}
		}
		contents = append(contents, framed(records...))
		paths = append(paths, write(t, fmt.Sprint(i), contents[i]))
	}
	o := Options{Paths: paths, Threads: 3}
	fd, schema, err := Build(context.Background(), o, "")
	if err != nil {
		t.Fatal(err)
	}
	data := read(t, fd)[:schema.Size]
	same(t, values(t, data, "i"), want)
	same(t, values(t, data, "only4", contents...), wantB)

	bad := write(t, "bad", framed(exampleOf(), exampleOf(feature{"i", floatList(1)})))
	o.Paths = append(o.Paths, bad)
	if _, _, err = Build(context.Background(), o, ""); kindOf(err) != "Schema" || !strings.Contains(err.Error(), "row 1") || !strings.Contains(err.Error(), bad) {
		t.Errorf("another type: %v", err)
	}
}

// read is the index at a descriptor, which it closes.
func read(t testing.TB, fd int) []byte {
	t.Helper()
	f := os.NewFile(uintptr(fd), "index")
	defer f.Close()
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		t.Fatal(err)
	}
	data := make([]byte, s.Size)
	if _, err := f.ReadAt(data, 0); err != nil {
		t.Fatal(err)
	}
	return data
}

func TestTheIndexIsKeptUntilAFileChanges(t *testing.T) {
	path := write(t, "a", framed(exampleOf(feature{"i", intList(1)})))
	kept := filepath.Join(t.TempDir(), "index")
	build := func(after time.Duration, names ...string) (bool, []any) {
		t.Helper()
		o := Options{Paths: []string{path}, Features: names, Threads: 1, now: func() time.Time { return time.Now().Add(after) }}
		fd, schema, err := Build(context.Background(), o, kept)
		if err != nil {
			t.Fatal(err)
		}
		data := read(t, fd)
		return schema.Reused, values(t, data[:schema.Size], "i")
	}
	check := func(reused bool, want int64, after time.Duration, names ...string) {
		t.Helper()
		was, got := build(after, names...)
		if was != reused || !reflect.DeepEqual(got, []any{[]int64{want}}) {
			t.Errorf("reused %v, %v; want %v, %d", was, got, reused, want)
		}
	}
	check(false, 1, 0)
	if _, err := os.Stat(kept); err == nil {
		t.Error("the index of a file that may change in the same tick is kept")
	}
	check(false, 1, time.Minute)
	check(true, 1, time.Minute)
	check(false, 1, time.Minute, "i") // other features
	check(true, 1, time.Minute, "i")
	if err := os.WriteFile(path, framed(exampleOf(feature{"i", intList(2)})), 0o600); err != nil {
		t.Fatal(err)
	}
	check(false, 2, time.Minute, "i")
	for _, size := range []int64{100, 3, 0} {
		if err := os.Truncate(kept, size); err != nil {
			t.Fatal(err)
		}
		check(false, 2, time.Minute, "i")
	}
	kept = path
	o := Options{Paths: []string{path}, Threads: 1, now: func() time.Time { return time.Now().Add(time.Minute) }}
	if _, _, err := Build(context.Background(), o, path); kindOf(err) != "Config" {
		t.Errorf("an index in the place of a file of records: %v", err)
	}
	check(false, 2, 0, "i") // which is still there
}

func TestCompressedFiles(t *testing.T) {
	content := framed(exampleOf(feature{"b", bytesList("one")}), exampleOf(feature{"b", bytesList("two")}))
	packers := map[string]func(io.Writer) io.WriteCloser{
		"gzip": func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"zlib": func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
	}
	for name, packer := range packers {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			w := packer(&b)
			if _, err := w.Write(content); err != nil || w.Close() != nil {
				t.Fatal(err)
			}
			packed := b.Bytes()
			build := func(data []byte, memory int64) ([]byte, error) {
				o := Options{Paths: []string{write(t, "a", data)}, Compression: name, Threads: 1, Memory: memory}
				fd, schema, err := Build(context.Background(), o, filepath.Join(t.TempDir(), "never"))
				if err != nil {
					return nil, err
				}
				return read(t, fd)[:schema.Size], nil
			}
			data, err := build(packed, 0)
			if err != nil {
				t.Fatal(err)
			}
			s, _ := parse(data, "")
			held := data[s.Files[0].Inflated:][:s.Files[0].Bytes]
			if !bytes.Equal(held, content) {
				t.Error("the content differs")
			}
			same(t, values(t, data, "b", held), []any{[][]byte{[]byte("one")}, [][]byte{[]byte("two")}})

			for n := 1; n < len(packed); n++ {
				if _, err := build(packed[:n], 0); kindOf(err) != "Damaged" {
					t.Fatalf("cut at %d: %v", n, err)
				}
			}
			if _, err := build(append(bytes.Clone(packed), 1, 2, 3), 0); kindOf(err) != "Damaged" {
				t.Errorf("rubbish behind: %v", err)
			}
			if _, err := build(packed, 10); kindOf(err) != "Limit" || !strings.Contains(err.Error(), "/a: ") {
				t.Errorf("in 10 bytes: %v", err)
			}
			if _, err := indexed(t, packed); kindOf(err) != "Damaged" || !strings.Contains(err.Error(), name) {
				t.Errorf("the compression is not named: %v", err)
			}
		})
	}
}

func TestValuesHaveABudget(t *testing.T) {
	path := write(t, "a", framed(exampleOf(feature{"i", listOf(3, listOf(1, make([]byte, 1<<20)))})))
	o := Options{Paths: []string{path}, Threads: 1, Memory: 4 << 20}
	if _, _, err := Build(context.Background(), o, ""); kindOf(err) != "Limit" {
		t.Errorf("8 MiB in 4: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := Build(ctx, Options{Paths: []string{path}, Threads: 1}, ""); kindOf(err) != "Canceled" {
		t.Errorf("canceled: %v", err)
	}
}

// A kept index may be anything: what it says is checked before it addresses memory.
func TestEveryByteOfAnIndex(t *testing.T) {
	content := framed(exampleOf(feature{"b", bytesList("one", "two")}, feature{"i", intList(1)}), exampleOf(feature{"b", bytesList("x")}))
	data, err := indexed(t, content)
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		for _, value := range []byte{0, 1, 0x7f, 0x80, 0xff, '9', '-'} {
			changed := bytes.Clone(data)
			changed[i] = value
			s, err := parse(changed, "")
			if err != nil {
				continue
			}
			for _, c := range s.Columns { // reads all that the index addresses
				for at := range c.Values * valueBytes(c.Kind) {
					_ = changed[c.At+at]
				}
			}
		}
		if _, err := parse(data[:i], ""); err == nil {
			t.Errorf("an index that is cut at %d", i)
		}
	}
}

func FuzzRecords(f *testing.F) {
	f.Add(framed(exampleOf(feature{"i", intList(1, -2)}, feature{"b", bytesList("one")}), exampleOf(feature{"f", floatList(1)})), true)
	f.Add(exampleOf(feature{"i", intList(1, -2)}, feature{"b", bytesList("one", "")}, feature{"f", floatList(1)}), false)
	f.Fuzz(func(t *testing.T, data []byte, whole bool) {
		if !whole { // an Example that the fuzzer makes, with the checksums that it does not find
			data = framed(data)
		}
		made, err := indexed(t, data)
		if err != nil {
			if kindOf(err) == "Internal" {
				t.Fatal(err)
			}
			return
		}
		s, err := parse(made, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range s.Columns {
			values(t, made, c.Name, data)
		}
	})
}

func BenchmarkIndex(b *testing.B) {
	for _, size := range []int{20, 784, 110_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			record := framed(exampleOf(feature{"image/encoded", bytesList(strings.Repeat("x", size))}, feature{"image/class/label", intList(7)}))
			count := max((64<<20)/len(record), 1)
			path := write(b, "a", bytes.Repeat(record, count))
			b.SetBytes(int64(len(record) * count))
			for b.Loop() {
				fd, _, err := Build(context.Background(), Options{Paths: []string{path}, Threads: 1}, "")
				if err != nil {
					b.Fatal(err)
				}
				unix.Close(fd)
			}
			b.ReportMetric(float64(count)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

// Names of all files together are bounded: each takes memory for all records.
func TestNamesOfManyFiles(t *testing.T) {
	folder, paths := t.TempDir(), []string{}
	for i := range 3 {
		var features []feature
		for k := range 2000 {
			features = append(features, feature{fmt.Sprint(i, "-", k), intList(1)})
		}
		paths = append(paths, filepath.Join(folder, fmt.Sprint(i)))
		if err := os.WriteFile(paths[i], framed(exampleOf(features...)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for n, kind := range map[int]error{2: nil, 3: errs.ErrLimit} {
		fd, _, err := Build(t.Context(), Options{Paths: paths[:n], Threads: 1}, "")
		if !errors.Is(err, kind) {
			t.Errorf("%d files: %v", n, err)
		}
		if err == nil {
			unix.Close(fd)
		}
	}
}

// A series is what a slice would be, also where its parts meet.
func TestSeries(t *testing.T) {
	var s series[int32]
	var want []int32
	r := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		switch n := r.IntN(partValues / 3); r.IntN(4) {
		case 0:
			s.add(int32(n))
			want = append(want, int32(n))
		case 1, 2:
			for n > 0 {
				room := s.room(n)
				for i := range room {
					room[i] = int32(n - i)
					want = append(want, int32(n-i))
				}
				n -= len(room)
			}
		default:
			at := max(0, len(want)-n, len(want)/partValues*partValues*r.IntN(2))
			s.cut(int64(at))
			want = want[:at]
		}
		if s.count() != int64(len(want)) || !slices.Equal(slices.Concat(s.parts()...), want) {
			t.Fatalf("%d values of %d", s.count(), len(want))
		}
		if n := len(want); n > 0 && (s.at(int64(n-1)) != want[n-1] || s.at(int64(n/2)) != want[n/2]) {
			t.Fatalf("other values at %d", n)
		}
	}
	if s.count() < 3*partValues {
		t.Errorf("only %d values", s.count())
	}
}

// Whichever thread is first, the content of compressed files lies in their order, and so a pickle finds it again.
func TestContentLiesInOrder(t *testing.T) {
	var paths []string
	var want []byte
	for i := range 9 {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		content := framed(exampleOf(feature{"b", bytesList(strings.Repeat(fmt.Sprint(i), 8*(1<<(2*(9-i)))))}))
		if _, err := w.Write(content); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		paths = append(paths, write(t, "a", b.Bytes()))
		want = append(want, content...)
	}
	o := Options{Paths: paths, Compression: "gzip", Threads: 4}
	fd, schema, err := Build(context.Background(), o, "")
	if err != nil {
		t.Fatal(err)
	}
	data, got, end := read(t, fd), []byte{}, headBytes
	for i, f := range schema.Files {
		if f.Inflated != end {
			t.Errorf("file %d lies at %d, and not at %d", i, f.Inflated, end)
		}
		got = append(got, data[f.Inflated:][:f.Bytes]...)
		end = (f.Inflated + f.Bytes + 7) &^ 7
	}
	if !bytes.Equal(got, want) {
		t.Error("other content")
	}
}
