#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../gofast/image/jpeg/jpeg.h"
#include "bare.h"
#include "threads.h"

typedef struct {
    const char *const *paths;
    const int32_t *regions;
} decoding;

typedef struct {
    uint8_t *data;
    int64_t size, room;
} bytes;

static int read_file(const char *path, bytes *b) {
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &about)) return 0;
    if (about.st_size + 64 > b->room) {
        free(b->data);
        b->room = 2 * (about.st_size + 64);
        b->data = malloc((size_t)b->room);
    }
    b->size = b->data ? pread(fd, b->data, (size_t)about.st_size, 0) : -1;
    close(fd);
    return b->size == about.st_size;
}

// As the pipeline takes the rows: a few at a time, in a buffer that stays in the cache.
static int decode_file(void *state, const bytes *file, const int32_t *region) {
    const gf_picture_format *f = &gf_jpeg_format;
    gf_fault fault;
    gf_picture picture;
    if (f->begin(state, file->data, (size_t)file->size, INT32_MAX, &picture, &fault)) return 0;
    gf_box box = {.width = picture.width, .height = picture.height};
    if (region) box = (gf_box){.x = region[0], .y = region[1], .width = region[2], .height = region[3]};
    if (f->start(state, box, &fault)) return 0;
    for (int32_t y = 0; y < box.height; y += GF_FORMAT_ROWS) {
        int64_t stride;
        int32_t left = box.height - y;
        if (!f->rows(state, left < GF_FORMAT_ROWS ? left : GF_FORMAT_ROWS, &stride, &fault)) return 0;
    }
    return f->end(state, &fault) == 0;
}

static void *decode(void *argument) {
    bare_jobs *jobs = argument;
    const decoding *d = jobs->what;
    void *state = gf_jpeg_format.make();
    bytes file = {0};
    for (int64_t i; (i = atomic_fetch_add(&jobs->next, 1)) < jobs->n;)
        if (!state || !read_file(d->paths[i], &file) || !decode_file(state, &file, d->regions ? d->regions + 4 * i : NULL))
            atomic_fetch_add(&jobs->failed, 1);
    free(file.data);
    gf_jpeg_format.free(state);
    return NULL;
}

int64_t bare_decode(const char *libjpeg, const char *const *paths, const int32_t *regions, int64_t n, int threads) {
    if (!gf_jpeg_format.load(libjpeg, NULL, 0)) return -1;
    decoding d = {paths, regions};
    bare_jobs jobs = {.n = n, .work = decode, .what = &d};
    return bare_run(&jobs, threads);
}
