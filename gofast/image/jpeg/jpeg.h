// JPEG files. They are decoded by libjpeg-turbo, which is found at run time. If the library allows it, our own code does
// its slowest part (exchange.c).
#ifndef GOFAST_JPEG_H
#define GOFAST_JPEG_H

#include "../picture/format.h"

extern const gf_picture_format gf_jpeg_format;

// Records of JPEGs: coefficients that need no decoding of Huffman codes. No file is one.
extern const gf_picture_format gf_coefficients_format;

// Whether the library begins to decode a file whose scan ends cleanly: then its headers are right.
int gf_jpeg_starts(void *state, const gf_sample_bytes *file, int64_t max_pixels);

// Whether a file that was begun with gf_jpeg_format, and not started, may be made a record.
int gf_jpeg_packs(const void *state);

// Makes that record in memory behind `before` bytes, from the codes that the next start and its rows decode: a decode of its
// own would read most of them twice.
void gf_jpeg_pack(void *state, gf_bytes *memory, size_t before);

// Completes the record of a picture that has ended. The file's bytes are still there. Returns 0 if the library had to decode it.
int gf_jpeg_packed(void *state, size_t *size);

// The library's version and path, such as "libjpeg-turbo version 3.2.0 (build 20261016), /usr/lib/libjpeg.so.62". It is ""
// before the library is found.
const char *gf_libjpeg_version(void);

// Whether our decoder of Huffman codes takes the place of the library's. That saves a third of the time (exchange.c).
int gf_libjpeg_exchanged(void);

// Where marks of files are kept (marks.h): in memory that begins as zeros. Processes that share it need not have it at one
// address. NULL: they are not kept.
void gf_jpeg_marks_use(void *memory, size_t size);

#endif
