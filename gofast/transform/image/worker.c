#include "run.h"

#include <pthread.h>
#include <stdlib.h>

static __thread gf_image_worker *here;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void drop(void *value) {
    gf_image_worker *w = value;
    if (w->decoders.jpeg) gf_jpeg_free(w->decoders.jpeg);
    if (w->decoders.png) gf_png_free(w->decoders.png);
    if (w->decoders.webp) gf_webp_free(w->decoders.webp);
    gf_resize_free(&w->renderer.resize);
    free(w->renderer.row.data);
    free(w->file.data);
    free(w->planes[0].data);
    free(w->planes[1].data);
    free(w->joined.data);
    free(w);
}

static void make_key(void) { pthread_key_create(&key, drop); }

gf_image_worker *gf_image_worker_here(void) {
    if (here) return here;
    pthread_once(&once, make_key);
    here = calloc(1, sizeof *here);
    if (here) pthread_setspecific(key, here); // for the destructor: __thread has none in C
    return here;
}
