// Package pnm decodes binary PGM and PPM files of 8 bits in C to RGBX pixels. The
// others, and those with comments, are Pillow's.
package pnm
