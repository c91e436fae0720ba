package parquet

import (
	"math"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

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
	encPlain           encoding = 0
	encPlainDictionary encoding = 2
	encRuns            encoding = 3
	encBitPacked       encoding = 4
	encDelta           encoding = 5
	encDeltaLengths    encoding = 6
	encDeltaStrings    encoding = 7
	encRunsDictionary  encoding = 8
	encByteStreamSplit encoding = 9

	maxPageHeaderInBytes = 16 << 20 // statistics may hold long strings
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
}

// storedHeader is a page's header by the format's numbers, for parquet-go to fill.
type storedHeader struct {
	Kind         pageKind           `thrift:"1"`
	Uncompressed int32              `thrift:"2,required"`
	Compressed   int32              `thrift:"3,required"`
	CRC          thrift.Null[int32] `thrift:"4"`

	Data struct {
		Values   int32    `thrift:"1,required"`
		Encoding encoding `thrift:"2,required"`
		DefEnc   encoding `thrift:"3"`
		RepEnc   encoding `thrift:"4"`
	} `thrift:"5"`
	Dictionary struct {
		Values   int32    `thrift:"1,required"`
		Encoding encoding `thrift:"2,required"`
	} `thrift:"7"`
	DataV2 struct {
		Values     int32    `thrift:"1,required"`
		Nulls      int32    `thrift:"2,required"`
		Rows       int32    `thrift:"3,required"`
		Encoding   encoding `thrift:"4,required"`
		DefLen     int32    `thrift:"5,required"`
		RepLen     int32    `thrift:"6,required"`
		Compressed bool     `thrift:"7"`
	} `thrift:"8"`
}

// noHeader is one of which nothing is there.
var noHeader = func() (s storedHeader) {
	s.Kind, s.Data.Values, s.Dictionary.Values, s.DataV2.Values, s.DataV2.Compressed = -1, -1, -1, -1, true
	return s
}()

// parsePageHeader reads the header at the start of b and returns its length.
func (w *worker) parsePageHeader(b []byte) (h pageHeader, length int, err error) {
	if w.headers == nil {
		w.headers = newMetaReader(nil)
	}
	w.headers.reset(b)
	s := &w.header
	*s = noHeader
	if err := w.headers.structure(s, w.headers.skip); err != nil {
		return h, 0, inWords(err)
	}
	h = pageHeader{kind: s.Kind, uncompressed: s.Uncompressed, compressed: s.Compressed,
		crc: uint32(s.CRC.V), hasCRC: s.CRC.Valid}
	switch d, v2 := &s.Data, &s.DataV2; h.kind {
	case dataPage:
		h.values, h.encoding, h.defEnc, h.repEnc = d.Values, d.Encoding, d.DefEnc, d.RepEnc
	case dictionaryPage:
		h.values, h.encoding = s.Dictionary.Values, s.Dictionary.Encoding
	case dataPageV2:
		h.values, h.nulls, h.rows, h.encoding = v2.Values, v2.Nulls, v2.Rows, v2.Encoding
		h.defLen, h.repLen, h.stored = v2.DefLen, v2.RepLen, !v2.Compressed
	}
	return h, w.headers.walk.BytesRead(), nil
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
	case h.values < 0:
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
