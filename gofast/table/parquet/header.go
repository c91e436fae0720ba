package parquet

import "math"

// pageKind is a page's type, by the format's numbers.
type pageKind int32

const (
	dataPage pageKind = iota
	indexPage
	dictionaryPage
	dataPageV2
)

// encoding is how values or levels are written, by the format's numbers.
type encoding int32

const (
	encPlain             encoding = 0
	encPlainDictionary   encoding = 2
	encRuns              encoding = 3
	encBitPacked         encoding = 4
	encDelta             encoding = 5
	encDeltaLengths      encoding = 6
	encDeltaStrings      encoding = 7
	encRunsDictionary    encoding = 8
	encByteStreamSplit   encoding = 9
	encodingNotThere     encoding = -1
	maxPageHeaderInBytes          = 16 << 20 // statistics may hold long strings
)

// dictionary says that the values are indexes into the chunk's dictionary.
func (e encoding) dictionary() bool { return e == encPlainDictionary || e == encRunsDictionary }

// pageHeader is what gofast reads of a page's header.
type pageHeader struct {
	kind                     pageKind
	uncompressed, compressed int32
	crc                      uint32
	hasCRC                   bool
	values                   int32
	encoding, repEnc, defEnc encoding

	// Version 2 only.
	nulls, rows    int32
	repLen, defLen int32
	stored         bool // the values are not compressed
	complete       bool // the part for its kind was there
}

// parsePageHeader reads the header at the start of b and returns its length.
func parsePageHeader(b []byte) (h pageHeader, length int, err error) {
	t := &thrift{b: b}
	h = pageHeader{kind: -1, uncompressed: -1, compressed: -1, values: -1, encoding: encodingNotThere,
		repEnc: encRuns, defEnc: encRuns}
	t.fields(func(id int16, kind byte) {
		switch id {
		case 1:
			h.kind = pageKind(t.i32(kind))
		case 2:
			h.uncompressed = t.i32(kind)
		case 3:
			h.compressed = t.i32(kind)
		case 4:
			h.crc, h.hasCRC = uint32(t.i32(kind)), true
		case 5:
			h.parseData(t, kind)
		case 7:
			h.parseDictionary(t, kind)
		case 8:
			h.parseDataV2(t, kind)
		default:
			t.skip(kind)
		}
	})
	return h, t.at, t.err
}

func (h *pageHeader) parseData(t *thrift, kind byte) {
	h.complete = h.complete || h.kind == dataPage
	t.structure(kind, func(id int16, kind byte) {
		switch id {
		case 1:
			h.values = t.i32(kind)
		case 2:
			h.encoding = encoding(t.i32(kind))
		case 3:
			h.defEnc = encoding(t.i32(kind))
		case 4:
			h.repEnc = encoding(t.i32(kind))
		default:
			t.skip(kind)
		}
	})
}

func (h *pageHeader) parseDictionary(t *thrift, kind byte) {
	h.complete = h.complete || h.kind == dictionaryPage
	t.structure(kind, func(id int16, kind byte) {
		switch id {
		case 1:
			h.values = t.i32(kind)
		case 2:
			h.encoding = encoding(t.i32(kind))
		default:
			t.skip(kind)
		}
	})
}

func (h *pageHeader) parseDataV2(t *thrift, kind byte) {
	h.complete = h.complete || h.kind == dataPageV2
	h.nulls, h.rows, h.defLen, h.repLen = -1, -1, -1, -1
	t.structure(kind, func(id int16, kind byte) {
		switch id {
		case 1:
			h.values = t.i32(kind)
		case 2:
			h.nulls = t.i32(kind)
		case 3:
			h.rows = t.i32(kind)
		case 4:
			h.encoding = encoding(t.i32(kind))
		case 5:
			h.defLen = t.i32(kind)
		case 6:
			h.repLen = t.i32(kind)
		case 7:
			h.stored = !t.bool(kind)
		default:
			t.skip(kind)
		}
	})
}

// check holds the header's sizes against what is left of the chunk and against
// what so many values can need at most, before memory is taken for them.
func (h *pageHeader) check(c *column, bytesLeft, valuesLeft, pageLimit int64) error {
	switch {
	case h.compressed < 0 || int64(h.compressed) > bytesLeft:
		return damaged("a page of %d bytes, %d are left of the chunk", h.compressed, bytesLeft)
	case h.uncompressed < 0:
		return damaged("a page of %d bytes when decompressed", h.uncompressed)
	case int64(h.uncompressed) > pageLimit:
		return tooLarge(int64(h.uncompressed), pageLimit)
	case h.kind == indexPage:
		return nil
	case h.kind != dataPage && h.kind != dataPageV2 && h.kind != dictionaryPage:
		return unsupported("a page of kind %d", h.kind)
	case !h.complete || h.values < 0:
		return damaged("an incomplete page header")
	}
	if h.kind != dictionaryPage && int64(h.values) > valuesLeft {
		return damaged("a page claims %d values, %d are left of the chunk", h.values, valuesLeft)
	}
	if h.kind == dataPageV2 {
		if h.nulls < 0 || h.nulls > h.values || h.rows < 0 || h.rows > h.values || h.defLen < 0 || h.repLen < 0 ||
			int64(h.defLen)+int64(h.repLen) > int64(min(h.uncompressed, h.compressed)) {
			return damaged("a page header whose counts contradict each other")
		}
	}
	if most := mostBytes(c, int64(h.values)); int64(h.uncompressed) > most {
		return damaged("a page of %d bytes for %d values, %d can be needed", h.uncompressed, h.values, most)
	}
	return nil
}

// mostBytes is the largest page that so many values of a fixed-width column can
// need: twice the plain values (delta blocks are padded), a run header with its
// value for each level and index, and a start.
func mostBytes(c *column, values int64) int64 {
	width := int64(c.length)
	switch {
	case c.physical == byteArray:
		return math.MaxInt64 // bounded by Limits.Page
	case c.physical != fixedByteArray:
		width = int64(c.physical.size())
	}
	return 64<<10 + values*(2*width+24)
}
