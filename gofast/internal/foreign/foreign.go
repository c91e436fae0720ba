// Package foreign recognises formats that gofast does not read. An error can then
// name the format and say what to do, instead of calling the file a damaged table.
package foreign

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gofast-org/gofast/gofast/internal/crc"
)

// Head is the number of bytes at a file's beginning that Advice looks at.
const Head = 512

// Advice for a file. {} stands for the call that reads it.
const (
	byPandas  = "convert it: {}.to_parquet(\"table.parquet\")"
	trusted   = byPandas + ", of a file that you trust: a pickle can run any code"
	byArrays  = "read it with {}, and give gofast.ArrayDataset the arrays"
	asRecords = "records are for gofast.TFRecordDataset, pictures in them for its images()"
	asPicture = "pictures are for gofast.ImageFolder and gofast.ImageFiles"
	unpack    = "unpack it with {}; gzip, zstd and bzip2 are read as they are"
)

// format is a format that is recognised by its first bytes.
type format struct {
	magic, name, what, call string
}

var formats = []format{
	{"PARE", "encrypted Parquet", "write it again without encryption", ""},
	{"FEA1", "a Feather file of version 1", byPandas, "pandas.read_feather(path)"},
	{"\x89HDF\r\n", "HDF5", "open it with gofast.ArrayDataset.from_hdf5(path, features, labels), by the names that {} has", "h5py.File(path)"},
	{"MATLAB 5.0", "a MATLAB file", byArrays, "scipy.io.loadmat(path)"},
	{"CDF\x01", "NetCDF", byArrays, "xarray.open_dataset(path)"},
	{"CDF\x02", "NetCDF", byArrays, "xarray.open_dataset(path)"},
	{"Obj\x01", "Avro", "convert it: {}.write_parquet(\"table.parquet\")", "polars.read_avro(path)"},
	{"SQLite format 3\x00", "an SQLite database", byPandas, "pandas.read_sql(query, connection)"},
	{"\xd0\xcf\x11\xe0", "an old Excel sheet", byPandas, "pandas.read_excel(path)"},
	{"<stata_dta>", "a Stata file", byPandas, "pandas.read_stata(path)"},
	{"$FL2", "an SPSS file", byPandas, "pandas.read_spss(path)"},
	{"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19", "a PyTorch file", byArrays, "torch.load(path)"},
	{"version https://git-lfs", "a pointer of Git LFS, not the file itself", "fetch it with {}", "git lfs pull"},
	{"%PDF-", "a PDF document", "save its table as CSV", ""},
	{"\xff\xd8\xff", "a JPEG picture", asPicture, ""},
	{"\x89PNG\r\n", "a PNG picture", asPicture, ""},
	{"\xfd7zXZ\x00", "packed with xz", unpack, "xz -d"},
	{"\x5d\x00\x00\x80\x00", "packed with lzma", unpack, "xz -d"},
	{"\x5d\x00\x00\x00\x04", "packed with lzma", unpack, "xz -d"},
	{"\x04\x22\x4d\x18", "packed with lz4", unpack, "lz4 -d"},
	{"\xff\x06\x00\x00sNaPpY", "packed with snappy", unpack, "snzip -d"},
	{"\x1f\x9d", "packed with compress", unpack, "gzip -d"},
	{"7z\xbc\xaf\x27\x1c", "a 7z archive", unpack, "7z x"},
	{"Rar!", "a RAR archive", unpack, "unrar x"},
}

// Advice names the format of a file that begins with head and says what to do with
// it; "" if the format is not known, since the file may be text.
func Advice(head []byte) string {
	head = head[:min(len(head), Head)]
	for _, f := range formats {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return f.advice()
		}
	}
	for _, look := range []func([]byte) (format, bool){pickle, markup, json, encoded, others} {
		if f, ok := look(head); ok {
			return f.advice()
		}
	}
	return ""
}

func (f format) advice() string {
	return "this is " + f.name + ", which gofast does not read: " + strings.ReplaceAll(f.what, "{}", f.call)
}

// pickle recognises all protocols: 2 and later begin with their number, 0 and 1 with
// the first object.
func pickle(head []byte) (format, bool) {
	found := len(head) > 1 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5
	for _, start := range []string{"ccopy_reg\n", "ccopyreg\n", "cpandas.", "cnumpy\n", "cnumpy.", "c__builtin__\n", "c__main__\n",
		"(dp0\n", "(lp0\n", "(dp1\n", "(lp1\n", "}q\x00", "]q\x00"} {
		found = found || bytes.HasPrefix(head, []byte(start))
	}
	return format{"", "a pickle", trusted, "pandas.read_pickle(path)"}, found
}

