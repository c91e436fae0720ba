// Package png decodes PNG files in C to RGBX pixels, exactly as Pillow
// shows them after convert("RGB"), and with Pillow's verdict on damaged ones:
// which checksums count, which truncations are forgiven, what comes after the
// image data. Whatever it is not sure of is ErrUnsupported, and Pillow's to
// decode.
//
//	header.c    the header of a plain file, by itself
//	chunks.c    the chunks before and after the image data, as PngImagePlugin.py reads them
//	libz.c      finds zlib at run time; nothing is linked
//	decode.c    the state, Adam7; internal/inflate inflates correct streams, zlib the rest
//	unfilter.c  PNG's four filters
//	expand.c    samples of all depths and colour types to pixels
package png
