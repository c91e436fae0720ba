package csv

import "github.com/gofast-org/gofast/gofast/table"

// instant is a day since 1970, and nanoseconds since its beginning, which an offset
// makes negative, or more than a day has.
type instant struct{ day, nanoseconds int64 }

// parseTime reads a date of ISO 8601: 2024-01-31, then at will T or a blank and
// 12:34, :56, a fraction of up to nine digits, and Z or the offset from UTC, +01:00.
func parseTime(text []byte) (t instant, ok bool) {
	s := scanner{text: text, ok: true}
	year := s.number(4, 9999)
	s.expect('-')
	month := s.number(2, 12)
	s.expect('-')
	day := s.number(2, 31)
	if !s.ok || month == 0 || day == 0 || day > daysOf(year, month) {
		return t, false
	}
	t.day = daysSince1970(year, month, day)
	if len(s.text) == 0 {
		return t, true
	}
	if !s.take('T') {
		s.expect(' ')
	}
	t.nanoseconds = s.number(2, 23) * int64(table.Hour)
	s.expect(':')
	t.nanoseconds += s.number(2, 59) * int64(table.Minute)
	if s.take(':') {
		t.nanoseconds += s.number(2, 59) * int64(table.Second)
		if s.take('.') {
			t.nanoseconds += s.fraction()
		}
	}
	t.nanoseconds -= s.offset()
	return t, s.ok && len(s.text) == 0
}

// scanner takes a text apart from its front; ok says that all was found so far.
type scanner struct {
	text []byte
	ok   bool
}

// take drops c where it is next.
func (s *scanner) take(c byte) bool {
	if len(s.text) == 0 || s.text[0] != c {
		return false
	}
	s.text = s.text[1:]
	return true
}

func (s *scanner) expect(c byte) { s.ok = s.take(c) && s.ok }

// number takes so many digits, whose number is at most most.
func (s *scanner) number(digits int, most int64) (n int64) {
	if len(s.text) < digits {
		s.ok = false
		return 0
	}
	for _, c := range s.text[:digits] {
		s.ok = s.ok && c-'0' <= 9
		n = n*10 + int64(c-'0')
	}
	s.text = s.text[digits:]
	s.ok = s.ok && n <= most
	return n
}

// fraction takes one to nine digits behind a point, as nanoseconds.
func (s *scanner) fraction() (n int64) {
	digits := 0
	for ; digits < 9 && len(s.text) > 0 && s.text[0]-'0' <= 9; digits++ {
		n = n*10 + int64(s.text[0]-'0')
		s.text = s.text[1:]
	}
	s.ok = s.ok && digits > 0
	for ; digits < 9; digits++ {
		n *= 10
	}
	return n
}

// offset takes what says how far the time is ahead of UTC, if anything does.
func (s *scanner) offset() int64 {
	sign := int64(1)
	switch {
	case s.take('-'):
		sign = -1
	case !s.take('+'):
		s.take('Z')
		return 0
	}
	hours := s.number(2, 23)
	s.expect(':')
	return sign * (hours*int64(table.Hour) + s.number(2, 59)*int64(table.Minute))
}

// before are the days before each month of a year that is no leap year.
var before = [...]int64{0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365}

func leaps(year int64) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

func daysOf(year, month int64) int64 {
	if month == 2 && leaps(year) {
		return 29
	}
	return before[month] - before[month-1]
}

// daysSince1970 counts in the calendar of today, as numpy does, for years from 0 on.
func daysSince1970(year, month, day int64) int64 {
	const to1970 = 719528 // days from the beginning of year 0
	days := 365*year + before[month-1] + day - 1
	if year > 0 { // a leap day for each leap year before this one; year 0 is one
		last := year - 1
		days += last/4 - last/100 + last/400 + 1
	}
	if month > 2 && leaps(year) {
		days++
	}
	return days - to1970
}
