package npy

import (
	"context"
	"hash/crc32"
	"io"
	"strconv"

	"github.com/gofast-org/gofast/gofast/internal/crc"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
)

// array is one array of a file: rows of width values.
type array struct {
	place
	header
	name     string
	file     *source.File
	rows     int64
	width    int
	rowShape []int
	base     int64   // offset of the first value in the file; stored arrays only
	member   *member // the member of an .npz, nil for a plain .npy
	split    bool    // every position of a row is a column of its own
}

// columnAt is the name of the column at a position of a row.
func (a *array) columnAt(position int) string {
	if a.split {
		return strconv.Itoa(position)
	}
	return a.name
}

// rowBytes cannot overflow: the width is at most 2^31, a value at most
// Limits.Cell bytes, and both together at most the file unless there are no rows.
func (a *array) rowBytes() int64 { return int64(a.width) * int64(a.elem.size) }

// bytes is the length of the values.
func (a *array) bytes() int64 { return a.rows * a.rowBytes() }

func (a *array) deflated() bool { return a.member != nil && a.member.method == deflated }

// fail names the member as the column.
func (a *array) fail(kind error, format string, args ...any) *errs.Error {
	e := a.place.fail(kind, format, args...)
	if a.member != nil {
		e = e.InColumn(a.name)
	}
	return e
}

const (
	// blockBytes keeps a block in the second-level cache while it is converted.
	blockBytes = 1 << 20
	// blockRows bounds the 8-byte labels of a block of narrow rows.
	blockRows = 1 << 16
	// planeBytes is what is read at once of a column in Fortran order: less costs
	// a system call for every few values.
	planeBytes = 4 << 10
	// planeBlock bounds a block of wide rows in Fortran order.
	planeBlock = 32 << 20
)

// blockLen is the rows of one block.
func (a *array) blockLen() int64 {
	rows := blockBytes / a.rowBytes()
	if a.fortran {
		rows = min(planeBytes/int64(a.elem.size), planeBlock/a.rowBytes())
	}
	return max(1, min(rows, blockRows, a.rows))
}

// scratch is one goroutine's memory, kept between blocks.
type scratch struct{ block, plane, gather, wide []byte }

// grow returns *b with n bytes, reusing its memory.
func grow(b *[]byte, n int64) []byte {
	if int64(cap(*b)) < n {
		*b = make([]byte, n)
	}
	*b = (*b)[:n]
	return *b
}

// scratchBytes is what a goroutine may take for this array.
func (a *array) scratchBytes() int64 {
	rows := a.blockLen()
	return rows * (2*a.rowBytes() + int64(a.elem.size) + 16)
}

// reader fills p with the bytes of the array from offset on.
type reader func(p []byte, offset int64) error

func (a *array) readStored(p []byte, offset int64) error {
	return a.file.ReadFull(p, a.base+offset)
}

// rowsAt returns rows row..row+n-1 in C order and the machine's byte order. The
// memory is into when that is given, else s.block.
func (a *array) rowsAt(read reader, row, n int64, into []byte, s *scratch) ([]byte, error) {
	if into == nil {
		into = grow(&s.block, n*a.rowBytes())
	}
	var err error
	if a.fortran && a.width > 1 {
		err = a.gatherPlanes(read, row, n, into, s)
	} else {
		err = read(into, row*a.rowBytes())
	}
	if err != nil {
		return nil, err
	}
	return into, nil
}

// finish brings a block into the machine's form.
func (a *array) finish(block []byte, row int64) error {
	if a.elem.swap && !a.elem.text() {
		swapBytes(block, a.elem.size)
	}
	if a.elem.kind == 'b' {
		if at := notBoolean(block); at >= 0 {
			return a.fail(errs.ErrDamaged, "a boolean is stored as %d", block[at]).AtRow(row+int64(at/a.width), a.columnAt(at%a.width))
		}
	}
	return nil
}

