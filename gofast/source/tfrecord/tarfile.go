package tfrecord

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"strings"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

const (
	tarBlock    = 512
	mostHeader  = 1 << 20 // bytes of a long name, or of pax records
	mostHeaders = 64      // before one member
)

// ownBytes are those of a header that differ from member to member, and some more: name, size, time, checksum, kind. Most have
// the rest of the one before, whose fields are numbers and whose sum is known: a sum of all was a sixth of the time.
const ownBytes = 160

// tarMember is a member as Python's tarfile sees it, until the next one is read.
type tarMember struct {
	name    []byte
	at      int64 // its data
	size    int64
	regular bool // a file, not a folder, a link or a device
	sparse  bool // then its data are not at one place
}

// tarFile reads the headers of a tar file, from front to back. What Python's tarfile makes of an odd header decides, for it is
// what webdataset reads with. Where that ends without a word, this is an error.
type tarFile struct {
	w      window
	at     int64 // of the next header
	size   int64 // in the last header
	last   [tarBlock]byte
	common int64 // the sum of the last header's bytes from ownBytes on
	member tarMember
}

// next is the next member; nil at the end of the archive.
func (t *tarFile) next(ctx context.Context) (*tarMember, *errs.Error) {
	var long tarLong
	for number := 0; ; number++ {
		begin := t.at
		head, err := t.head(ctx, number > 0)
		if err != nil || head == nil {
			return nil, err
		}
		kind, size := head[156], t.size
		data := begin + tarBlock
		if number == mostHeaders {
			return nil, t.fail(errs.ErrLimit, begin, "more than %d headers stand before one member", mostHeaders)
		}
		switch kind {
		case 'L', 'K', 'x', 'g', 'X':
			if size < 0 || size > mostHeader {
				return nil, t.fail(errs.ErrLimit, begin, "a header of %d bytes: a name has at most %d", size, mostHeader)
			}
			t.at = data + blocksOf(size)
			text, err := t.bytes(ctx, data, blocksOf(size), "a long header")
			if err != nil {
				return nil, err
			}
			if wrong := long.take(kind, text, int(size)); wrong != "" {
				return nil, t.fail(errs.ErrDamaged, begin, "%s", wrong)
			}
			continue
		}
		m, name := &t.member, cString(head[:100])
		folder := kind == 0 && bytes.HasSuffix(name, []byte("/"))
		file := kind == '0' || kind == 0 || kind == '7' || kind == 'S'
		*m = tarMember{name: m.name[:0], at: data, size: size, regular: file && !folder, sparse: kind == 'S' || long.sparse}
		if head[345] != 0 && kind != 'S' {
			m.name = append(append(m.name, cString(head[345:500])...), '/')
		}
		m.name = append(m.name, name...)
		if long.named {
			m.name = append(m.name[:0], long.name...)
		}
		if long.sized {
			m.size = long.size
		}
		if kind == 'S' {
			if err := t.skipMaps(ctx, m, head[482] != 0); err != nil {
				return nil, err
			}
		}
		t.at = m.at
		if !folder && (kind < '1' || kind > '6') { // links and folders have no data, whatever their size
			if m.size < 0 || m.size > t.w.size-m.at {
				return nil, t.fail(errs.ErrDamaged, m.at, "the member %.200q has %d bytes, and the file ends after %d", m.name, m.size, t.w.size-m.at)
			}
			if t.at = m.at + blocksOf(m.size); t.at > t.w.size { // tarfile refuses it too
				return nil, t.fail(errs.ErrDamaged, m.at, "the file ends within the padding of the member %.200q", m.name)
			}
		}
		return m, nil
	}
}

// head is the header at the reader's place; nil at the end of the archive.
func (t *tarFile) head(ctx context.Context, needed bool) ([]byte, *errs.Error) {
	left := t.w.size - t.at
	if left == 0 && t.at > 0 && !needed {
		return nil, nil // no end marker: Python's tarfile and others take it so
	}
	if left < tarBlock {
		return nil, t.fail(errs.ErrDamaged, t.at, "the file ends within a header, after %d of %d bytes", left, tarBlock)
	}
	head, err := t.w.bytes(ctx, t.at, tarBlock)
	if err != nil {
		return nil, err
	}
	last := t.last[:]
	same, common := string(head[ownBytes:]) == string(last[ownBytes:]), t.common
	if !same {
		common = sumOf(head[ownBytes:])
	}
	sum := common + sumOf(head[:ownBytes])
	if sum == 0 {
		if needed {
			return nil, t.fail(errs.ErrDamaged, t.at, "the archive ends behind a long header")
		}
		return nil, t.rest(ctx)
	}
	if !hasSum(head, sum) {
		return nil, t.fail(errs.ErrDamaged, t.at, "the checksum of a header differs")
	}
	t.size = tarNumber(head[124:136])
	if t.size == noNumber || !same || *(*[24]byte)(head[100:]) != *(*[24]byte)(last[100:]) || *(*[12]byte)(head[136:]) != *(*[12]byte)(last[136:]) {
		for _, f := range [...][2]int{{100, 108}, {108, 116}, {116, 124}, {124, 136}, {136, 148}, {329, 337}, {337, 345}} {
			if tarNumber(head[f[0]:f[1]]) == noNumber {
				return nil, t.fail(errs.ErrDamaged, t.at, "%.40q in a header is no number", head[f[0]:f[1]])
			}
		}
		copy(last, head)
		t.common = common
	}
	if head[156] == 'S' && (tarNumber(head[483:495]) == noNumber || !numbers(head[386:482])) {
		return nil, t.fail(errs.ErrDamaged, t.at, "a sparse member's map is no numbers")
	}
	return head, nil
}

