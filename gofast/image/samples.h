// The samples of a view: which program's each is, where its bytes are, and what is remembered of the size of its picture.
#ifndef GOFAST_SAMPLES_H
#define GOFAST_SAMPLES_H

#include <string.h>

#include "image.h"

// Both: Python stores one after the other.
static inline int gf_size_is_known(gf_size size) { return size.width > 0 && size.height > 0; }

_Static_assert(sizeof(gf_size) == sizeof(uint64_t), "the size in a sample's facts is read and written in one go");

static inline gf_size gf_remembered_size(const gf_image_program *p, int64_t sample) {
    if (p->stored.data) return (gf_size){p->stored.width, p->stored.height};
    uint64_t bits = __atomic_load_n((uint64_t *)(void *)&p->facts[sample].width, __ATOMIC_RELAXED);
    gf_size size;
    memcpy(&size, &bits, sizeof size);
    return size;
}

// Other processes may have another size at any time: what was drawn for one holds it (steps/draw.h).
void gf_remember_size(const gf_image_program *, int64_t sample, gf_size);

// The program of a view's sample, and the sample's number in its folder; NULL where the view has no such index.
static inline const gf_image_program *gf_image_find(const gf_view *view, int64_t index, int64_t *sample) {
    int64_t at = gf_view_position(view, index);
    if (at < 0) return NULL;
    const gf_part *part = gf_view_part(view, at);
    *sample = at - part->start;
    return part->program;
}

// The bytes of a program's sample.
static inline gf_extent gf_image_extent(const gf_image_program *p, int64_t sample) {
    return p->extents ? p->extents[sample] : (gf_extent){.object = (uint32_t)sample, .length = -1};
}

// Hints at samples of a range from the one behind i on, at each once.
static inline void gf_image_look_ahead(const gf_view *view, const gf_batch *batch, int64_t from, int64_t i, int64_t to) {
    if (!view->hint) return;
    int64_t last = i + GF_VIEW_AHEAD < to ? i + GF_VIEW_AHEAD : to - 1;
    for (int64_t k = i == from ? i + 1 : i + GF_VIEW_AHEAD; k <= last; k++) view->hint(view, batch->indices[k]);
}

// Hints at a sample's file whose header is wanted first and whose picture is made next: that is one hint, not two.
void gf_image_hint_both(const gf_image_program *, int64_t sample);

#endif
