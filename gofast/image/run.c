#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// What a step may make of a picture: Pillow has a limit for files only. More is left to Python.
static const int64_t MOST_PIXELS = 1 << 28;

// A box that is erased when the sample is finished, since what lies in it is the same whenever it is erased.
typedef struct {
    gf_box box;
    const float *value;
} erasure;

// A picture on its way through the steps. It rests in planes once a step needs its pixels; until then, and after
// a resize of those, it is a source and what its geometry will make of it.
typedef struct {
    gf_image_worker *worker;
    const gf_image_program *program;
    gf_source *source;
    gf_geometry geometry;
    int resting;
    gf_planes planes;
    int buffer; // the one of the worker's planes in use
    erasure erasures[GF_MOST_ERASURES];
    int n_erasures;
    int32_t info; // GF_INFO_..., several
    gf_fault *fault;
} walk;

static int32_t width_of(const walk *w) { return w->resting ? w->planes.width : w->geometry.window.width; }

static int32_t height_of(const walk *w) { return w->resting ? w->planes.height : w->geometry.window.height; }

// Planes of a size in a buffer of the worker's; 0 when memory is short.
static int lay_out(walk *w, int buffer, int32_t width, int32_t height, gf_planes *planes) {
    int64_t stride = ((int64_t)width + 63) / 64 * 64;
    gf_bytes *b = &w->worker->planes[buffer];
    if (!gf_bytes_reserve(b, (size_t)(3 * stride * height))) {
        gf_fault_set(w->fault, GF_FAULT_MEMORY, -1, "no memory for a picture of %dx%d", width, height);
        return 0;
    }
    *planes = (gf_planes){{b->data, b->data + stride * height, b->data + 2 * stride * height}, stride, width, height, 3};
    return 1;
}

static int32_t render(walk *w, const gf_sink *sink) {
    int32_t code = gf_render(&w->worker->renderer, w->source, &w->geometry, w->program->pass_order, sink, w->fault);
    return code ? code : gf_source_end(w->source, w->fault);
}

// Brings the picture to rest in planes.
static int32_t rest(walk *w) {
    if (w->resting) return GF_FAULT_NONE;
    if (!lay_out(w, 0, w->geometry.window.width, w->geometry.window.height, &w->planes)) return w->fault->code;
    gf_sink sink = {.pixels = w->program->pixels, .planes = &w->planes};
    w->buffer = 0;
    w->resting = 1;
    return render(w, &sink);
}

// Makes a source of resting planes again, for another resize.
static int32_t rise(walk *w, gf_source *source) {
    gf_planes *p = &w->planes;
    int64_t stride = 4 * (int64_t)p->width;
    if (!gf_bytes_reserve(&w->worker->joined, (size_t)(stride * p->height)))
        return gf_fault_set(w->fault, GF_FAULT_MEMORY, -1, "no memory for a picture of %dx%d", p->width, p->height);
    gf_picture picture = {w->worker->joined.data, stride, p->width, p->height};
    gf_sink sink = {.pixels = w->program->pixels, .picture = &picture};
    gf_render_planes(p, &sink);
    *source = gf_source_of(picture);
    w->source = source;
    w->geometry = gf_geometry_of(p->width, p->height);
    w->resting = 0;
    return GF_FAULT_NONE;
}

static void crop(walk *w, gf_box box) {
    if (!w->resting) {
        gf_geometry_crop(&w->geometry, box);
        return;
    }
    for (int c = 0; c < w->planes.channels; c++) w->planes.plane[c] += box.y * w->planes.stride + box.x;
    w->planes.width = box.width;
    w->planes.height = box.height;
}

static int32_t resize(walk *w, gf_source *again, int32_t width, int32_t height, int32_t filter) {
    if (width == width_of(w) && height == height_of(w)) return GF_FAULT_NONE; // Pillow copies
    if (!w->resting && !gf_geometry_can_resize(&w->geometry)) {
        int32_t code = rest(w);
        if (code) return code;
    }
    if (w->resting) {
        int32_t code = rise(w, again);
        if (code) return code;
    }
    gf_geometry_resize(&w->geometry, width, height, filter);
    return GF_FAULT_NONE;
}