// markup recognises HTML, which may come from a failed download, and XML. A table's
// header may begin with "<DATE>", so "<" alone is not enough.
func markup(head []byte) (format, bool) {
	text := bytes.ToLower(bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n"))
	starts := func(tags ...string) bool {
		for _, tag := range tags {
			if bytes.HasPrefix(text, []byte(tag)) {
				return true
			}
		}
		return false
	}
	switch {
	case starts("<!doctype", "<html", "<head", "<body", "<table"):
		return format{"", "an HTML page", byPandas, "pandas.read_html(path)[0]"}, true
	case starts("<?xml"):
		return format{"", "XML", byPandas, "pandas.read_xml(path)"}, true
	}
	return format{}, false
}

// json recognises an object, and an array of anything but words: a header in brackets,
// [id],[name], is not JSON.
func json(head []byte) (format, bool) {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(text) < 2 {
		return format{}, false
	}
	inside := bytes.TrimLeft(text[1:], " \t\r\n")
	first := byte(0)
	if len(inside) > 0 {
		first = inside[0]
	}
	switch {
	case text[0] == '{' && (first == '"' || first == '}'):
		call := "pandas.read_json(path)"
		if line, rest, cut := bytes.Cut(text, []byte("\n")); cut && bytes.HasSuffix(bytes.TrimRight(line, "\r "), []byte("}")) &&
			(len(rest) == 0 || rest[0] == '{') {
			call = "pandas.read_json(path, lines=True)"
		}
		return format{"", "JSON", byPandas, call}, true
	case text[0] == '[' && (first == '{' || first == '[' || first == '"' || first == '-' || first-'0' <= 9):
		return format{"", "JSON", byPandas, "pandas.read_json(path)"}, true
	}
	return format{}, false
}

// encoded recognises text that is not UTF-8. It has a byte order mark, or every second
// or fourth byte of plain letters is NUL.
func encoded(head []byte) (format, bool) {
	named := func(name string) (format, bool) {
		return format{"", name + " text", "save it as UTF-8, for example with {}", "iconv -f " + name + " -t UTF-8"}, true
	}
	nul := func(step, at, letter int) bool {
		if len(head) < 4*step {
			return false
		}
		for i, c := range head {
			switch {
			case i%step == at && c != 0, i%step == letter && (c < '\t' || c > '~'):
				return false
			}
		}
		return true
	}
	head = head[:len(head)&^3]
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe\x00\x00")), bytes.HasPrefix(head, []byte("\x00\x00\xfe\xff")):
		return named("UTF-32")
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return named("UTF-16")
	case nul(4, 2, 0):
		return named("UTF-32LE")
	case nul(2, 1, 0):
		return named("UTF-16LE")
	case nul(2, 0, 1):
		return named("UTF-16BE")
	}
	return format{}, false
}

// others recognises formats by bytes further inside.
func others(head []byte) (format, bool) {
	at := func(offset int, text string) bool {
		return len(head) >= offset+len(text) && string(head[offset:offset+len(text)]) == text
	}
	// The header of a text table may begin with these letters too.
	isBinary := bytes.IndexFunc(head, func(c rune) bool { return c < '\t' || c == utf8.RuneError }) >= 0
	switch {
	case at(0, "ORC") && isBinary:
		return format{"", "ORC", byPandas, "pandas.read_orc(path)"}, true
	case at(0, "GIF8") && isBinary:
		return format{"", "a GIF picture", asPicture, ""}, true
	case at(0, "RIFF") && at(8, "WEBP"):
		return format{"", "a WebP picture", asPicture, ""}, true
	case at(257, "ustar"):
		return format{"", "a tar archive", unpack, "tar -x"}, true
	case len(head) >= 12 && crc.Masked(head[:8]) == binary.LittleEndian.Uint32(head[8:]):
		return format{"", "a TFRecord file", asRecords, ""}, true
	case at(8, "{\""):
		return format{"", "a safetensors file", byArrays, "safetensors.numpy.load_file(path)"}, true
	}
	return format{}, false
}

// ZipAdvice says what a zip archive of these members is; "" if it is not known.
func ZipAdvice(members []string) string {
	for _, name := range members {
		switch {
		case strings.HasPrefix(name, "xl/"):
			return format{"", "an Excel sheet", byPandas, "pandas.read_excel(path)"}.advice()
		case name == "mimetype":
			return format{"", "an OpenDocument file", byPandas, "pandas.read_excel(path)"}.advice()
		case name == "data.pkl", strings.HasSuffix(name, "/data.pkl"):
			return format{"", "a PyTorch file", byArrays, "torch.load(path)"}.advice()
		}
	}
	for _, name := range members {
		if !strings.HasSuffix(name, ".npy") {
			return format{"", "a zip archive with more than arrays, such as " + strconv.Quote(name[:min(len(name), 80)]), unpack, "unzip"}.advice()
		}
	}
	return ""
}