// hasSum says whether a header has its checksum. The sum is that of its bytes.
func hasSum(head []byte, sum int64) bool {
	sum += 8*' ' - sumOf(head[148:156]) // which count as spaces
	told := tarNumber(head[148:156])
	return told == sum || told == signedSum(head)
}

// IsTar says whether a file begins with a tar file's header. The first member's name may look like anything, such as what a
// compressed file begins with.
func IsTar(head []byte) bool {
	if len(head) < tarBlock {
		return false
	}
	sum := sumOf(head[:tarBlock])
	return sum != 0 && hasSum(head[:tarBlock], sum)
}

// rest looks behind the end of the archive, where nothing may stand: readers would not see it.
func (t *tarFile) rest(ctx context.Context) *errs.Error {
	for at := t.at; at < t.w.size; {
		zeros, err := t.bytes(ctx, at, min(64<<10, t.w.size-at), "the end")
		if err != nil {
			return err
		}
		for i, b := range zeros {
			if b != 0 {
				return t.fail(errs.ErrDamaged, at+int64(i), "something stands behind the end of the archive: are these two archives in one file?")
			}
		}
		at += int64(len(zeros))
	}
	return nil
}

// skipMaps goes over the blocks that say where the parts of a sparse file belong.
func (t *tarFile) skipMaps(ctx context.Context, m *tarMember, more bool) *errs.Error {
	for ; more; m.at += tarBlock {
		block, err := t.bytes(ctx, m.at, tarBlock, "a sparse file's map")
		if err != nil {
			return err
		}
		if more = block[504] != 0; !numbers(block[:504]) {
			return t.fail(errs.ErrDamaged, m.at, "a sparse member's map is no numbers")
		}
	}
	return nil
}

// numbers says whether fields of 12 bytes are numbers.
func numbers(fields []byte) bool {
	for ; len(fields) > 0; fields = fields[12:] {
		if tarNumber(fields[:12]) == noNumber {
			return false
		}
	}
	return true
}

func (t *tarFile) bytes(ctx context.Context, at, n int64, what string) ([]byte, *errs.Error) {
	if n > t.w.size-at {
		return nil, t.fail(errs.ErrDamaged, at, "the file ends within %s", what)
	}
	return t.w.bytes(ctx, at, n)
}

func (t *tarFile) fail(kind error, at int64, format string, args ...any) *errs.Error {
	return tarFail(kind, format, args...).At(t.w.path).AtOffset(at)
}

// tarLong is what headers before a member say of it. Of several that do, the first counts.
type tarLong struct {
	name   string
	size   int64
	named  bool
	sized  bool
	sparse bool
}

// take reads a long name, or pax records, and says what is wrong with them.
func (l *tarLong) take(kind byte, text []byte, size int) (wrong string) {
	switch kind {
	case 'K':
		return ""
	case 'L':
		if !l.named {
			l.name, l.named = string(cString(text)), true
		}
		return ""
	}
	own := tarLong{}
	for rest := text[:size]; len(rest) > 0; {
		digits := bytes.IndexByte(rest, ' ')
		length := decimal(rest[:max(digits, 0)])
		if length < int64(digits+3) || length > int64(len(rest)) || rest[length-1] != '\n' {
			return "broken pax records"
		}
		keyword, value, ok := bytes.Cut(rest[digits+1:length-1], []byte("="))
		if !ok || len(keyword) == 0 {
			return "broken pax records"
		}
		rest = rest[length:]
		switch word := string(keyword); {
		case kind == 'g' && (word == "path" || word == "size" || strings.HasPrefix(word, "GNU.sparse.")):
			return "a pax header for all members has their " + word
		case word == "path":
			own.name, own.named = strings.TrimRight(string(value), "/"), true
		case word == "GNU.sparse.name":
			own.name, own.named, own.sparse = string(value), true, true
		case strings.HasPrefix(word, "GNU.sparse."):
			own.sparse = true
		case word == "size":
			if own.size, own.sized = decimal(value), true; own.size < 0 {
				return "a pax record's size is no number"
			}
		}
	}
	if size < len(text) && text[size] >= '0' && text[size] <= '9' {
		return "something stands behind the pax records"
	}
	if own.sparse && own.sized {
		return "a sparse member with two sizes"
	}
	if l.sparse = l.sparse || own.sparse; own.named && !l.named {
		l.name, l.named = own.name, true
	}
	if own.sized && !l.sized {
		l.size, l.sized = own.size, true
	}
	return ""
}

