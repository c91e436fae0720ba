// What is drawn for the samples of a batch, once the sizes of their pictures are known.
#include <stdlib.h>

#include "../engine/crew.h"
#include "samples.h"

// How often a program's sample came before in a batch.
typedef struct {
    const void *program;
    int64_t sample;
    int32_t count; // 0: the entry is free
} seen;

static seen *entry_of(seen *table, uint64_t mask, const void *program, int64_t sample) {
    uint64_t at = ((uint64_t)(uintptr_t)program + (uint64_t)sample) * 0x9E3779B97F4A7C15u >> 20;
    for (;; at++) {
        seen *s = &table[at & mask];
        if (!s->count || (s->program == program && s->sample == sample)) return s;
    }
}

static int32_t draw_stateless(const gf_view *view, gf_image_draws *d) {
    uint64_t entries = 2;
    while (entries < 2 * (uint64_t)d->n) entries *= 2;
    seen *table = calloc(entries, sizeof *table);
    if (!table) return GF_DRAW_NO_SIZES;
    const gf_image_program *last = NULL;
    uint64_t epoch = 0; // read once for a run of samples: another process may set it meanwhile
    int32_t code = GF_DRAW_OK;
    int64_t i = 0;
    for (; i < d->n && !code; i++) {
        int64_t sample = 0;
        const gf_image_program *p = gf_image_find(view, d->indices[i], &sample); // gf_image_known_sizes has seen that it is one
        if (d->epoch) epoch = *d->epoch;
        else if (p != last) epoch = p->epoch ? __atomic_load_n(p->epoch, __ATOMIC_RELAXED) : 0;
        last = p;
        seen *s = entry_of(table, entries - 1, p, sample);
        *s = (seen){p, sample, s->count + 1};
        int32_t before = s->count - 1;
        code = gf_draw_stateless(p->steps, p->seed, epoch, &sample, &before, &d->sizes[i], 1,
                                 d->records + i * p->steps->record_words, &d->result);
    }
    d->result.done = code ? i - 1 : d->n;
    free(table);
    return code;
}

int32_t gf_image_draw(const gf_view *view, gf_crew *crew, int most, gf_image_draws *d, int (*stopped)(void)) {
    int64_t done = d->result.done, left = gf_image_known_sizes(view, d);
    if (left < 0) return GF_DRAW_NO_INDEX;
    if (left > 0 && !gf_image_find_sizes(view, crew, most, d, stopped)) return GF_DRAW_NO_SIZES;
    for (int64_t i = 0; i < d->n; i++)
        if (d->sizes[i].width < 0) return GF_DRAW_UNKNOWN_SIZES;
    if (!d->records) return GF_DRAW_OK;
    if (!d->state) return draw_stateless(view, d);
    const gf_steps *steps = ((const gf_image_program *)view->parts[0].program)->steps; // the others draw alike
    int32_t code = gf_draw(steps, d->flags, d->state, d->python, d->sizes + done, d->n - done, d->records + done * steps->record_words, &d->answers, &d->result);
    d->result.done += done;
    if (d->refills) *d->refills += d->result.refills;
    return code;
}
