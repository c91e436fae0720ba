// A plan's steps on one picture.
#ifndef GOFAST_RUN_H
#define GOFAST_RUN_H

#include "formats.h"
#include "render.h"
#include "steps/recorded.h"

// A thread's memory for whatever a plan needs.
typedef struct {
    gf_decoders decoders;
    gf_bytes file;
    gf_renderer renderer;
    gf_bytes planes[2]; // a picture between two steps
    gf_bytes joined;    // one that goes through another resize
    gf_bytes record;    // what is kept
} gf_image_worker;

// Where a record is made: a picture of any size, as a binary PPM or PGM file.
typedef struct {
    gf_bytes *memory;
    size_t before; // bytes to leave free before it
    size_t size;   // it has
    int32_t info;  // GF_INFO_..., several
} gf_record_room;

// This thread's; NULL when memory is short. It goes when the thread ends.
gf_image_worker *gf_image_worker_here(void);

// Gives memory back that is more than usual pictures need. Without this one enormous picture, or a file that claims to be
// one, would cost each thread gigabytes for as long as it lives.
void gf_image_worker_tidy(gf_image_worker *);

// Makes a sample of an open source and ends it. x is the sample's memory, record what was drawn for it. The n recorded
// operations come before the program's steps. size is that of a tensor; 0 x 0: the program's.
int32_t gf_image_run(gf_image_worker *, const gf_image_program *, gf_opened *, const gf_recorded *, int64_t n, gf_size size, const int32_t *record,
                     uint8_t *x, gf_fault *);

// Reads a sample's file, or its record, and makes the sample.
int32_t gf_image_make(gf_image_worker *, const gf_image_program *, int64_t sample, const int32_t *record, uint8_t *x, gf_fault *);

// The same of a picture that lies in memory as pixels.
int32_t gf_image_run_stored(gf_image_worker *, const gf_image_program *, int64_t sample, const int32_t *record, uint8_t *x, gf_fault *);

#endif
