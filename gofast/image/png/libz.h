// The part of zlib's documented interface that is used here. It is declared again, so that the build needs no zlib header.
#ifndef GOFAST_LIBZ_H
#define GOFAST_LIBZ_H

#include <stddef.h>
#include <stdint.h>

enum {
    GF_Z_OK = 0,
    GF_Z_STREAM_END = 1,
    GF_Z_DATA_ERROR = -3,
    GF_Z_MEM_ERROR = -4,
};

// zlib's z_stream.
typedef struct {
    const uint8_t *next_in;
    unsigned avail_in;
    unsigned long total_in;
    uint8_t *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *message;
    void *state, *allocate, *release, *opaque;
    int data_type;
    unsigned long adler, reserved;
} gf_zstream;

typedef struct {
    const char *version;
    int (*init)(gf_zstream *, const char *version, int size);
    int (*reset)(gf_zstream *);
    int (*inflate)(gf_zstream *, int flush);
    int (*end)(gf_zstream *);
    unsigned long (*crc32)(unsigned long, const uint8_t *, unsigned);
} gf_libz;

// gf_png_format's load.
int gf_libz_load(const char *path, char *why, size_t size);

// NULL until gf_libz_load has found it.
const gf_libz *gf_libz_get(void);

#endif
