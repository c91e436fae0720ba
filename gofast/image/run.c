// A plan's steps on one picture: each step's own operation, on a canvas that lies in a worker's memory.
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "steps/operation.h"

typedef struct {
    gf_canvas canvas; // first: its functions get their run back from it
    gf_image_worker *worker;
    const gf_image_program *program;
    gf_opened *source, again;
    const int32_t *record;
    gf_size size; // of a tensor
} run;

// Rows of a narrow picture lie side by side, where a plane is one row to most kernels: of 32 x 32, a call for each row took
// longer than its pixels.
enum { NARROW = 128 };

static int32_t lay_out(gf_canvas *c, int buffer, int32_t width, int32_t height, gf_planes *planes) {
    int64_t stride = width <= NARROW ? width : ((int64_t)width + 63) / 64 * 64;
    gf_bytes *b = &((run *)c)->worker->planes[buffer];
    if (!gf_bytes_reserve(b, (size_t)(3 * stride * height)))
        return gf_fault_set(c->fault, GF_FAULT_MEMORY, -1, "no memory for a picture of %dx%d", width, height);
    *planes = (gf_planes){{b->data, b->data + stride * height, b->data + 2 * stride * height}, stride, width, height, 3};
    return GF_FAULT_NONE;
}

static int32_t render(run *r, const gf_sink *sink) {
    int32_t code = gf_render(&r->worker->renderer, r->source, &r->canvas.geometry, r->program->pass_order, sink, r->canvas.fault);
    if (code) return code;
    gf_meter *meter = gf_meter_here();
    gf_meter_part(meter, meter->decoding); // of a file that may be damaged, the rest is decoded too
    code = gf_opened_end(r->source, r->canvas.fault);
    gf_meter_part(meter, GF_PART_STEPS);
    return code;
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

// The crops of a sample, one behind the other: of the picture, and then of the flipped one.
static int32_t finish_crops(run *r, uint8_t *x) {
    const gf_image_program *p = r->program;
    gf_canvas *c = &r->canvas;
    if (!c->crops || c->crops->size[0] != p->height || c->crops->size[1] != p->width)
        return gf_fault_set(c->fault, GF_FAULT_UNSUPPORTED, -1, "no crops of %dx%d", p->width, p->height);
    gf_box boxes[5];
    gf_canvas_five(c, c->crops, boxes);
    for (int32_t i = 0; i < p->crops; i++) {
        if (i == 5) (c->crops->vertical ? c->pixels->vflip : c->pixels->hflip)(&c->planes);
        gf_planes crop = c->planes;
        const gf_box *box = &boxes[i % 5];
        for (int k = 0; k < crop.channels; k++) crop.plane[k] += box->y * crop.stride + box->x;
        crop.width = box->width;
        crop.height = box->height;
        gf_sink sink = gf_sink_sample(&p->normalise, p->width, p->height, x);
        gf_render_planes(&crop, &sink);
        x += (int64_t)p->width * p->height * p->normalise.numbers.channels * p->normalise.numbers.size;
    }
    p->normalise.finish();
    return GF_FAULT_NONE;
}

static int32_t finish_tensor(run *r, uint8_t *x) {
    const gf_image_program *p = r->program;
    const gf_canvas *c = &r->canvas;
    if (p->crops) return finish_crops(r, x);
    int32_t width = gf_canvas_width(c), height = gf_canvas_height(c);
    if (width != r->size.width || height != r->size.height)
        return gf_fault_set(c->fault, GF_FAULT_UNSUPPORTED, -1, "a sample of %dx%d instead of %dx%d", width, height, r->size.width, r->size.height);
    gf_sink sink = gf_sink_sample(&p->normalise, width, height, x);
    int32_t code = finish_into(r, &sink);
    if (code) return code;
    for (int i = 0; i < c->n_erasures && !p->raw; i++) p->normalise.erase(&p->normalise, x, width, height, &c->erasures[i].box, c->erasures[i].value);
    p->normalise.finish();
    return GF_FAULT_NONE;
}

// The first channel, rows side by side.
static int32_t finish_grey(run *r, uint8_t *x) {
    const gf_planes *p = &r->canvas.planes;
    if (!r->canvas.resting) {
        int32_t width = gf_canvas_width(&r->canvas);
        gf_planes one = {{x}, width, width, gf_canvas_height(&r->canvas), 1};
        return render_planes(&r->canvas, &one);
    }
    for (int32_t y = 0; y < p->height; y++) memcpy(x + (int64_t)y * p->width, p->plane[0] + y * p->stride, (size_t)p->width);
    return GF_FAULT_NONE;
}

static int32_t finish_pixels(run *r, uint8_t *x) {
    const gf_image_program *p = r->program;
    int32_t width = gf_canvas_width(&r->canvas), height = gf_canvas_height(&r->canvas);
    if (width != r->size.width || height != r->size.height)
        return gf_fault_set(r->canvas.fault, GF_FAULT_UNSUPPORTED, -1, "a picture of %dx%d instead of %dx%d", width, height, r->size.width, r->size.height);
    if (p->channels == 1) return finish_grey(r, x);
    gf_picture picture = {x, 4 * (int64_t)width, width, height};
    gf_sink rgbx = {.pixels = r->canvas.pixels, .picture = &picture}, rgb = gf_sink_sample(&p->normalise, width, height, x);
    return finish_into(r, p->channels == 4 ? &rgbx : &rgb);
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

// More is not kept: a resize may make much of a small file, of which the next step cuts out little.
static const int64_t MOST_KEPT_PIXELS = 16 << 20;

// Pixels are kept as a file, so that whatever goes on from them opens it as one.
static int32_t finish_record(run *r, uint8_t *x) {
    gf_record_room room;
    memcpy(&room, x, sizeof room);
    const gf_canvas *c = &r->canvas;
    int32_t width = gf_canvas_width(c), height = gf_canvas_height(c), grey = c->resting && c->planes.channels == 1;
    if (width * (int64_t)height > MOST_KEPT_PIXELS) return gf_fault_set(c->fault, GF_FAULT_LIMIT, -1, "%dx%d pixels are not kept", width, height);
    char head[48];
    int n = snprintf(head, sizeof head, "P%d\n%d %d\n255\n", grey ? 5 : 6, width, height);
    room.size = (size_t)n + (grey ? 1 : 3) * (size_t)width * (size_t)height;
    room.info = c->info;
    if (!gf_bytes_reserve(room.memory, room.before + room.size)) return gf_fault_set(c->fault, GF_FAULT_MEMORY, -1, "no memory for %zu bytes", room.size);
    uint8_t *at = room.memory->data + room.before;
    memcpy(at, head, (size_t)n);
    memcpy(x, &room, sizeof room);
    if (grey) return finish_grey(r, at + n);
    gf_sink sink = gf_sink_sample(&r->program->normalise, width, height, at + n);
    return finish_into(r, &sink);
}

static int32_t do_step(void *context, const gf_step *step) {
    run *r = context;
    const gf_operation *operation = gf_operations[step->kind];
    return operation->run ? operation->run(&r->canvas, step, r->record + step->record) : GF_FAULT_NONE;
}

static run begin(gf_image_worker *worker, const gf_image_program *p, gf_opened *source, int32_t width, int32_t height, const int32_t *record,
                 gf_fault *fault) {
    gf_meter_part(gf_meter_here(), GF_PART_STEPS);
    run r = {.worker = worker, .program = p, .source = source, .record = record, .size = {p->width, p->height}};
    r.canvas = (gf_canvas){.lay_out = lay_out, .render = render_planes, .reopen = reopen, .room = room, .pixels = p->pixels,
                           .geometry = gf_geometry_of(width, height), .fault = fault};
    return r;
}

static int32_t walk(run *r, uint8_t *x) {
    const gf_image_program *p = r->program;
    if (p->steps->record_words && !r->record) return gf_fault_set(r->canvas.fault, GF_FAULT_UNSUPPORTED, -1, "nothing was drawn for the sample");
    int32_t code = gf_walk(p->steps, r->record, do_step, r);
    if (code) return code;
    if (p->output == GF_IMAGE_PIXELS) return finish_pixels(r, x);
    if (p->output == GF_IMAGE_RECORD) return finish_record(r, x);
    return p->output == GF_IMAGE_TENSOR ? finish_tensor(r, x) : finish_picture(r, x);
}

int32_t gf_image_run(gf_image_worker *worker, const gf_image_program *p, gf_opened *source, const gf_recorded *recorded, int64_t n, gf_size size,
                     const int32_t *record, uint8_t *x, gf_fault *fault) {
    run r = begin(worker, p, source, source->picture.width, source->picture.height, record, fault);
    if (size.width) r.size = size;
    int32_t code = gf_canvas_replay(&r.canvas, recorded, n);
    return code ? code : walk(&r, x);
}

// It rests from the beginning: planes are what most steps want, and a grey picture has one.
int32_t gf_image_run_stored(gf_image_worker *worker, const gf_image_program *p, int64_t sample, const int32_t *record, uint8_t *x, gf_fault *fault) {
    const gf_stored *s = &p->stored;
    run r = begin(worker, p, NULL, s->width, s->height, record, fault);
    int32_t code = lay_out(&r.canvas, 0, s->width, s->height, &r.canvas.planes);
    if (code) return code;
    r.canvas.planes.channels = s->channels;
    r.canvas.resting = 1;
    gf_stored_copy(s, sample, &r.canvas.planes);
    return walk(&r, x);
}