static int32_t pad(walk *w, const gf_image_step *step, const int32_t sides[4]) {
    int nothing = !(sides[0] | sides[1] | sides[2] | sides[3]);
    if (!nothing || step->op == GF_OP_PAD) w->info |= step->mode == GF_EDGE_CONSTANT ? GF_INFO_PADDED : GF_INFO_LOST;
    if (nothing) return GF_FAULT_NONE;
    int32_t code = rest(w);
    if (code) return code;
    int64_t width = (int64_t)w->planes.width + sides[0] + sides[2], height = (int64_t)w->planes.height + sides[1] + sides[3];
    if (width * height > MOST_PIXELS)
        return gf_fault_set(w->fault, GF_FAULT_LIMIT, -1, "padded to %lldx%lld pixels", (long long)width, (long long)height);
    gf_planes padded;
    if (!lay_out(w, !w->buffer, (int32_t)width, (int32_t)height, &padded)) return w->fault->code;
    padded.channels = w->planes.channels;
    w->program->pixels->window(&w->planes, -sides[0], -sides[1], step->mode, step->fill, &padded);
    w->buffer = !w->buffer;
    w->planes = padded;
    return GF_FAULT_NONE;
}

// torchvision's CenterCrop: pads what is too small with black, then cuts; Python's round() goes to the even one.
static int32_t center_crop(walk *w, const gf_image_step *step, int32_t width, int32_t height) {
    int32_t have_w = width_of(w), have_h = height_of(w);
    if (width > have_w || height > have_h) {
        int32_t dx = width > have_w ? width - have_w : 0, dy = height > have_h ? height - have_h : 0;
        int32_t code = pad(w, step, (int32_t[4]){dx / 2, dy / 2, (dx + 1) / 2, (dy + 1) / 2});
        if (code) return code;
        have_w += dx;
        have_h += dy;
        if (have_w == width && have_h == height) return GF_FAULT_NONE;
    }
    crop(w, (gf_box){(int32_t)rint((have_w - width) / 2.0), (int32_t)rint((have_h - height) / 2.0), width, height});
    return GF_FAULT_NONE;
}

// Draws were made for a picture of another size; or the record is not one.
static int32_t other_size(const walk *w) {
    return gf_fault_set(w->fault, GF_FAULT_CHANGED, -1, "the picture is %dx%d: not the size for which was drawn", width_of(w), height_of(w));
}

static int inside(const walk *w, gf_box b) {
    return b.x >= 0 && b.y >= 0 && b.width >= 0 && b.height >= 0 && b.width <= width_of(w) - b.x && b.height <= height_of(w) - b.y;
}

static int32_t random_crop(walk *w, const gf_draw_step *draw, const gf_image_step *step, const int32_t *record) {
    int32_t width = draw->size[1], height = draw->size[0];
    int64_t more_x = 0, more_y = 0; // on either side, what is padded already counted
    if (draw->pad_if_needed) {
        more_x = (int64_t)width - width_of(w) - draw->padding[0] - draw->padding[2];
        more_y = (int64_t)height - height_of(w) - draw->padding[1] - draw->padding[3];
    }
    int32_t dx = more_x > 0 ? (int32_t)more_x : 0, dy = more_y > 0 ? (int32_t)more_y : 0;
    // At once, as v2 does: mirrors of mirrors differ. v1 pads up to three times; the plan has none where that differs.
    int32_t code = pad(w, step, (int32_t[4]){draw->padding[0] + dx, draw->padding[1] + dy, draw->padding[2] + dx, draw->padding[3] + dy});
    if (code) return code;
    if (!inside(w, (gf_box){record[1], record[0], width, height})) return other_size(w);
    crop(w, (gf_box){record[1], record[0], width, height});
    return GF_FAULT_NONE;
}

// What Pillow makes of a crop without pixels, which a picture one pixel wide can come to.
static int32_t black(walk *w, int32_t width, int32_t height) {
    int32_t code = rest(w);
    if (code) return code;
    if (!lay_out(w, w->buffer, width, height, &w->planes)) return w->fault->code;
    memset(w->planes.plane[0], 0, (size_t)(3 * w->planes.stride * height));
    return GF_FAULT_NONE;
}

