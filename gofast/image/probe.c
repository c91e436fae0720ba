#include "probe.h"

#include "run.h"
#include "samples.h"
#include "steps/operation.h"

enum { DECODED = -1 }; // no fault's code: the rest of the plan need not be run

typedef struct {
    gf_canvas canvas; // first: its functions get their probe back from it
    gf_image_worker *worker;
    gf_opened *source;
    const int32_t *record;
    int32_t pass_order;
} probe;

// Decodes a region as the renderer does, a few rows at a time, and leaves them.
static int32_t decode(gf_opened *source, gf_box region, gf_fault *fault) {
    int32_t code = gf_opened_start(source, region, fault);
    for (int32_t y = 0; y < region.height && !code; y += GF_FORMAT_ROWS) {
        int64_t stride;
        int32_t left = region.height - y;
        if (!gf_opened_rows(source, left < GF_FORMAT_ROWS ? left : GF_FORMAT_ROWS, &stride, fault)) code = fault->code;
    }
    return code ? code : gf_opened_end(source, fault);
}

// The part of the picture that its geometry needs.
static int32_t decode_needed(probe *p) {
    const gf_geometry *g = &p->canvas.geometry;
    gf_box region = g->box;
    if (g->resized) {
        gf_resize *resize = &p->worker->renderer.resize;
        gf_resize_plan plan = gf_render_plan(g, p->pass_order);
        int32_t code = gf_resize_begin(resize, &plan);
        if (code) return gf_fault_set(p->canvas.fault, code, -1, "resize of %dx%d to %dx%d", g->box.width, g->box.height, g->width, g->height);
        region = gf_render_region(g, resize);
    }
    return decode(p->source, region, p->canvas.fault);
}

// A plan asks for planes where a step needs the pixels: all that is decoded is decoded here.
static int32_t lay_out(gf_canvas *c, int buffer, int32_t width, int32_t height, gf_planes *planes) {
    (void)buffer, (void)width, (void)height, (void)planes;
    int32_t code = decode_needed((probe *)c);
    return code ? code : DECODED;
}

static int32_t do_step(void *context, const gf_step *step) {
    probe *p = context;
    const gf_operation *operation = gf_operations[step->kind];
    return operation->run ? operation->run(&p->canvas, step, p->record + step->record) : GF_FAULT_NONE;
}

static int32_t run_plan(gf_image_worker *w, const gf_image_program *program, gf_opened *source, const int32_t *record, gf_fault *fault) {
    probe p = {.worker = w, .source = source, .record = record, .pass_order = program->pass_order};
    p.canvas = (gf_canvas){.lay_out = lay_out, .pixels = program->pixels, .fault = fault,
                           .geometry = gf_geometry_of(source->picture.width, source->picture.height)};
    int32_t code = gf_walk(program->steps, record, do_step, &p);
    if (code == DECODED) return GF_FAULT_NONE;
    return code ? code : decode_needed(&p);
}

typedef enum { READ, WHOLE, NEEDED } stage;

static int32_t probe_sample(gf_image_worker *w, const gf_image_program *p, int64_t sample, const int32_t *record, stage until, gf_fault *fault) {
    gf_sample_bytes bytes;
    gf_opened source;
    gf_extent extent = gf_image_extent(p, sample);
    int32_t code = p->reader->read(p->reader, &extent, INT64_MAX, &w->file, &bytes, fault);
    if (code || until == READ) return code;
    if ((code = gf_formats_open(&source, &w->decoders, &bytes, p->max_pixels, fault))) return code;
    if (until == WHOLE) return decode(&source, (gf_box){.width = source.picture.width, .height = source.picture.height}, fault);
    return run_plan(w, p, &source, record, fault);
}

static int64_t probe_range(const gf_view *view, const gf_batch *batch, int64_t from, int64_t to, stage until) {
    gf_image_worker *worker = gf_image_worker_here();
    for (int64_t i = from; i < to; i++) {
        int64_t sample;
        const gf_image_program *p = gf_image_find(view, batch->indices[i], &sample);
        if (!p) return i;
        gf_image_look_ahead(view, batch, from, i, to);
        const int32_t *record = (const int32_t *)(batch->records + i * view->record_bytes);
        gf_fault fault;
        int32_t code = worker ? probe_sample(worker, p, sample, record, until, &fault) : gf_fault_set(&fault, GF_FAULT_MEMORY, -1, "no memory for a worker");
        if (code && !gf_fault_add(batch->faults, i, &fault)) return i;
        if (worker) gf_image_worker_tidy(worker);
    }
    return -1;
}

int64_t gf_image_probe_read(const gf_view *v, const gf_batch *b, int64_t from, int64_t to) { return probe_range(v, b, from, to, READ); }
int64_t gf_image_probe_whole(const gf_view *v, const gf_batch *b, int64_t from, int64_t to) { return probe_range(v, b, from, to, WHOLE); }
int64_t gf_image_probe_needed(const gf_view *v, const gf_batch *b, int64_t from, int64_t to) { return probe_range(v, b, from, to, NEEDED); }
