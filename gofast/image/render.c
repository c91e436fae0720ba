#include "render.h"

#include <string.h>

gf_sink gf_sink_sample(const gf_normalise *n, int32_t width, int32_t height, uint8_t *x) {
    int64_t row = (int64_t)width * n->numbers.size, plane = row * height;
    if (n->numbers.last) return (gf_sink){.normalise = n, .out = {x}, .out_stride = row * n->numbers.channels};
    return (gf_sink){.normalise = n, .out = {x, x + plane, x + 2 * plane}, .out_stride = row};
}

static void first_channel(const uint8_t *rgbx, int32_t width, uint8_t *to) {
    for (int32_t i = 0; i < width; i++) to[i] = rgbx[4 * i];
}

// A sample of one channel: pixels have three, which are equal.
static void put_grey(const gf_sink *sink, uint8_t *out, const uint8_t *row, int32_t width) {
    enum { SOME = 512 };
    uint8_t grey[SOME + GF_FORMAT_SLACK] = {0};
    const uint8_t *const rows[3] = {grey, grey, grey};
    for (int32_t x = 0; x < width; x += SOME) {
        int32_t n = width - x < SOME ? width - x : SOME;
        uint8_t *const at[3] = {out + (int64_t)x * sink->normalise->numbers.size, NULL, NULL};
        first_channel(row + 4 * (int64_t)x, n, grey);
        sink->normalise->planar(sink->normalise, rows, n, at);
    }
}

static void put_rgbx(const gf_sink *sink, int32_t y, const uint8_t *row, int32_t width) {
    if (sink->normalise && sink->normalise->numbers.channels == 1) {
        put_grey(sink, sink->out[0] + y * sink->out_stride, row, width);
    } else if (sink->normalise) {
        uint8_t *const out[3] = {sink->out[0] + y * sink->out_stride, sink->out[1] + y * sink->out_stride, sink->out[2] + y * sink->out_stride};
        sink->normalise->rgbx(sink->normalise, row, width, out);
    } else if (sink->planes) {
        const gf_planes *p = sink->planes;
        if (p->channels == 1) {
            first_channel(row, width, p->plane[0] + y * p->stride);
            return;
        }
        gf_planes line = {{p->plane[0] + y * p->stride, p->plane[1] + y * p->stride, p->plane[2] + y * p->stride}, p->stride, width, 1, 3};
        gf_picture from = {(uint8_t *)row, 4 * (int64_t)width, width, 1};
        sink->pixels->split(&from, 0, 0, &line);
    } else {
        memcpy(sink->picture->data + y * sink->picture->stride, row, 4 * (size_t)width);
    }
}

static void put_planar(const gf_sink *sink, int32_t y, const uint8_t *const rows[3], int32_t width) {
    if (sink->normalise) {
        uint8_t *const out[3] = {sink->out[0] + y * sink->out_stride, sink->out[1] + y * sink->out_stride, sink->out[2] + y * sink->out_stride};
        sink->normalise->planar(sink->normalise, rows, width, out);
    } else if (sink->planes) {
        for (int c = 0; c < sink->planes->channels; c++) memcpy(sink->planes->plane[c] + y * sink->planes->stride, rows[c], (size_t)width);
    } else {
        gf_planes line = {{(uint8_t *)rows[0], (uint8_t *)rows[1], (uint8_t *)rows[2]}, width, width, 1, 3};
        gf_picture to = {sink->picture->data + y * sink->picture->stride, sink->picture->stride, width, 1};
        sink->pixels->join(&line, &to);
    }
}

static void mirror(const uint8_t *row, int32_t width, uint8_t *out) {
    for (int32_t x = 0; x < width; x++) memcpy(out + 4 * x, row + 4 * (width - 1 - x), 4);
}

static inline int32_t sink_row(const gf_geometry *g, int32_t y) { return g->vflip ? g->window.height - 1 - y : y; }

// The part of a picture's time that a sink takes.
static inline int part_of(const gf_sink *sink) { return sink->normalise ? GF_PART_NUMBERS : GF_PART_STEPS; }

// The source's next rows: whatever is done behind them counts as a part of its own.
static const uint8_t *next_rows(gf_meter *meter, gf_opened *source, int32_t rows, int64_t *stride, int part, gf_fault *fault) {
    gf_meter_part(meter, meter->decoding);
    const uint8_t *at = gf_opened_rows(source, rows, stride, fault);
    gf_meter_part(meter, part);
    return at;
}