static int32_t random_resized_crop(walk *w, gf_source *again, const gf_draw_step *draw, const gf_image_step *step, const int32_t *record) {
    gf_box box = {record[1], record[0], record[3], record[2]};
    if (box.width == 0 || box.height == 0) return black(w, draw->size[1], draw->size[0]);
    if (!inside(w, box)) return other_size(w);
    // Pillow's resize must not see beyond the crop.
    if (!w->resting && w->geometry.resized) {
        int32_t code = rest(w);
        if (code) return code;
    }
    crop(w, box);
    return resize(w, again, draw->size[1], draw->size[0], step->filter);
}

static void mirror_erasures(walk *w, int vertical) {
    for (int i = 0; i < w->n_erasures; i++) {
        gf_box *b = &w->erasures[i].box;
        if (vertical) b->y = height_of(w) - b->y - b->height;
        else b->x = width_of(w) - b->x - b->width;
    }
}

static void flip(walk *w, int vertical) {
    mirror_erasures(w, vertical);
    if (!w->resting) {
        if (vertical) gf_geometry_vflip(&w->geometry);
        else gf_geometry_hflip(&w->geometry);
    } else if (vertical) {
        w->program->pixels->vflip(&w->planes);
    } else {
        w->program->pixels->hflip(&w->planes);
    }
}

static int32_t grey(walk *w, int channels) {
    int32_t code = rest(w);
    if (!code) w->program->pixels->grey(&w->planes, channels);
    if (channels == 3) w->info |= GF_INFO_LOST;
    return code;
}

static void adjust(const gf_pixel_ops *pixels, const gf_planes *planes, int32_t what, float factor) {
    switch (what) {
    case GF_JITTER_BRIGHTNESS:
        pixels->brightness(planes, factor);
        return;
    case GF_JITTER_CONTRAST:
        pixels->contrast(planes, factor);
        return;
    case GF_JITTER_SATURATION:
        pixels->saturation(planes, factor);
        return;
    default:
        pixels->hue(planes, factor);
    }
}

static int32_t jitter(walk *w, const int32_t *record) {
    int32_t code = rest(w);
    for (int i = 0; i < 4 && !code; i++) {
        float factor;
        if (record[i] < 0 || record[i] > 3) continue;
        memcpy(&factor, record + 4 + record[i], sizeof factor);
        if (!(fabsf(factor) <= GF_MOST_FACTOR)) return gf_fault_set(w->fault, GF_FAULT_CHANGED, -1, "a colour factor of %g", (double)factor);
        adjust(w->program->pixels, &w->planes, record[i], factor);
        if (record[i] == GF_JITTER_HUE && w->planes.channels == 1) continue; // nothing was done
        w->info |= record[i] == GF_JITTER_SATURATION ? GF_INFO_GREYED : GF_INFO_LOST;
    }
    return code;
}

static int32_t erase(walk *w, const gf_image_step *step, const int32_t *record) {
    if (!record[0]) return GF_FAULT_NONE;
    gf_box box = {record[2], record[1], record[4], record[3]};
    if (!inside(w, box)) return other_size(w);
    if (w->n_erasures == GF_MOST_ERASURES) return gf_fault_set(w->fault, GF_FAULT_UNSUPPORTED, -1, "more than %d erasures", GF_MOST_ERASURES);
    w->erasures[w->n_erasures++] = (erasure){box, step->value};
    return GF_FAULT_NONE;
}

