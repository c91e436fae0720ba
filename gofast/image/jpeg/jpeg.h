// JPEG files as rows of RGBX pixels, exactly as Pillow's Image.open(f).convert("RGB") shows them, and with Pillow's
// verdict on damaged files. libjpeg-turbo is found at run time; where it lets us, its slowest part is exchanged for
// ours (exchange.c). Plain C, no lock and no global state but the library's functions: engine threads and forked workers
// use it alike, each with a state of its own.
//
//     gf_jpeg_begin(j, file, size, limit, &width, &height, &fault)
//     gf_jpeg_start(j, region, &fault)
//     gf_jpeg_view(j, 4, &stride, &fault) ...     or gf_jpeg_rows: until the region's rows are there
//     gf_jpeg_end(j, &fault)                      the verdict: rows of a file that fails here count for nothing
#ifndef GOFAST_JPEG_H
#define GOFAST_JPEG_H

#include <stddef.h>
#include <stdint.h>

#include "../picture/picture.h"

enum {
    GF_JPEG_VIEW = 4,   // the most rows of one view
    GF_JPEG_SLACK = 64, // readable bytes behind a view's last pixel
    GF_JPEG_MORE = -1,  // gf_jpeg_size needs more of the file
};

// What one thread decodes with: the library's structure and a row buffer, which grows to the widest picture and stays.
typedef struct gf_jpeg gf_jpeg;

// Finds libjpeg-turbo, once for the process and before any fork: $GOFAST_LIBJPEG and nothing else where that is set,
// else path (may be NULL), else the system's libjpeg.so.62. 1 when it is there; else 0, why says why (of size bytes, may
// be NULL), and every begin answers GF_FAULT_UNSUPPORTED. Once found, it stays: later calls change nothing.
int gf_libjpeg_load(const char *path, char *why, size_t size);

// Its version and path, such as "libjpeg-turbo version 3.2.0 (build 20261016), /usr/lib/libjpeg.so.62"; "" before it is found.
const char *gf_libjpeg_version(void);

// Whether it lets our decoder of Huffman codes take the place of its own, which is a third of the time (exchange.c).
int gf_libjpeg_exchanged(void);

// Its path; "" before it is found.
const char *gf_libjpeg_path(void);

// NULL when memory is short.
gf_jpeg *gf_jpeg_new(void);

void gf_jpeg_free(gf_jpeg *);

// The size that the header claims, and whether Pillow opens the file as a JPEG at all. Reads markers up to the first
// scan and allocates nothing; needs no library. data are the first n bytes of a file of length bytes. 0; or
// GF_JPEG_MORE, with how many bytes are needed at least in fault->offset; or a fault's code.
int gf_jpeg_size(const uint8_t *data, size_t n, size_t length, int32_t *width, int32_t *height, gf_fault *fault);

// Reads the header of a whole file in memory, which stays where it is until the end. max_pixels is the most that width
// x height may be. 0, or the code of fault, after which there is nothing to end.
int gf_jpeg_begin(gf_jpeg *, const uint8_t *data, size_t n, int64_t max_pixels, int32_t *width, int32_t *height, gf_fault *fault);

// Chooses the part of the picture that is wanted; what is not needed for it is not computed. 0, or the code of fault.
int gf_jpeg_start(gf_jpeg *, gf_box region, gf_fault *fault);

// The region's next rows (1..GF_JPEG_VIEW, and no more than are left), *stride bytes apart: a pointer to the region's
// first column of the first one, in the state's own buffer, which stays in the first-level cache. Valid until the next
// call; the rows may be written to. NULL: see fault.
uint8_t *gf_jpeg_view(gf_jpeg *, int32_t rows, int64_t *stride, gf_fault *fault);

// The region's next rows, any number, at the caller's memory: straight from the library where the region is as wide as
// the picture. 0, or the code of fault. Rows that are aligned to 16 or 32 bytes are written past the cache: begin 8 bytes
// behind such a border, with a stride of a multiple of 64, where the rows are to be read soon.
int gf_jpeg_rows(gf_jpeg *, uint8_t *at, int64_t stride, int32_t rows, gf_fault *fault);

// Ends the picture, whether all rows of the region were taken or not, and gives the verdict: 0, or the code of fault. The rest of
// a file is decoded only where the verdict hangs on it.
int gf_jpeg_end(gf_jpeg *, gf_fault *fault);

#endif
