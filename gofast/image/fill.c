// Makes the samples of a batch, on any thread or in a forked worker.
#include <stdatomic.h>
#include <string.h>

#include "keep.h"
#include "run.h"
#include "samples.h"

// Reads a sample and makes it. One that is not the picture whose size the draws were made for would give
// another picture than torchvision's.
int32_t gf_image_make(gf_image_worker *w, const gf_image_program *p, int64_t sample, const int32_t *record, uint8_t *x, gf_fault *fault) {
    gf_opened source;
    gf_sample_bytes bytes;
    gf_meter *meter = gf_meter_here();
    if (p->stored.data) {
        gf_meter_to(meter, GF_STAGE_PICTURE);
        gf_meter_picture(meter);
        return gf_image_run_stored(w, p, sample, record, x, fault);
    }
    gf_stamp stamp;
    if (p->kept && gf_image_of_record(w, p, sample, record, x)) return GF_FAULT_NONE;
    int keeps = p->kept && gf_image_keeps(p, sample, &stamp);
    gf_extent extent = gf_image_extent(p, sample);
    int32_t code = p->reader->read(p->reader, &extent, INT64_MAX, &w->file, &bytes, fault);
    gf_meter_to(meter, GF_STAGE_PICTURE);
    if (!code) meter->counters[GF_COUNT_FILE_BYTES] += (int64_t)bytes.size;
    bytes.comes_again = p->lasting;
    gf_meter_picture(meter);
    if (!code) code = gf_formats_open(&source, &w->decoders, &bytes, p->max_pixels, fault);
    if (code) return code;
    gf_size size = {source.picture.width, source.picture.height};
    gf_remember_size(p, sample, size);
    if (!gf_drawn_fits(p->steps, record, size)) {
        gf_size before = gf_drawn_for(p->steps, record);
        return gf_fault_set(fault, GF_FAULT_CHANGED, -1, "the picture is %dx%d and was %dx%d before", size.width, size.height, before.width, before.height);
    }
    if (keeps) { // what goes wrong there is for the ordinary way to say
        if (gf_image_by_record(w, p, sample, &stamp, &source, record, x)) return GF_FAULT_NONE;
        if ((code = gf_formats_open(&source, &w->decoders, &bytes, p->max_pixels, fault))) return code;
    }
    return gf_image_run(w, p, &source, NULL, 0, (gf_size){0}, record, x, fault);
}

// The entry of a sample whose header's hint has fetched all of the file: it is not opened once more for the picture, which on
// a network disk would cost what the hint gains. An entry that another sample has taken costs one hint more.
static _Atomic int64_t *fetched_entry(const gf_image_program *p, int64_t sample) {
    return &((gf_image_program *)p)->fetched[sample % (int64_t)(sizeof p->fetched / sizeof *p->fetched)];
}

void gf_image_hint_both(const gf_image_program *p, int64_t sample) {
    gf_extent extent = gf_image_extent(p, sample);
    atomic_store_explicit(fetched_entry(p, sample), sample + 1, memory_order_relaxed);
    p->reader->hint(p->reader, &extent);
}

void gf_image_hint(const gf_view *view, int64_t index) {
    int64_t sample;
    const gf_image_program *p = gf_image_find(view, index, &sample);
    if (!p || !p->reader->hint) return;
    int64_t here = sample + 1;
    if (atomic_compare_exchange_strong_explicit(fetched_entry(p, sample), &here, 0, memory_order_relaxed, memory_order_relaxed)) return;
    if (p->kept && gf_kept_has(p->kept, sample)) {
        gf_kept_hint(p->kept, sample);
        return;
    }
    gf_extent extent = gf_image_extent(p, sample);
    p->reader->hint(p->reader, &extent);
}

int64_t gf_image_fill(const gf_view *view, const gf_batch *batch, int64_t from, int64_t to) {
    gf_image_worker *worker = gf_image_worker_here();
    gf_meter *meter = gf_meter_here();
    for (int64_t i = from; i < to; i++) {
        int64_t sample;
        const gf_image_program *p = gf_image_find(view, batch->indices[i], &sample);
        if (!p) return i;
        gf_meter_to(meter, GF_STAGE_READ);
        gf_image_look_ahead(view, batch, from, i, to);
        uint8_t *x = batch->x + i * view->x_bytes;
        gf_fault fault;
        if (p->output == GF_IMAGE_PICTURE) memset(x, 0, sizeof(gf_made_picture));
        if (view->y_bytes) {
            int64_t target = p->targets[sample];
            memcpy(batch->y + i * view->y_bytes, &target, sizeof target);
        }
        const int32_t *record = batch->records ? (const int32_t *)(batch->records + i * view->record_bytes) : NULL;
        int32_t code = worker ? gf_image_make(worker, p, sample, record, x, &fault) : gf_fault_set(&fault, GF_FAULT_MEMORY, -1, "no memory for a worker");
        gf_meter_picture_end(meter);
        if (code && !gf_fault_add(batch->faults, i, &fault)) return i; // no memory to say what is wrong: the batch fails
        if (worker) gf_image_worker_tidy(worker);
    }
    return -1;
}
