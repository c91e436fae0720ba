// WebP files as pictures of RGBX pixels, exactly as Pillow's Image.open(f).convert("RGB") shows them: the first frame on
// its canvas, without alpha, and with Pillow's verdict on damaged files. libwebp is found at run time. It is plain C.
// Engine threads and forked workers use it, each with its own state.
#ifndef GOFAST_WEBP_H
#define GOFAST_WEBP_H

#include <stddef.h>
#include <stdint.h>

#include "../picture/picture.h"

// Readable bytes behind the last row of a picture.
enum { GF_WEBP_SLACK = 64 };

// The state of one thread. Its buffer grows to the largest picture and stays.
typedef struct gf_webp gf_webp;

// Finds libwebpdemux and the libwebp that it needs, once for the process and before any fork. It tries only
// $GOFAST_LIBWEBP if that is set; else path (may be NULL), then the system's libwebpdemux.so.2. Returns 1 if it found
// them. Else it returns 0 and writes the reason to why (size bytes, may be NULL), and every decode answers
// GF_FAULT_UNSUPPORTED. Once they are found, later calls change nothing.
int gf_libwebp_load(const char *path, char *why, size_t size);

// NULL when memory is short.
gf_webp *gf_webp_new(void);

void gf_webp_free(gf_webp *);

// The bytes that the state keeps for the next picture.
size_t gf_webp_held(const gf_webp *);

// The size that the header claims. Looks at the first 30 bytes at most, allocates nothing and needs no library. 0, or a
// fault's code.
int gf_webp_size(const uint8_t *data, size_t n, int32_t *width, int32_t *height);

// Decodes a whole file. out points into the state: valid until its next decode. max_pixels is the most that width x
// height may be. 0, or the code of fault.
int gf_webp_decode(gf_webp *, const uint8_t *data, size_t n, int64_t max_pixels, gf_picture *out, gf_fault *fault);

#endif
