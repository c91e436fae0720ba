#include "lazy.h"

#include <pthread.h>
#include <string.h>

#include "run.h"

static int32_t make_here(const gf_image_program *p, const gf_lazy *lazy, const int32_t *record, uint8_t *x, gf_fault *fault) {
    gf_image_worker *worker = gf_image_worker_here();
    if (!worker) return gf_fault_set(fault, GF_FAULT_MEMORY, -1, "no memory for a worker");
    gf_opened source;
    int32_t code = GF_FAULT_NONE;
    if (p->kept && !lazy->size) {
        if (p->output == GF_IMAGE_PICTURE) memset(x, 0, sizeof(gf_made_picture));
        gf_meter_to(gf_meter_here(), GF_STAGE_READ);
        code = gf_image_make(worker, p, 0, record, x, fault);
        gf_image_worker_tidy(worker);
        return code;
    }
    gf_meter_picture(gf_meter_here());
    if (lazy->width) {
        source = gf_opened_of((gf_picture){(uint8_t *)lazy->data, 4 * (int64_t)lazy->width, lazy->width, lazy->height});
    } else {
        gf_sample_bytes file = {.data = lazy->data, .size = lazy->size, .length = lazy->size,
                                .indices = lazy->n && lazy->recorded[0].kind == GF_RECORDED_INDICES};
        code = gf_formats_open(&source, &worker->decoders, &file, p->max_pixels, fault);
    }
    if (!code) code = gf_image_run(worker, p, &source, lazy->recorded, lazy->n, lazy->sample, record, x, fault);
    if (!code && p->output == GF_IMAGE_PICTURE) gf_made_picture_add(x, lazy->info);
    gf_image_worker_tidy(worker);
    return code;
}

int32_t gf_lazy_fill(const gf_image_program *p, const gf_lazy *lazy, const int32_t *record, uint8_t *x, gf_fault *fault) {
    int32_t code = make_here(p, lazy, record, x, fault);
    gf_meter_picture_end(gf_meter_of_fill());
    return code;
}

static int32_t make(const gf_image_program *p, const gf_lazy *lazy, const int32_t *record, uint8_t *x, gf_fault *fault) {
    gf_meter *meter = gf_meter_of_fill();
    gf_meter_begin(meter, GF_STAGE_PICTURE);
    int32_t code = gf_lazy_fill(p, lazy, record, x, fault);
    if (!code) meter->counters[GF_COUNT_FILLED]++;
    gf_meter_end(meter, 0, 1);
    gf_meter_add(meter, &gf_process_tally, NULL);
    return code;
}

int32_t gf_lazy_sample(const gf_image_program *p, const gf_lazy *lazy, const int32_t *record, uint8_t *x, gf_fault *fault) {
    return make(p, lazy, record, x, fault);
}

// Where the first marker stands in a scan, other than restarts; NULL: nowhere.
static const uint8_t *marker(const uint8_t *at, const uint8_t *end) {
    for (end--; at < end && (at = memchr(at, 0xff, (size_t)(end - at))); at++)
        if (at[1] != 0 && (at[1] < 0xd0 || at[1] > 0xd7)) return at;
    return NULL;
}

int gf_lazy_is_certain(const uint8_t *data, size_t size, size_t scan, int64_t max_pixels) {
    const uint8_t *end = data + size, *at = marker(data + scan, end);
    if (!at || at[1] != 0xd9) return 0;
    for (at += 2; at < end; at++)
        if (*at) return 0;
    gf_image_worker *worker = gf_image_worker_here();
    const gf_sample_bytes file = {.data = data, .size = size, .length = size};
    int certain = worker && gf_formats_starts(&worker->decoders, &file, max_pixels);
    if (worker) gf_image_worker_tidy(worker);
    return certain;
}

static const gf_steps none;

// Bytes as they are, three side by side: no arithmetic, and stores that stay in the caches for who reads them next.
static gf_normalise packed;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void prepare(void) {
    packed.numbers = (gf_numbers){.scale = GF_SCALE_CAST, .type = GF_UINT8, .size = 1, .channels = 3, .last = 1};
    gf_normalise_prepare(&packed, NULL, NULL, gf_pixel_level());
}

void gf_lazy_of_pixels(gf_image_program *p, int32_t pass_order, int64_t max_pixels, int32_t width, int32_t height, int32_t channels) {
    pthread_once(&once, prepare);
    *p = (gf_image_program){.pixels = gf_pixel_choose(gf_pixel_level()), .steps = &none, .output = GF_IMAGE_PIXELS, .normalise = packed,
                            .width = width, .height = height, .channels = channels, .pass_order = pass_order, .max_pixels = max_pixels};
}

int32_t gf_lazy_pixels(const gf_lazy *lazy, int32_t pass_order, int64_t max_pixels, int32_t width, int32_t height, int32_t channels, uint8_t *x, gf_fault *fault) {
    gf_image_program p;
    gf_lazy_of_pixels(&p, pass_order, max_pixels, width, height, channels);
    return make(&p, lazy, NULL, x, fault);
}
