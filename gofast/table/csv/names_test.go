package csv

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// What the first record says of itself, whatever stands below it.
func TestHeader(t *testing.T) {
	const header, data, ask = 1, 0, -1
	for first, want := range map[string]int{
		"a,b": header, "a,,c": header, ",a,b": header, ",0,1,2": header, "label": header, "cat,dog": header, "a,b,": header,
		"label,0,1,2,3,4,5,6,7": header, "0,1,2,3,4,5,6,7,label": header,
		"0,0,1": data, "5,3,3,?": data, "7,7,cat": data, "1.5,1.5": data, "True,True": data, "NA,0,0": data,
		"2019,2020,2021": ask, "0,1,2,3": ask, "0,1,2,3,4,5,6,7,8,9": ask, "7": ask, "1.5": ask, "5.1,3.5,setosa": ask,
		"label,0,1": ask, "1,1.0": ask, "?,1": ask, "?,cat": ask, "-,a": ask, "NA,1,2": ask, "NA,NA": ask, "a,NA": ask, "True,False": ask,
		"1,,2": ask, ",5,6": ask, "9999999999999999999999": ask,
	} {
		columns := strings.Count(first, ",") + 1
		for _, below := range []string{"", strings.Repeat("1,", columns-1) + "2\n", strings.Repeat("x,", columns-1) + "y\n"} {
			r, err := setup{}.open(t, write(t, []byte(first+"\n"+below)))
			var e *errs.Error
			switch {
			case want == ask:
				if !errors.As(err, &e) || !errors.Is(err, errs.ErrSchema) || e.Line != 1 || !strings.Contains(err.Error(), "header=False") {
					t.Errorf("%q over %q: %v", first, below, err)
				}
			case err != nil:
				t.Errorf("%q over %q: %v", first, below, err)
			case (r.start > 0) != (want == header):
				t.Errorf("%q over %q: the data starts at %d", first, below, r.start)
			}
			for _, said := range []*bool{&yes, &no} {
				if r, err := (setup{header: said}).open(t, write(t, []byte(first+"\n"+below))); err == nil && (r.start > 0) != *said {
					t.Errorf("%q over %q: the data starts at %d, with header %v", first, below, r.start, *said)
				}
			}
		}
	}
}

// Lines are those that an editor shows, in every chunk and when unpacked.
func TestLines(t *testing.T) {
	for _, c := range []struct {
		text string
		line int64
	}{
		{"a,b\n1,2\nx,4\n", 3},
		{"x,1\n", 1},
		{"1,1\nx,2\n", 2},
		{"\n\na,b\n\n1,2\n \t\n\nx,4\n", 8},
		{"a,b\r\n1,2\r\n\r\nx,4\r\n", 4},
		{"a,b\r1,2\r\rx,4\r", 4},
		{"\"a\n\nz\",b\n1,2\nx,4", 5},
		{"a,b\n\"1\n\n\",2\n\"x\n\",4", 5},
		{"\ufeffa,b\nx,4", 2},
		{"a,b\n" + strings.Repeat("1,2\n\n", 3000) + "x,4\n", 6002},
	} {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		fmt.Fprint(z, c.text)
		z.Close()
		for _, content := range [][]byte{[]byte(c.text), packed.Bytes()} {
			for _, chunk := range []int{0, 1, 2, 7} {
				s := setup{chunk: chunk, threads: 2}
				if strings.HasPrefix(c.text, "x") || strings.HasPrefix(c.text, "1") {
					s.header = &no
				}
				_, err := s.read(t, write(t, content))
				var e *errs.Error
				if !errors.As(err, &e) || !errors.Is(err, errs.ErrValue) || e.Line != c.line || !strings.Contains(err.Error(), fmt.Sprintf(": line %d, column", c.line)) {
					t.Errorf("chunk %d of %.40q: %v, want line %d", chunk, c.text, err, c.line)
				}
			}
		}
	}
}
