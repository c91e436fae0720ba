// The part of libwebp's and libwebpdemux's documented interface that is used here. It is declared again, so that the
// build needs none of their headers. The layouts are those of demux ABI 1.7, which every libwebp 1.x has.
#ifndef GOFAST_LIBWEBP_H
#define GOFAST_LIBWEBP_H

#include <stddef.h>
#include <stdint.h>

enum {
    WP_DEMUX_ABI = 0x0107,
    WP_OLDEST = 0x010000,
    WP_CANVAS_WIDTH = 1,
    WP_CANVAS_HEIGHT = 2,
};

typedef struct {
    const uint8_t *bytes;
    size_t size;
} wp_data;

typedef struct wp_demuxer wp_demuxer;

typedef struct {
    int frame, frames;
    int x, y, width, height;
    int duration, dispose, complete;
    wp_data fragment;
    int has_alpha, blend;
    uint32_t pad[2];
    void *private;
} wp_iterator;

typedef struct {
    wp_demuxer *(*demux)(const wp_data *, int partial, int *state, int abi);
    uint32_t (*get)(const wp_demuxer *, int feature);
    int (*frame)(const wp_demuxer *, int number, wp_iterator *);
    void (*release)(wp_iterator *);
    void (*close)(wp_demuxer *);
    uint8_t *(*decode)(const uint8_t *data, size_t size, uint8_t *rgba, size_t rgba_size, int stride);
} wp_library;

// gf_webp_format's load: finds libwebpdemux, and the libwebp that it needs with it.
int gf_libwebp_load(const char *path, char *why, size_t size);

// NULL until gf_libwebp_load has found it.
const wp_library *wp_loaded(void);

// At every decode, libwebp reads its table of CPU functions under its own mutex. A child forked in this moment would wait
// for the mutex for ever. So a fork waits until no thread is between these two calls, and no thread enters during a fork.
void wp_enter(void);
void wp_leave(void);

#endif
