// PNG files as pictures of RGBX pixels, exactly as Pillow's Image.open(f).convert("RGB") shows them, and with
// Pillow's verdict on damaged files. It is plain C, without a lock or global state except libz's functions. Engine
// threads and forked workers use it, each with its own state.
#ifndef GOFAST_PNG_H
#define GOFAST_PNG_H

#include <stddef.h>
#include <stdint.h>

#include "../picture/picture.h"

// Readable bytes behind the last row of a picture.
enum { GF_PNG_SLACK = 64 };

// The state of one thread. Its buffers grow to the largest picture and stay.
typedef struct gf_png gf_png;

// Finds zlib, once for the process and before any fork. It tries only $GOFAST_LIBZ if that is set; else path (may be
// NULL), then the system's libz.so.1, which Pillow's wheels use too. Returns 1 if it found zlib. Else it returns 0 and
// writes the reason to why (size bytes, may be NULL), and every decode answers GF_FAULT_UNSUPPORTED. Once zlib is found,
// later calls change nothing.
int gf_libz_load(const char *path, char *why, size_t size);

// NULL when memory is short.
gf_png *gf_png_new(void);

void gf_png_free(gf_png *);

// The bytes that the state keeps for the next picture.
size_t gf_png_held(const gf_png *);

// Chooses the kernels: 0 best for this CPU, 1 plain, and zlib for everything; for tests.
void gf_png_variant(gf_png *, int variant);

// The size that the header claims. Looks at the first 33 bytes at most and allocates nothing. 0, or a fault's code.
int gf_png_size(const uint8_t *data, size_t n, int32_t *width, int32_t *height);

// Decodes a whole file. out points into the state: valid until its next decode. max_pixels is the most that width x
// height may be. 0, or the code of fault.
int gf_png_decode(gf_png *, const uint8_t *data, size_t n, int64_t max_pixels, gf_picture *out, gf_fault *fault);

#endif
