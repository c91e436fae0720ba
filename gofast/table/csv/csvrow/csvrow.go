// Package csvrow holds the two hot loops of the CSV reader: counting lines, and
// turning rows of integers 0..255 into bytes. Each has C forms for AVX-512, AVX2
// and plain C (csvrow.c) and a twin in Go (twin.go) that defines the result.
package csvrow

import (
	"fmt"
	"sync/atomic"
)

// Front and Pad are the bytes of the buffer that Parse may touch before and
// after the rows: vectors are loaded whole.
const (
	Front = 64
	Pad   = 128
)

// MaxLead is the most bytes that the leading cells of a row may take.
const MaxLead = 256

// Counts is what Scan saw.
type Counts struct {
	Lines  int64 // '\n' bytes that do not follow a '\n'
	Quotes bool  // some byte is '"'
	Odd    bool  // a '\r' without '\n' after it, or a line that starts with a blank or '\r'
}

// Run sends Count cells, from column From on, to the features from To on.
type Run struct{ From, To, Count int32 }

// Label sends the cell of Column to the next label, as a float64 if Real is not
// 0 and as an int64 otherwise.
type Label struct{ Column, Real int32 }

// Layout says what a row looks like and where its cells go. Columns counts the
// cells after the Lead ones, which are skipped whatever they hold; Column and
// From are relative to them.
type Layout struct {
	Delim   byte
	Lead    int
	Columns int
	Runs    []Run
	Labels  []Label
	Width   int // features of one row
}

// ScratchSize is the length of the scratch that Parse needs.
func (l *Layout) ScratchSize() int { return l.Columns + Pad }

// Variant names one form of the kernels.
type Variant int32

// The forms. Twin is the reference in Go.
const (
	Twin Variant = iota - 1
	Plain
	AVX2
	AVX512
)

// String is the variant's name.
func (v Variant) String() string { return [...]string{"twin", "plain", "avx2", "avx512"}[v+1] }

var current atomic.Int32

func init() { current.Store(int32(best())) }

// Variants lists the forms that run here, the reference first.
func Variants() []Variant {
	all := []Variant{Twin}
	for v := Plain; v <= best(); v++ {
		all = append(all, v)
	}
	return all
}

// Force makes every later call use v, until the returned function is called. For
// tests only: it is process-wide.
func Force(v Variant) (restore func()) {
	old := current.Swap(int32(v))
	return func() { current.Store(old) }
}

// Scan counts the lines of data.
func Scan(data []byte, delim byte) Counts {
	if v := Variant(current.Load()); v != Twin {
		return scan(v, data, delim)
	}
	return scanTwin(data, delim)
}

// Parse stores rows of buf[from:to] until that is exhausted, `most` rows are
// stored, or a row is not one of Columns cells of one to three digits and at most
// 255. It returns the number of rows stored and where the next row starts. The
// last row needs its newline. The buffer must reach Front bytes before from and
// Pad bytes after to; its byte before from is changed and put back.
func Parse(l *Layout, buf []byte, from, to, most int, scratch, features, labels []byte) (rows, next int) {
	if from < Front || to < from || to+Pad > len(buf) || len(scratch) < l.ScratchSize() ||
		l.Width > 0 && most > len(features)/l.Width || len(l.Labels) > 0 && most > len(labels)/(8*len(l.Labels)) {
		panic(fmt.Sprintf("csvrow: rows %d..%d of %d bytes, %d rows into %d and %d bytes",
			from, to, len(buf), most, len(features), len(labels)))
	}
	if most <= 0 || from == to {
		return 0, from
	}
	before := buf[from-1]
	buf[from-1] = '\n'
	if v := Variant(current.Load()); v != Twin {
		rows, next = parse(v, l, buf, from, to, most, scratch, features, labels)
	} else {
		rows, next = parseTwin(l, buf, from, to, most, scratch, features, labels)
	}
	buf[from-1] = before
	return rows, next
}