static int32_t copy_rows(gf_renderer *r, gf_opened *source, const gf_geometry *g, const gf_sink *sink, gf_fault *fault) {
    gf_meter *meter = gf_meter_here();
    gf_meter_part(meter, meter->decoding);
    int32_t code = gf_opened_start(source, g->box, fault);
    if (code) return code;
    if (g->hflip && !gf_bytes_reserve(&r->row, 4 * (size_t)g->box.width))
        return gf_fault_set(fault, GF_FAULT_MEMORY, -1, "no memory for a row of %d pixels", g->box.width);
    for (int32_t y = 0; y < g->box.height;) {
        int32_t rows = g->box.height - y < GF_FORMAT_ROWS ? g->box.height - y : GF_FORMAT_ROWS;
        int64_t stride;
        const uint8_t *at = next_rows(meter, source, rows, &stride, part_of(sink), fault);
        if (!at) return fault->code;
        for (int32_t k = 0; k < rows; k++, y++, at += stride) {
            const uint8_t *row = at;
            if (g->hflip) {
                mirror(at, g->box.width, r->row.data);
                row = r->row.data;
            }
            put_rgbx(sink, sink_row(g, y), row, g->box.width);
        }
    }
    return GF_FAULT_NONE;
}

gf_resize_plan gf_render_plan(const gf_geometry *g, int32_t pass_order) {
    gf_resize_plan plan = {
        .in_width = g->box.width, .in_height = g->box.height, .out_width = g->width, .out_height = g->height,
        .window = g->window, .filter = g->filter, .order = pass_order, .flip = g->hflip,
    };
    memcpy(plan.part, g->part, sizeof plan.part);
    return plan;
}

gf_box gf_render_region(const gf_geometry *g, const gf_resize *begun) {
    return (gf_box){g->box.x + begun->x.lo, g->box.y + begun->y.lo, begun->x.hi - begun->x.lo, begun->y.hi - begun->y.lo};
}

static int32_t resize_rows(gf_renderer *r, gf_opened *source, const gf_geometry *g, int32_t pass_order, const gf_sink *sink, gf_fault *fault) {
    gf_resize *resize = &r->resize;
    gf_meter *meter = gf_meter_here();
    gf_meter_part(meter, GF_PART_RESIZE);
    gf_resize_plan plan = gf_render_plan(g, pass_order);
    int32_t code = gf_resize_begin(resize, &plan);
    if (code) return gf_fault_set(fault, code, -1, "resize of %dx%d to %dx%d", g->box.width, g->box.height, g->width, g->height);
    gf_box region = gf_render_region(g, resize);
    gf_meter_part(meter, meter->decoding);
    if ((code = gf_opened_start(source, region, fault))) return code;
    const uint8_t *planes[3];
    int32_t most = GF_FORMAT_ROWS;
    for (int32_t y = 0, done = 0; y < region.height;) {
        int32_t idle = gf_resize_idle(resize);
        if (idle && gf_opened_skip(source, idle)) {
            gf_resize_skip(resize, idle);
            y += idle;
            most = 1;
            continue;
        }
        int32_t rows = region.height - y < most ? region.height - y : most;
        int64_t stride;
        const uint8_t *at = next_rows(meter, source, rows, &stride, GF_PART_RESIZE, fault);
        if (!at) return fault->code;
        for (int32_t k = 0; k < rows; k++, y++, at += stride) {
            gf_resize_push(resize, at);
            while (gf_resize_pull(resize, planes)) {
                gf_meter_part(meter, part_of(sink));
                put_planar(sink, sink_row(g, done++), planes, g->window.width);
                gf_meter_part(meter, GF_PART_RESIZE);
            }
        }
    }
    return GF_FAULT_NONE;
}

int32_t gf_render(gf_renderer *r, gf_opened *source, const gf_geometry *g, int32_t pass_order, const gf_sink *sink, gf_fault *fault) {
    int32_t code = g->resized ? resize_rows(r, source, g, pass_order, sink, fault) : copy_rows(r, source, g, sink, fault);
    gf_meter_part(gf_meter_here(), GF_PART_STEPS);
    return code;
}

void gf_render_planes(const gf_planes *p, const gf_sink *sink) {
    gf_meter *meter = gf_meter_here();
    gf_meter_part(meter, part_of(sink));
    int second = p->channels == 3, third = p->channels == 3 ? 2 : 0; // grey is all three
    if (sink->normalise && p->stride == p->width) { // and so are the sample's: one long row
        const uint8_t *const rows[3] = {p->plane[0], p->plane[second], p->plane[third]};
        sink->normalise->planar(sink->normalise, rows, (int64_t)p->width * p->height, (uint8_t *const *)sink->out);
        gf_meter_part(meter, GF_PART_STEPS);
        return;
    }
    for (int32_t y = 0; y < p->height; y++) {
        const uint8_t *const rows[3] = {p->plane[0] + y * p->stride, p->plane[second] + y * p->stride, p->plane[third] + y * p->stride};
        put_planar(sink, y, rows, p->width);
    }
    gf_meter_part(meter, GF_PART_STEPS);
}
