package inspect

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/gofast-org/gofast/gofast/image"
	"github.com/gofast-org/gofast/gofast/image/picture"
	"github.com/gofast-org/gofast/gofast/source/kept"
	"github.com/gofast-org/gofast/gofast/source/tfrecord"
	"github.com/gofast-org/gofast/gofast/table/formats"
)

// kind is what a file is taken for.
type kind uint8

const (
	otherKind kind = iota
	pictureKind
	tableKind
	cacheKind // of pictures
	tfrecordKind
	tarKind
	shardKind
	hdf5Kind
)

// format is a format of pictures.
type format struct {
	name   string
	magics []string               // ? is any byte
	sure   func(head []byte) bool // where the magic is short; nil: it is enough
}

// pictures are the formats of pictures. Those whose name is one of image.Formats are decoded here, the others by Pillow.
var pictures = []format{
	{name: "jpeg", magics: []string{"\xff\xd8\xff"}},
	{name: "png", magics: []string{"\x89PNG\r\n\x1a\n"}},
	{name: "webp", magics: []string{"RIFF????WEBP"}},
	{name: "pnm", magics: []string{"P5", "P6"}, sure: isNetpbm},
	{name: "gif", magics: []string{"GIF87a", "GIF89a"}},
	{name: "bmp", magics: []string{"BM"}, sure: isBitmap},
	{name: "tiff", magics: []string{"II*\x00", "MM\x00*", "II+\x00", "MM\x00+"}},
	{name: "avif", magics: []string{"????ftypavif", "????ftypavis"}},
	{name: "heif", magics: []string{"????ftyphei", "????ftyphev", "????ftypmif1", "????ftypmsf1"}},
	{name: "jpeg 2000", magics: []string{"\x00\x00\x00\x0cjP  ", "\xff\x4f\xff\x51"}},
	{name: "pnm, other kinds", magics: []string{"P1", "P2", "P3", "P4", "P7"}, sure: isNetpbm},
	{name: "qoi", magics: []string{"qoif"}},
	{name: "psd", magics: []string{"8BPS"}},
}

// native are the core's decoders by their names.
var native = func() map[string]picture.Format {
	found := map[string]picture.Format{}
	for _, f := range image.Formats() {
		found[f.Name()] = f
	}
	return found
}()

// pictureOf is the format of a file that begins with head; nil for none.
func pictureOf(head []byte) *format {
	for i := range pictures {
		f := &pictures[i]
		if slices.ContainsFunc(f.magics, func(magic string) bool { return begins(head, magic) }) && (f.sure == nil || f.sure(head)) {
			return f
		}
	}
	return nil
}

func begins(head []byte, magic string) bool {
	if len(head) < len(magic) {
		return false
	}
	for i := range len(magic) {
		if magic[i] != '?' && magic[i] != head[i] {
			return false
		}
	}
	return true
}

// isNetpbm: a table may begin with a column called P5, but no number behind it can be a word.
func isNetpbm(head []byte) bool {
	rest := head[2:]
	end := bytes.IndexFunc(rest, func(r rune) bool { return !strings.ContainsRune(" \t\r\n", r) })
	return end > 0 && (rest[end] == '#' || rest[end] >= '0' && rest[end] <= '9' || head[1] == '7')
}

// isBitmap: the two bytes in front of the offset of the pixels are 0, and then comes the size of a header.
func isBitmap(head []byte) bool {
	return len(head) >= 18 && binary.LittleEndian.Uint32(head[6:]) == 0 &&
		slices.Contains([]uint32{12, 16, 40, 52, 56, 64, 108, 124}, binary.LittleEndian.Uint32(head[14:]))
}

// pictureEndings are torchvision's, and GIF's.
var pictureEndings = []string{".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp", ".gif"}

// kindOf tells what a file is by its beginning, and by its name where that says nothing. A picture whose format
// is nil is none, although its name says so.
func kindOf(path string, head []byte) (kind, *format) {
	tableName := TableEnding(path)
	f := pictureOf(head)
	switch {
	case kept.Is(path, head):
		return cacheKind, nil
	case tfrecord.IsTar(head) || tarEnding.MatchString(path): // whose first member's name may look like anything
		return tarKind, nil
	case f != nil && (f.sure == nil || tableName == ""):
		return pictureKind, f
	case tableName != "", formats.Of(head) != "" && !isOtherZip(head):
		return tableKind, nil
	case isHDF5(path, head):
		return hdf5Kind, nil
	case isTFRecord(path, head):
		return tfrecordKind, nil
	case slices.Contains(pictureEndings, strings.ToLower(filepath.Ext(path))):
		return pictureKind, nil
	default:
		return otherKind, nil
	}
}

// tarEnding is how the names of tar files end, of compressed ones too.
var tarEnding = regexp.MustCompile(`(?i)\.(tar(\.(gz|zst|bz2))?|tgz|tzst|tbz2?)$`)

// isHDF5: the magic may stand behind a block of the user's. h5py says what is wrong with a file that only has the name.
func isHDF5(path string, head []byte) bool {
	for _, at := range []int{0, 512, 1024, 2048} {
		if len(head) > at && bytes.HasPrefix(head[at:], []byte("\x89HDF\r\n\x1a\n")) {
			return true
		}
	}
	return slices.Contains([]string{".h5", ".hdf5"}, strings.ToLower(filepath.Ext(path)))
}

func isTFRecord(path string, head []byte) bool {
	_, is := tfrecord.Recognize(path, head)
	return is
}

// isOtherZip: a zip file whose first member is no array.
func isOtherZip(head []byte) bool {
	const name = 30
	if !bytes.HasPrefix(head, []byte("PK")) {
		return false
	}
	if len(head) < name {
		return true
	}
	length := int(binary.LittleEndian.Uint16(head[26:]))
	return !bytes.HasSuffix(head[name:min(len(head), name+length)], []byte(".npy"))
}

// tableEndings are python/gofast/_tables/sources.py's.
var (
	tableEndings  = []string{".csv", ".tsv", ".parquet", ".pq", ".arrow", ".arrows", ".feather", ".npy", ".npz"}
	packedEndings = []string{".gz", ".zst", ".bz2", ".xz"}
)

// TableEnding is the ending of a table's file name with that of its compression, such as
// ".csv.gz", in lower case; "" of other names.
func TableEnding(path string) string {
	name := strings.ToLower(filepath.Base(path))
	table, packed := filepath.Ext(name), ""
	if slices.Contains(packedEndings, table) {
		packed = table
		table = filepath.Ext(strings.TrimSuffix(name, packed))
	}
	if !slices.Contains(tableEndings, table) {
		return ""
	}
	return table + packed
}