// decimal is a whole number, or -1.
func decimal(text []byte) int64 {
	n := int64(0)
	for _, c := range text {
		if c < '0' || c > '9' || n > math.MaxInt64/10-1 {
			return -1
		}
		n = 10*n + int64(c-'0')
	}
	if len(text) == 0 {
		return -1
	}
	return n
}

const noNumber = math.MinInt64

// tarNumber is a field's number: octal digits, or bytes behind 0x80 or 0xff. Python's int would take "0o7" and "1_0" too.
func tarNumber(field []byte) int64 {
	if first := field[0]; first == 0x80 || first == 0xff {
		n := -int64(first & 1)
		for _, b := range field[1:] {
			if n > math.MaxInt64>>8 || n < math.MinInt64>>8 {
				if n < 0 {
					return math.MinInt64 + 1
				}
				return math.MaxInt64
			}
			n = n<<8 | int64(b)
		}
		return n
	}
	switch {
	case len(field) == 8 && field[6] == 0: // a checksum of 6 digits
		if n := octal(binary.LittleEndian.Uint64(field)<<16 | '0'<<8 | '0'); n != noNumber {
			return n
		}
	case len(field) == 12 && field[11] == 0: // 11 digits, of which 5 are in both words
		high, low := octal(binary.LittleEndian.Uint64(field)), octal(binary.LittleEndian.Uint64(field[3:]))
		if high != noNumber && low != noNumber {
			return high>>15<<24 | low
		}
	}
	at := spaces(field, 0)
	signed := at < len(field) && (field[at] == '-' || field[at] == '+')
	minus := signed && field[at] == '-'
	if signed {
		at++
	}
	n, from := int64(0), at
	for ; at < len(field) && field[at]&^7 == '0'; at++ {
		n = n<<3 | int64(field[at]-'0')
	}
	if at == from && signed {
		return noNumber
	}
	if at = spaces(field, at); at < len(field) && field[at] != 0 {
		return noNumber
	}
	if minus {
		return -n
	}
	return n
}

// octal is the number of 8 octal digits, the first in the lowest byte: neighbours become one, three times.
func octal(digits uint64) int64 {
	if digits ^= 0x3030303030303030; digits&^0x0707070707070707 != 0 {
		return noNumber
	}
	digits = (digits<<3 | digits>>8) & 0x00ff00ff00ff00ff
	digits = (digits<<6 | digits>>16) & 0x0000ffff0000ffff
	return int64((digits<<12 | digits>>32) & 0xffffff)
}

// spaces is where the next byte stands that is none, as Python's strip knows them. bytes.Trim took a third of a header's time.
func spaces(field []byte, at int) int {
	for at < len(field) && (field[at] == ' ' || field[at]-'\t' < 5 || field[at]-0x1c < 4) {
		at++
	}
	return at
}

func cString(field []byte) []byte {
	if end := bytes.IndexByte(field, 0); end >= 0 {
		return field[:end]
	}
	return field
}

func blocksOf(bytes int64) int64 {
	if bytes > math.MaxInt64-tarBlock {
		return math.MaxInt64 &^ (tarBlock - 1)
	}
	return (bytes + tarBlock - 1) &^ (tarBlock - 1)
}

// sumOf is the sum of bytes, 8 times some.
func sumOf(bytes []byte) int64 {
	const even = 0x00ff00ff00ff00ff
	lanes := uint64(0) // four sums of 16 bits: 128 bytes of 255 fit into each
	for ; len(bytes) >= 8; bytes = bytes[8:] {
		eight := binary.LittleEndian.Uint64(bytes)
		lanes += eight&even + eight>>8&even
	}
	return int64(lanes&0xffff + lanes>>16&0xffff + lanes>>32&0xffff + lanes>>48)
}

// signedSum is the sum of a header's bytes as old writers take it, for whom 0x80 and more are below zero.
func signedSum(head []byte) int64 {
	sum := int64(8 * ' ')
	for i, b := range head {
		if i < 148 || i >= 156 {
			sum += int64(int8(b))
		}
	}
	return sum
}
