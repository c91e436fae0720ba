package jpeg

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"testing"

	"github.com/gofast-org/gofast/gofast/image/picture"
	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// segment is a marker with its bytes.
func segment(marker byte, body ...byte) []byte {
	out := binary.BigEndian.AppendUint16([]byte{0xff, marker}, uint16(len(body)+2))
	return append(out, body...)
}

// with puts segments behind the start of an image.
func with(file []byte, segments ...[]byte) []byte {
	return append(append(bytes.Clone(file[:2]), bytes.Join(segments, nil)...), file[2:]...)
}

// exif is the shortest Exif segment with one entry in its directory.
func exif(tag, kind uint16, count uint32) []byte {
	b := []byte("Exif\x00\x00II*\x00\x08\x00\x00\x00\x01\x00")
	b = binary.LittleEndian.AppendUint16(b, tag)
	b = binary.LittleEndian.AppendUint16(b, kind)
	b = binary.LittleEndian.AppendUint32(b, count)
	return segment(0xe1, append(b, 0, 0, 0, 0, 0, 0, 0, 0)...)
}

// Pillow looks into segments that have nothing to do with pixels, and raises at
// some of them: each verdict here was taken from Pillow 13.0.0.
func TestHeadersAreJudgedAsPillowDoes(t *testing.T) {
	good := photo(t, 16, 16, false)
	resource := func(code string, more ...byte) []byte {
		return segment(0xed, append([]byte("Photoshop 3.0\x008BIM"+code), more...)...)
	}
	for name, c := range map[string]struct {
		segments []byte
		kind     error // nil: the picture is there
	}{
		"comment":               {segment(0xfe, 'h', 'i'), nil},
		"comment of length 0":   {[]byte{0xff, 0xfe, 0, 0}, nil},
		"junk and padding":      {[]byte{0xff, 0xd3, 1, 2, 3, 0xff, 0, 0xff, 0xff, 0xff, 0xfe, 0, 2}, nil},
		"restart marker":        {[]byte{0xff, 0xd3}, nil},
		"end of image":          {[]byte{0xff, 0xd9}, nil}, // Pillow opens it, and fails to load it
		"marker below C0":       {[]byte{0xff, 0x02}, errs.ErrDamaged},
		"short JFIF":            {segment(0xe0, []byte("JFIF\x00\x01")...), errs.ErrDamaged},
		"JFIF of 7":             {segment(0xe0, []byte("JFIF\x00\x01\x01")...), nil},
		"short Adobe":           {segment(0xee, []byte("Adobe\x00")...), errs.ErrDamaged},
		"Adobe of 7":            {segment(0xee, []byte("Adobe\x00\x64")...), nil},
		"several pictures":      {segment(0xe2, []byte("MPF\x00II*\x00")...), errs.ErrUnsupported},
		"short profile":         {segment(0xe2, []byte("ICC_PROFILE\x00\x01")...), errs.ErrUnsupported},
		"profile":               {segment(0xe2, []byte("ICC_PROFILE\x00\x01\x01abc")...), nil},
		"short table":           {segment(0xdb, make([]byte, 64)...), errs.ErrDamaged},
		"resource without name": {resource("\x03\xed"), errs.ErrDamaged},
		"resource cut in code":  {resource("\x03"), nil},
		"resource":              {resource("\x04\x04", 0, 0, 0, 0, 0, 2, 7, 7), nil},
		"two resources, bad":    {resource("\x04\x04", 0, 0, 0, 0, 0, 2, 7, 7, '8', 'B', 'I', 'M', 1, 1), errs.ErrDamaged},
		"resource too long":     {resource("\x04\x04", 0, 0, 0, 0, 0, 9, 7, 7, '8', 'B', 'I', 'M', 1, 1), nil},
		"Exif, orientation":     {exif(0x0112, 3, 1), nil},
		"Exif, one resolution":  {exif(0x011a, 5, 1), nil},
		"Exif, two resolutions": {exif(0x011a, 5, 2), errs.ErrUnsupported},
		"Exif, odd unit":        {exif(0x0128, 2, 1), errs.ErrUnsupported},
		"Exif, cut":             {segment(0xe1, []byte("Exif\x00\x00II*\x00\x08\x00\x00\x00\x09\x00\x1a\x01")...), nil},
		"Exif, other order":     {segment(0xe1, []byte("Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x1a\x00\x02\x00\x00\x00\x01abcd")...), errs.ErrUnsupported},
		"Exif, resolution known": {append(segment(0xe0, []byte("JFIF\x00\x01\x01\x01\x00\x48\x00\x48\x00\x00")...),
			exif(0x011a, 5, 2)...), nil},
	} {
		size, err := sizeOf(with(good, c.segments))
		if !errors.Is(err, c.kind) || err == nil && size != image.Pt(16, 16) {
			t.Errorf("%s: size %v, error %v", name, size, err)
		}
	}
}

// A prefix never gives another verdict than the whole file, only none yet.
func TestPrefixesAgree(t *testing.T) {
	good := with(photo(t, 16, 16, false), exif(0x0112, 3, 1), segment(0xe2, bytes.Repeat([]byte{1}, 5000)...))
	header := bytes.Index(good, []byte{0xff, 0xda}) + 14
	for at := 2; at < header; at += 3 {
		if at == 101 {
			at += 4800 // within the long segment nothing matters
		}
		file := bytes.Clone(good)
		file[at] ^= 0xff
		want, wantErr := sizeOf(file)
		for n := 0; n <= len(file); n += 37 {
			got, err := Format.Size(file[:n], len(file))
			var more *picture.NeedMore
			if errors.As(err, &more) {
				if more.Bytes <= int64(n) || more.Bytes > int64(len(file)) {
					t.Fatalf("byte %d changed, prefix %d: %d bytes are asked for", at, n, more.Bytes)
				}
				continue
			}
			if got != want || (err == nil) != (wantErr == nil) {
				t.Fatalf("byte %d changed, prefix %d: %v, %v; the whole file: %v, %v", at, n, got, err, want, wantErr)
			}
		}
	}
}
