#include "run.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// A picture of 24 megapixels takes 72 MB as a PNG, 96 as WebP, and its file: that much is not allocated again for each.
static const size_t MOST_KEPT = 112 << 20;

static __thread gf_image_worker *here;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void empty(gf_image_worker *w) {
    gf_decoders_free(&w->decoders);
    gf_resize_free(&w->renderer.resize);
    free(w->renderer.row.data);
    free(w->file.data);
    free(w->planes[0].data);
    free(w->planes[1].data);
    free(w->joined.data);
    free(w->record.data);
    memset(w, 0, sizeof *w);
}

static void drop(void *worker) {
    empty(worker);
    free(worker);
}

void gf_image_worker_tidy(gf_image_worker *w) {
    size_t held = w->file.room + w->planes[0].room + w->planes[1].room + w->joined.room + w->record.room;
    held += w->renderer.row.room + w->renderer.resize.memory_size + gf_decoders_held(&w->decoders);
    if (held > MOST_KEPT) empty(w);
}

static void make_key(void) { pthread_key_create(&key, drop); }

gf_image_worker *gf_image_worker_here(void) {
    if (here) return here;
    pthread_once(&once, make_key);
    here = calloc(1, sizeof *here);
    if (here) pthread_setspecific(key, here); // for the destructor: __thread has none in C
    return here;
}
