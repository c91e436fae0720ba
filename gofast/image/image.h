// Files of pictures and the plan that makes samples of them. Built by Go in C memory, then only read: by the
// engine's threads, and by forked worker processes, where no Go is alive.
#ifndef GOFAST_IMAGE_H
#define GOFAST_IMAGE_H

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "picture/picture.h"
#include "pixel/pixel.h"
#include "resample/resample.h"
#include "steps/canvas.h"
#include "steps/draw.h"
#include "stored.h"
#include "../engine/view.h"
#include "../internal/meter/meter.h"
#include "../source/reader/reader.h"

// What a sample is.
enum {
    GF_IMAGE_TENSOR,  // height x width values in `channels` planes, or interleaved
    GF_IMAGE_PICTURE, // a gf_made_picture: of any size, for Python to go on with
    GF_IMAGE_PIXELS,  // height x width pixels of `channels` bytes, for Python too: lazy.h
    GF_IMAGE_RECORD,  // a gf_record_room: a record to be kept
};

// A finished picture in memory of its own, RGBX; free() it. data is NULL where there is none.
typedef struct {
    uint8_t *data;
    int32_t width, height;
    int32_t info; // GF_INFO_..., several: canvas.h
} gf_made_picture;

// Adds to the info of the one that lies at x.
static inline void gf_made_picture_add(uint8_t *x, int32_t info) {
    gf_made_picture made;
    memcpy(&made, x, sizeof made);
    made.info |= info;
    memcpy(x, &made, sizeof made);
}

// The file that facts are mapped from, to be read. They are written by system calls: on a full disk a store to a mapped page
// may be a signal, and this is an error. The descriptor may be another file's by now: daemons close all that they inherit.
typedef struct {
    int64_t fd;
    _Atomic int64_t used; // 0: it could not be written, and the facts are this process's memory since
    uint64_t device, inode;
} gf_facts_file;

typedef struct gf_image_program gf_image_program;
struct gf_image_program {
    const gf_pixel_ops *pixels;
    const gf_steps *steps;
    int32_t output; // GF_IMAGE_...
    int32_t width, height, channels; // of a tensor
    int32_t crops;           // of a tensor: so many of these one after the other, channels first; 0: it is one
    int32_t last;            // of a tensor: the shape says channels last, of one channel too
    int32_t raw;             // of a tensor: its bytes, of which somebody else makes numbers and erases some
    gf_normalise normalise;  // of a tensor
    int32_t pass_order;      // resample.h's
    int64_t max_pixels;      // more are left to Pillow, which warns or refuses
    uint64_t seed;           // of the samples' own streams
    // The samples. The reader is the program's own; its arrays, stored pictures, epoch, targets, extents and facts outlive
    // the program.
    int64_t count;
    uint32_t lasting; // 1: they are a dataset's, and come again
    gf_stored stored; // pixels in memory: then there are no reader, extents and facts
    gf_reader *reader;
    const uint64_t *epoch;  // or NULL: 0
    const int32_t *targets; // or NULL: samples have no label
    _Atomic int64_t fetched[512]; // samples whose files are on their way already, each plus 1; see fill.c
    const gf_extent *extents; // of each sample, or NULL: each is all of the object of its number
    gf_facts *facts;          // of each sample. Shared between processes
    gf_facts_file *facts_file; // where they are mapped from; NULL: they are memory
    // Where certain steps come first, and what they make is kept: the records, and what makes them and goes on from them.
    struct gf_kept *kept; // or NULL
    gf_image_program *certain, *rest;
};

// A gf_fill_fn: makes samples.
int64_t gf_image_fill(const gf_view *, const gf_batch *, int64_t from, int64_t to);

// The view's hint for that: the sample's bytes begin their way into memory.
void gf_image_hint(const gf_view *, int64_t index);

// A picture whose size nobody can tell: any crop can be drawn in it, and nothing will be made of it.
enum { GF_ANY_SIDE = 1 << 14 };

// A view of the same pictures whose samples are gf_size, from headers as far as they are not known; -1 x -1 where a
// header cannot be read. Its hint is for the whole file, since it is made next. free() it; NULL when memory is short.
gf_view *gf_image_sizes_view(const gf_view *);

// What is drawn for a batch. sizes are those of its pictures: 0 x 0 while nobody has looked, and then -1 x -1 where the
// caller must find out.
typedef struct {
    const int64_t *indices;
    int64_t n;
    gf_size *sizes;
    uint8_t *state;  // the state image of a torch generator; NULL: each sample has a stream of its own
    uint32_t *python; // a state of Python's random, where steps draw from that too
    int32_t flags;   // of the generator: GF_DRAW_FUSED
    int64_t *refills; // of that generator: takes up how often it made new words; or NULL
    const uint64_t *epoch; // of the samples' own streams; NULL: their programs'
    gf_draw_answers answers;
    int32_t *records; // or NULL: nothing is drawn
    gf_draw_result result; // result.done: the sample to go on from
    gf_tally *tally; // of the loader that draws, which counts the reading of headers too; or NULL
} gf_image_draws;

// Fills in the sizes that are known. Returns how many stay 0 x 0, or -1 where indices[result.done] is none.
int64_t gf_image_known_sizes(const gf_view *, gf_image_draws *);

struct gf_crew;

// Fills in the others as the sizes view does: with most threads of the crew, or on this thread alone where there is none.
// Asks stopped(), which may be NULL, every 0.1 s. 0 when it said yes, or when memory is short.
int gf_image_find_sizes(const gf_view *, struct gf_crew *, int most, gf_image_draws *, int (*stopped)(void));

// What gf_image_draw returns beside gf_draw's codes.
enum {
    GF_DRAW_UNKNOWN_SIZES = GF_DRAW_INVALID + 1, // the caller must find those that are -1 x -1
    GF_DRAW_NO_INDEX,                            // indices[result.done] is none
    GF_DRAW_NO_SIZES,                            // stopped() said yes, or memory is short
};

// Finds the sizes of a batch's pictures in both ways, and draws for it.
int32_t gf_image_draw(const gf_view *, struct gf_crew *, int most, gf_image_draws *, int (*stopped)(void));

// The size of a sample's picture, from its header where it is not known yet. Returns GF_FAULT_... .
int32_t gf_image_size(const gf_image_program *, int64_t sample, gf_size *, gf_fault *);

#endif
