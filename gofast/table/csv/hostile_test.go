package csv

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/tabletest"
)

func gzipped(t testing.TB, parts ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, part := range parts {
		z := gzip.NewWriter(&b)
		if _, err := z.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func zstandard(t testing.TB, text string) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return z.EncodeAll([]byte(text), nil)
}

func TestCompressed(t *testing.T) {
	text := string(digits(40))
	want, err := setup{labels: []string{"label"}}.read(t, write(t, []byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	for name, packed := range map[string][]byte{
		"gzip": gzipped(t, text), "gzip, two members": gzipped(t, text[:5000], text[5000:]), "zstd": zstandard(t, text),
	} {
		for _, chunk := range []int{0, 100, 4096} {
			s := setup{labels: []string{"label"}, chunk: chunk, threads: 2}
			got, err := s.read(t, write(t, packed))
			if err != nil {
				t.Fatalf("%s, chunk %d: %v", name, chunk, err)
			}
			if got.rows != 40 || !same(got.cells, want.cells) || !slices.Equal(got.labels, want.labels) {
				t.Errorf("%s, chunk %d: a different table", name, chunk)
			}
		}
		r, err := setup{}.open(t, write(t, packed))
		if err != nil {
			t.Fatal(err)
		}
		if rows, exact := r.Rows(); rows < 40 && name != "gzip, two members" || exact {
			t.Errorf("%s: %d rows, exact %v", name, rows, exact)
		}
		if err := r.Count(t.Context()); err != nil {
			t.Fatal(err)
		}
		if rows, exact := r.Rows(); rows != 40 || !exact {
			t.Errorf("%s: %d rows counted, exact %v", name, rows, exact)
		}
		r.Close()
	}
}

// Damage gives a typed error or a table, never a panic, a hang or a foreign error.
func TestEveryByteFlippedAndCut(t *testing.T) {
	plain := "\ufeffa,b;x,\"q\"\"t\",y\r\n1,2,-3,cat\r\n40,.5,6,\"d,\no\"\n\n7,NA,255,x\n"
	for name, c := range map[string]struct {
		data  []byte
		setup setup
	}{
		"plain":   {[]byte(plain), setup{labels: []string{"y"}, fill: fill(0)}},
		"numbers": {[]byte("1,2,3\n40,50,60\n254,255,0\n"), setup{}},
		"gzip":    {gzipped(t, plain), setup{labels: []string{"y"}, fill: fill(0)}},
		"zstd":    {zstandard(t, plain), setup{labels: []string{"y"}, fill: fill(0)}},
	} {
		try := func(data []byte, what string, at int) {
			path := write(t, data)
			for _, chunk := range []int{0, 7} {
				s := c.setup
				s.chunk, s.threads, s.limits = chunk, 2, limits.Limits{Memory: 256 << 20}
				_, err := s.read(t, path)
				var e *errs.Error
				if err != nil && (!errors.As(err, &e) || errors.Is(err, errs.ErrInternal)) {
					t.Errorf("%s, byte %d %s, chunk %d: %v", name, at, what, chunk, err)
				}
			}
			os.Remove(path)
		}
		for i := range c.data {
			for _, flip := range []byte{1, 0x80, 0xff, c.data[i] ^ '"', c.data[i] ^ '\n', c.data[i] ^ '\r', c.data[i] ^ ','} {
				data := bytes.Clone(c.data)
				data[i] ^= flip
				try(data, "flipped", i)
			}
			try(c.data[:i], "cut", i)
		}
	}
}

// A compressed file that expands without end in one line stops at the limit.
func TestBomb(t *testing.T) {
	bomb := gzipped(t, "a,b\n1,2\n"+strings.Repeat("1", 64<<20))
	_, err := setup{threads: 2, limits: limits.Limits{Cell: 1 << 20, Memory: 64 << 20}}.read(t, write(t, bomb))
	if !errors.Is(err, errs.ErrLimit) {
		t.Errorf("%v, want ErrLimit", err)
	}
}

func TestBudgetIsGivenBack(t *testing.T) {
	long := "a,b\n1,2\n3,\"" + strings.Repeat(" ", 300_000) + "4\"\n5,x\n"
	f, err := source.Open(write(t, []byte(long)))
	if err != nil {
		t.Fatal(err)
	}
	budget := limits.NewBudget(32 << 20)
	opened, err := Open(f, table.Options{Threads: 2, Budget: budget})
	if err != nil {
		t.Fatal(err)
	}
	r := opened.(*reader)
	defer r.Close()
	r.chunk = 1000
	if _, err := r.Range(context.Background(), table.Selection{Features: []int{0, 1}}); !errors.Is(err, errs.ErrValue) {
		t.Errorf("%v, want ErrValue", err)
	}
	if err := budget.Reserve(32<<20, "all of it"); err != nil {
		t.Error(err)
	}
}

func TestShrinkingFile(t *testing.T) {
	path := write(t, digits(200))
	s := setup{chunk: 4096, threads: 2, labels: []string{"label"}}
	r, err := s.open(t, path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := os.Truncate(path, 100_000); err != nil {
		t.Fatal(err)
	}
	if _, err := tabletest.Decode(t.Context(), r, s.selection(r), nil, 1<<30); !errors.Is(err, errs.ErrChanged) {
		t.Errorf("%v, want ErrChanged", err)
	}
}

func TestCancel(t *testing.T) {
	path := write(t, digits(200))
	ctx, cancel := context.WithCancel(context.Background())
	f, err := source.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var reporting sync.Mutex // nobody reads on while the third chunk cancels
	seen := 0
	opened, err := Open(f, table.Options{Threads: 2, Progress: func(int64) {
		reporting.Lock()
		defer reporting.Unlock()
		if seen++; seen == 3 {
			cancel()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	r := opened.(*reader)
	defer r.Close()
	r.chunk = 1024
	_, err = r.Range(ctx, table.Selection{Features: []int{0, 1, 2}})
	if !errors.Is(err, errs.ErrCanceled) {
		t.Errorf("%v, want ErrCanceled", err)
	}
	if seen > 10 {
		t.Errorf("%d chunks were read in spite of the cancellation", seen)
	}
}

func TestProgressCountsTheFile(t *testing.T) {
	text := digits(200)
	for name, data := range map[string][]byte{"plain": text, "gzip": gzipped(t, string(text))} {
		f, err := source.Open(write(t, data))
		if err != nil {
			t.Fatal(err)
		}
		var seen atomic.Int64
		r, err := Open(f, table.Options{Threads: 2, Progress: func(n int64) { seen.Add(n) }})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Range(context.Background(), table.Selection{Features: []int{0}}); err != nil {
			t.Fatal(err)
		}
		if seen.Load() != f.Size() {
			t.Errorf("%s: progress of %d bytes, the file has %d", name, seen.Load(), f.Size())
		}
		r.Close()
	}
}

// The error is that of the first bad row of the file, whatever the threads do.
func TestFirstErrorWins(t *testing.T) {
	lines := strings.Split(string(digits(300)), "\n")
	for _, at := range []int{100, 101, 150, 290} {
		lines[at] = "x" + lines[at]
	}
	path := write(t, []byte(strings.Join(lines, "\n")))
	for range 30 {
		_, err := setup{threads: 4, chunk: 2000}.read(t, path)
		var e *errs.Error
		if !errors.As(err, &e) || e.Row != 99 {
			t.Fatalf("%v, want row 99", err)
		}
	}
}

// Hundreds of thousands of columns, and a line that never ends, are beyond the limits.
func TestWideHeaders(t *testing.T) {
	for name, text := range map[string]string{
		"columns":  strings.Repeat("a,", 300_000) + "b\n",
		"one line": strings.Repeat("a", 40<<20),
	} {
		if _, err := (setup{}).read(t, write(t, []byte(text))); !errors.Is(err, errs.ErrLimit) {
			t.Errorf("%s: %v, want ErrLimit", name, err)
		}
	}
}

// A panic in a visitor becomes an error, and no worker is left waiting.
func TestPanicBecomesError(t *testing.T) {
	r, err := setup{chunk: 500, threads: 3}.open(t, write(t, digits(100)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, err = r.run(context.Background(), func() visitor { return panicking{} })
	var e *errs.Error
	if !errors.Is(err, errs.ErrInternal) || !errors.As(err, &e) || e.Path == "" || e.Debug == "" {
		t.Errorf("%v, want ErrInternal with path and stack", err)
	}
}

type panicking struct{}

func (panicking) visit(c chunk) error {
	if c.base > 20 {
		panic("visitor")
	}
	return nil
}
