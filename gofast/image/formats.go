package image

/*
#include "formats.h"

// A format is one folder, and here its name twice and its import.
extern const gf_picture_format gf_jpeg_format, gf_png_format, gf_webp_format, gf_pnm_format;
const gf_picture_format *const gf_formats[GF_MOST_FORMATS] = {&gf_jpeg_format, &gf_png_format, &gf_webp_format, &gf_pnm_format};
*/
import "C"

import (
	"unsafe"

	_ "github.com/gofast-org/gofast/gofast/image/jpeg"
	"github.com/gofast-org/gofast/gofast/image/picture"
	_ "github.com/gofast-org/gofast/gofast/image/png"
	_ "github.com/gofast-org/gofast/gofast/image/pnm"
	_ "github.com/gofast-org/gofast/gofast/image/webp"
)

// Formats are the pictures that are decoded here. The others are Pillow's.
func Formats() (formats []picture.Format) {
	for _, format := range C.gf_formats {
		if format != nil {
			formats = append(formats, picture.FormatAt(unsafe.Pointer(format)))
		}
	}
	return formats
}

// LoadFormats finds the libraries that decode pictures, once for the process: in
// one of the folders, or else the system's. The errors are those of the formats
// without, by their names.
func LoadFormats(folders []string) map[string]error {
	missing := map[string]error{}
	for _, format := range Formats() {
		if err := format.LoadFrom(folders); err != nil {
			missing[format.Name()] = err
		}
	}
	return missing
}