// gatherPlanes turns Fortran order, where each position of a row is a plane of
// its own, into rows.
func (a *array) gatherPlanes(read reader, row, n int64, into []byte, s *scratch) error {
	size := int64(a.elem.size)
	index := make([]int, len(a.rowShape))
	for j := range a.width {
		plane := int64(0) // the position of index in Fortran order
		for d := len(index) - 1; d >= 0; d-- {
			plane = plane*int64(a.rowShape[d]) + int64(index[d])
		}
		values := grow(&s.plane, n*size)
		if err := read(values, (plane*a.rows+row)*size); err != nil {
			return err
		}
		scatter(into[int64(j)*size:], values, int(size), int(a.rowBytes()))
		for d := len(index) - 1; d >= 0; d-- { // the next position in C order
			if index[d]++; index[d] < a.rowShape[d] {
				break
			}
			index[d] = 0
		}
	}
	return nil
}

// scatter copies values of size bytes to every stride-th byte of dst.
func scatter(dst, values []byte, size, stride int) {
	switch size {
	case 1:
		at := 0
		for _, v := range values {
			dst[at] = v
			at += stride
		}
	default:
		for i, at := 0, 0; i < len(values); i, at = i+size, at+stride {
			copy(dst[at:at+size], values[i:i+size])
		}
	}
}

// gather is the inverse of scatter.
func gather(dst, src []byte, size, stride int) {
	for i, at := 0, 0; i < len(dst); i, at = i+size, at+stride {
		copy(dst[i:i+size], src[at:at+size])
	}
}

// checkStored compares the checksum of a stored member whose values are not
// read in order.
func (a *array) checkStored(ctx context.Context, threads int) error {
	start := a.base - a.header.length
	sum, err := crc.Parallel(ctx, threads, a.header.length+a.bytes(), func(from, to int64) ([]byte, error) {
		p := make([]byte, to-from)
		return p, a.file.ReadFull(p, start+from)
	})
	if err != nil {
		return err
	}
	return a.checkSum(sum)
}

func (a *array) checkSum(got uint32) error {
	if got != a.member.crc {
		return a.fail(errs.ErrDamaged, "the checksum of the array is %08x, the file says %08x: it was damaged after it was written", got, a.member.crc)
	}
	return nil
}

// headSum is the checksum of a stored array's header.
func (a *array) headSum() (uint32, error) {
	head := make([]byte, a.header.length)
	if err := a.file.ReadFull(head, a.base-a.header.length); err != nil {
		return 0, err
	}
	return crc32.ChecksumIEEE(head), nil
}

// inflate calls use for every block of a deflated array, in order.
func (a *array) inflate(ctx context.Context, opts table.Options, s *scratch, use func(row int64, block []byte) error) error {
	stream := a.member.open(a.file, opts.Progress)
	defer stream.Close()
	if _, err := io.CopyN(io.Discard, stream, a.header.length); err != nil {
		return a.readError(err)
	}
	read := func(p []byte, _ int64) error { return a.readFull(stream, p) }
	if a.fortran && a.width > 1 {
		if err := opts.Budget.Reserve(a.bytes(), "an array in Fortran order inside a compressed .npz"); err != nil {
			return err
		}
		defer opts.Budget.Release(a.bytes())
		whole := make([]byte, a.bytes())
		if err := a.readFull(stream, whole); err != nil {
			return err
		}
		read = func(p []byte, offset int64) error { copy(p, whole[offset:]); return nil }
	}
	for row := int64(0); row < a.rows; row += a.blockLen() {
		if err := ctx.Err(); err != nil {
			return err
		}
		block, err := a.rowsAt(read, row, min(a.blockLen(), a.rows-row), nil, s)
		if err == nil {
			err = a.finish(block, row)
		}
		if err == nil {
			err = use(row, block)
		}
		if err != nil {
			return err
		}
	}
	if n, err := stream.Read(make([]byte, 1)); n > 0 {
		return a.fail(errs.ErrDamaged, "the member is longer than the file's directory says")
	} else if err != io.EOF {
		return a.readError(err)
	}
	return a.checkSum(stream.sum)
}

// guard is what every public method defers.
func (p place) guard(err *error) { pool.Recover(err, p.op, p.path) }
