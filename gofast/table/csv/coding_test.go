package csv

import (
	"regexp"
	"testing"
	"time"

	"github.com/gofast-org/gofast/gofast/table"
)

// layouts are the forms that parseTime knows, as Go's time package writes them; after
// "05" it reads a fraction, too.
var layouts = []string{"2006-01-02", "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02T15:04:05",
	"2006-01-02 15:04Z07:00", "2006-01-02T15:04Z07:00", "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05Z07:00"}

// shape is the grammar; Go's time package is laxer in some places.
var shape = regexp.MustCompile(`^\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)?)?$`)

func byTime(text string) (t time.Time, ok bool) {
	if !shape.MatchString(text) {
		return t, false
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return t, false
}

func FuzzTime(f *testing.F) {
	for _, seed := range []string{
		"2024-01-31", "2024-02-29", "2023-02-29", "1900-02-29", "2000-02-29", "0000-01-01", "0000-02-29", "9999-12-31T23:59:59.999999999Z",
		"1969-12-31 23:59:59.5", "2024-01-31 12:34", "2024-01-31T12:34:56+01:00", "2024-01-31 12:34-23:59", "2024-01-31 24:00", "2024-13-01",
		"2024-00-01", "2024-01-00", "2024-04-31", "2024-1-31", "24-01-31", "2024-01-31 ", " 2024-01-31", "2024-01-31Z", "2024-01-31 12", "2024-01-31 12:34:60",
		"2024-01-31 12:34:56.", "2024-01-31 12:34:56.1234567890", "2024-01-31 12:34:56,5", "2024-01-31 12:34.5", "2024-01-31t12:34", "2024-01-31 12:34z",
		"2024-01-31 12:34+0100", "2024-01-31 12:34+24:00", "2024-01-31 12:34+01:60", "2024/01/31", "20240131", "+2024-01-31", "-2024-01-31", "2024-01-31 12:34Z+01:00", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want, wanted := byTime(text)
		got, ok := parseTime([]byte(text))
		if ok != wanted {
			t.Fatalf("%q: %v, want %v", text, ok, wanted)
		}
		if !ok {
			return
		}
		seconds, fits := table.Second.At(got.day, got.nanoseconds)
		if !fits || seconds != want.Unix() {
			t.Fatalf("%q: %d, want %d", text, seconds, want.Unix())
		}
		if nanoseconds, fits := table.Nanosecond.At(got.day, got.nanoseconds); fits && nanoseconds != want.UnixNano() {
			t.Fatalf("%q: %d, want %d", text, nanoseconds, want.UnixNano())
		}
	})
}

// Every day of two eras of 400 years follows the day before.
func TestDays(t *testing.T) {
	day := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	for want := day.Unix() / 86400; day.Year() < 2100; want++ {
		y, m, d := day.Date()
		if got := daysSince1970(int64(y), int64(m), int64(d)); got != want {
			t.Fatalf("%v: %d, want %d", day, got, want)
		}
		day = day.AddDate(0, 0, 1)
	}
}

func coding(names ...string) map[int]table.Coding {
	return map[int]table.Coding{0: {Categories: table.NewCategories(names, nil, nil)}}
}

func TestCoded(t *testing.T) {
	dates := map[int]table.Coding{0: {Unit: table.Day}}
	reals := map[int]table.Coding{0: {Categories: table.NewCategories([]string{"a", "b"}, nil, []float64{0.5, -2})}}
	for _, c := range []struct {
		text    string
		codings map[int]table.Coding
		want    []float64
	}{
		{"x,y\nred,1\nblue,2\n\"red\",3\n", coding("red", "blue"), []float64{0, 1, 1, 2, 0, 3}},
		{"x,y\n1,1\n0,2\n01,3\n", coding("1", "0", "01"), []float64{0, 1, 1, 2, 2, 3}},
		{"x,y\nTrue,1\nFalse,2\n,3\n", coding("False", "True"), []float64{1, 1, 0, 2, 9, 3}},
		{"x,y\nNA,1\nnull,2\nb,3\n", coding("b", "NA"), []float64{1, 1, 9, 2, 0, 3}},
		{"x,y\n\"a\"\"b,\",1\n\xc3\xa9,2\n a,3\n", coding(" a", "\u00e9", "a\"b,"), []float64{2, 1, 1, 2, 0, 3}},
		{"x,y\n1970-01-02,1\n1969-12-31 23:59:59.5,2\nNaT,3\n,4\n2000-02-29T23:00-02:00,5\n", dates,
			[]float64{1, 1, -1, 2, 9, 3, 9, 4, 11017, 5}},
		{"x,y\nb,1\na,2\n", reals, []float64{-2, 1, 0.5, 2}},
	} {
		for _, chunk := range []int{0, 16} {
			s := setup{header: &yes, fill: fill(9), chunk: chunk, threads: 2, codings: c.codings}
			got, err := s.read(t, write(t, []byte(c.text)))
			if err != nil {
				t.Fatalf("%q: %v", c.text, err)
			}
			if !same(got.cells, c.want) {
				t.Errorf("%q: %v, want %v", c.text, got.cells, c.want)
			}
		}
	}
}
