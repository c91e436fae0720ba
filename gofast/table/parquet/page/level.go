package page

import "fmt"

// Level is an instruction set. Callers use Best; tests force each.
type Level int

// The instruction sets, in page.h's order.
const (
	Plain Level = iota
	AVX2
	AVX512
)

// Status is what became of a run of values, in page.h's order.
type Status int

// The outcomes.
const (
	OK         Status = iota
	Short             // the input ends before the last value
	Overrun           // a run holds more values than the page
	OutOfRange        // a value is not below the bound
)

// String says what is wrong, for error texts.
func (s Status) String() string {
	return [...]string{"no error", "the encoded values end too early", "a run is longer than the page's values",
		"a value lies outside its dictionary or level"}[s]
}

// Tile is a set of decoded columns: Cols columns of Rows values of Size bytes,
// ColumnBytes apart.
type Tile struct {
	Data             []byte
	ColumnBytes      int
	Rows, Cols, Size int
}

// check panics where the C side would leave its memory: only a bug of the
// caller can cause that. It says whether there is anything to do.
func (t Tile) check(dst []byte, rowBytes int) bool {
	if t.Rows == 0 || t.Cols == 0 {
		return false
	}
	last := (t.Cols-1)*t.ColumnBytes + t.Rows*t.Size
	end := (t.Rows-1)*rowBytes + t.Cols*t.Size
	if last > len(t.Data) || end > len(dst) || t.Rows < 0 || t.Cols < 0 || t.ColumnBytes < t.Rows*t.Size {
		panic(fmt.Sprintf("page: tile of %d x %d does not fit %d bytes or its %d bytes of rows", t.Rows, t.Cols, len(t.Data), len(dst)))
	}
	return true
}
