// A plan's steps on one picture: each step's own operation, on a canvas that lies in a worker's memory.
#include "run.h"

#include <stdlib.h>
#include <string.h>

#include "steps/operation.h"

typedef struct {
    gf_canvas canvas; // first: its functions get their run back from it
    gf_image_worker *worker;
    const gf_image_program *program;
    gf_opened *source, again;
} run;

static int32_t lay_out(gf_canvas *c, int buffer, int32_t width, int32_t height, gf_planes *planes) {
    int64_t stride = ((int64_t)width + 63) / 64 * 64;
    gf_bytes *b = &((run *)c)->worker->planes[buffer];
    if (!gf_bytes_reserve(b, (size_t)(3 * stride * height)))
        return gf_fault_set(c->fault, GF_FAULT_MEMORY, -1, "no memory for a picture of %dx%d", width, height);
    *planes = (gf_planes){{b->data, b->data + stride * height, b->data + 2 * stride * height}, stride, width, height, 3};
    return GF_FAULT_NONE;
}

static int32_t render(run *r, const gf_sink *sink) {
    int32_t code = gf_render(&r->worker->renderer, r->source, &r->canvas.geometry, r->program->pass_order, sink, r->canvas.fault);
    return code ? code : gf_opened_end(r->source, r->canvas.fault);
}

static int32_t render_planes(gf_canvas *c, const gf_planes *planes) {
    gf_sink sink = {.pixels = c->pixels, .planes = planes};
    return render((run *)c, &sink);
}

static int32_t reopen(gf_canvas *c) {
    run *r = (run *)c;
    gf_planes *p = &c->planes;
    int64_t stride = 4 * (int64_t)p->width;
    if (!gf_bytes_reserve(&r->worker->joined, (size_t)(stride * p->height)))
        return gf_fault_set(c->fault, GF_FAULT_MEMORY, -1, "no memory for a picture of %dx%d", p->width, p->height);
    gf_picture picture = {r->worker->joined.data, stride, p->width, p->height};
    gf_sink sink = {.pixels = c->pixels, .picture = &picture};
    gf_render_planes(p, &sink);
    r->again = gf_opened_of(picture);
    r->source = &r->again;
    return GF_FAULT_NONE;
}

// Nothing is joined while a picture rests.
static int32_t room(gf_canvas *c, size_t bytes, uint8_t **at) {
    gf_bytes *b = &((run *)c)->worker->joined;
    if (!gf_bytes_reserve(b, bytes)) return gf_fault_set(c->fault, GF_FAULT_MEMORY, -1, "no memory for %zu bytes", bytes);
    *at = b->data;
    return GF_FAULT_NONE;
}

static int32_t finish_into(run *r, const gf_sink *sink) {
    if (!r->canvas.resting) return render(r, sink);
    gf_render_planes(&r->canvas.planes, sink);
    return GF_FAULT_NONE;
}

static int32_t finish_tensor(run *r, uint8_t *x) {
    const gf_image_program *p = r->program;
    const gf_canvas *c = &r->canvas;
    int32_t width = gf_canvas_width(c), height = gf_canvas_height(c);
    if (width != p->width || height != p->height)
        return gf_fault_set(c->fault, GF_FAULT_UNSUPPORTED, -1, "a sample of %dx%d instead of %dx%d", width, height, p->width, p->height);
    gf_sink sink = gf_sink_sample(&p->normalise, p->width, p->height, x);
    int32_t code = finish_into(r, &sink);
    if (code) return code;
    for (int i = 0; i < c->n_erasures && !p->raw; i++) p->normalise.erase(&p->normalise, x, p->width, p->height, &c->erasures[i].box, c->erasures[i].value);
    p->normalise.finish();
    return GF_FAULT_NONE;
}

static int32_t finish_picture(run *r, uint8_t *x) {
    int32_t width = gf_canvas_width(&r->canvas), height = gf_canvas_height(&r->canvas);
    gf_made_picture made = {malloc(4 * (size_t)width * (size_t)height), width, height, r->canvas.info};
    if (!made.data) return gf_fault_set(r->canvas.fault, GF_FAULT_MEMORY, -1, "no memory for a picture of %dx%d", width, height);
    gf_picture picture = {made.data, 4 * (int64_t)width, width, height};
    gf_sink sink = {.pixels = r->canvas.pixels, .picture = &picture};
    int32_t code = finish_into(r, &sink);
    if (code) {
        free(made.data);
        return code;
    }
    memcpy(x, &made, sizeof made);
    return GF_FAULT_NONE;
}

int32_t gf_image_run(gf_image_worker *worker, const gf_image_program *p, gf_opened *source, const int32_t *record, uint8_t *x, gf_fault *fault) {
    run r = {.worker = worker, .program = p, .source = source};
    r.canvas = (gf_canvas){.lay_out = lay_out, .render = render_planes, .reopen = reopen, .room = room, .pixels = p->pixels,
                           .geometry = gf_geometry_of(source->picture.width, source->picture.height), .fault = fault};
    if (p->steps->record_words && !record) return gf_fault_set(fault, GF_FAULT_UNSUPPORTED, -1, "nothing was drawn for the sample");
    for (int32_t i = 0; i < p->steps->n; i++) {
        const gf_step *step = &p->steps->step[i];
        const gf_operation *operation = gf_operations[step->kind];
        int32_t code = operation->run ? operation->run(&r.canvas, step, record + step->record) : GF_FAULT_NONE;
        if (code) return code;
        if (step->inner && !record[step->record]) i += step->inner;
    }
    return p->output == GF_IMAGE_TENSOR ? finish_tensor(&r, x) : finish_picture(&r, x);
}
