// Package webp decodes WebP files in C to RGBX pixels with a libwebp
// that is found at run time, exactly as Pillow shows them after
// convert("RGB"): the first frame on its canvas, alpha dropped, and with
// Pillow's verdict on damaged files.
//
//	library.c   finds libwebpdemux and libwebp, tries them, and keeps forks out of them
//	decode.c    the header's size, the first frame
package webp