static int32_t step(walk *w, gf_source *again, int32_t i, const int32_t *record) {
    const gf_draw_step *draw = &w->program->draws[i];
    const gf_image_step *op = &w->program->steps[i];
    record += draw->record;
    switch (op->op) {
    case GF_OP_RESIZE: {
        gf_draw_size size = gf_draw_resized(draw, (gf_draw_size){width_of(w), height_of(w)});
        if (size.width < 1 || size.height < 1) return gf_fault_set(w->fault, GF_FAULT_CROP, -1, "height and width must be > 0"); // Pillow's words
        if ((int64_t)size.width * size.height > MOST_PIXELS)
            return gf_fault_set(w->fault, GF_FAULT_LIMIT, -1, "resized to %dx%d pixels", size.width, size.height);
        return resize(w, again, size.width, size.height, op->filter);
    }
    case GF_OP_CENTER_CROP:
        return center_crop(w, op, draw->size[1], draw->size[0]);
    case GF_OP_PAD:
        return pad(w, op, draw->padding);
    case GF_OP_RANDOM_CROP:
        return random_crop(w, draw, op, record);
    case GF_OP_RANDOM_RESIZED_CROP:
        return random_resized_crop(w, again, draw, op, record);
    case GF_OP_HFLIP:
    case GF_OP_VFLIP:
        if (record[0]) flip(w, op->op == GF_OP_VFLIP);
        return GF_FAULT_NONE;
    case GF_OP_GRAYSCALE:
        return grey(w, op->channels);
    case GF_OP_RANDOM_GRAYSCALE:
        return record[0] ? grey(w, w->resting ? w->planes.channels : 3) : GF_FAULT_NONE;
    case GF_OP_COLOR_JITTER:
        return jitter(w, record);
    case GF_OP_RANDOM_ERASING:
        return erase(w, op, record);
    default:
        return gf_fault_set(w->fault, GF_FAULT_UNSUPPORTED, -1, "step %d is unknown", op->op);
    }
}

static int32_t finish_into(walk *w, const gf_sink *sink) {
    if (!w->resting) return render(w, sink);
    gf_render_planes(&w->planes, sink);
    return GF_FAULT_NONE;
}

static int32_t finish_tensor(walk *w, uint8_t *x) {
    const gf_image_program *p = w->program;
    if (width_of(w) != p->width || height_of(w) != p->height)
        return gf_fault_set(w->fault, GF_FAULT_UNSUPPORTED, -1, "a sample of %dx%d instead of %dx%d", width_of(w), height_of(w), p->width, p->height);
    gf_sink sink = gf_sink_sample(p->normalise, p->width, p->height, x);
    int32_t code = finish_into(w, &sink);
    if (code) return code;
    for (int i = 0; i < w->n_erasures; i++) p->normalise->erase(p->normalise, x, p->width, p->height, &w->erasures[i].box, w->erasures[i].value);
    p->normalise->finish();
    return GF_FAULT_NONE;
}

static int32_t finish_picture(walk *w, uint8_t *x) {
    int32_t width = width_of(w), height = height_of(w);
    gf_made_picture made = {malloc(4 * (size_t)width * (size_t)height), width, height, w->info};
    if (!made.data) return gf_fault_set(w->fault, GF_FAULT_MEMORY, -1, "no memory for a picture of %dx%d", width, height);
    gf_picture picture = {made.data, 4 * (int64_t)width, width, height};
    gf_sink sink = {.pixels = w->program->pixels, .picture = &picture};
    int32_t code = finish_into(w, &sink);
    if (code) {
        free(made.data);
        return code;
    }
    memcpy(x, &made, sizeof made);
    return GF_FAULT_NONE;
}

int32_t gf_image_run(gf_image_worker *worker, const gf_image_program *p, gf_source *source, const int32_t *record, uint8_t *x, gf_fault *fault) {
    walk w = {.worker = worker, .program = p, .source = source, .geometry = gf_geometry_of(source->picture.width, source->picture.height), .fault = fault};
    gf_source again;
    if (p->record_words && !record) return gf_fault_set(fault, GF_FAULT_UNSUPPORTED, -1, "nothing was drawn for the sample");
    for (int32_t i = 0; i < p->n_steps; i++) {
        if (p->steps[i].op == GF_OP_RANDOM_APPLY) {
            if (!record[p->draws[i].record]) i += p->draws[i].inner;
            continue;
        }
        int32_t code = step(&w, &again, i, record);
        if (code) return code;
    }
    return p->output == GF_IMAGE_TENSOR ? finish_tensor(&w, x) : finish_picture(&w, x);
}
