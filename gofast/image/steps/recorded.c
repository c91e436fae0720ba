#include "recorded.h"

#include "../resample/resample.h"
#include "operation.h"
#include "tone.h"
#include "transform.h"

// Pillow's Image.Resampling, Image.Transpose and Image.Transform, by their numbers.
static const int32_t filters[] = {GF_FILTER_NEAREST, GF_FILTER_LANCZOS, GF_FILTER_BILINEAR, GF_FILTER_BICUBIC, GF_FILTER_BOX, GF_FILTER_HAMMING};
enum { FILTERS = sizeof filters / sizeof *filters };
enum { FLIP_LEFT_RIGHT, FLIP_TOP_BOTTOM, ROTATE_90, ROTATE_180, ROTATE_270, TRANSPOSE, TRANSVERSE, TURNS };
enum { AFFINE = 0, PERSPECTIVE = 2 };
static const int32_t seen[] = {[0] = GF_SEEN_NEAREST, [2] = GF_SEEN_BILINEAR, [3] = GF_SEEN_BICUBIC};

static int32_t refuse(gf_canvas *c, const char *what) { return gf_fault_set(c->fault, GF_FAULT_UNSUPPORTED, -1, "%s was recorded for another picture", what); }

static int32_t crop(gf_canvas *c, const int32_t w[4], const void *more) {
    (void)more;
    gf_box box = {w[0], w[1], w[2], w[3]};
    if (w[2] < 1 || w[3] < 1 || gf_canvas_inside(c, box, gf_canvas_width(c), gf_canvas_height(c))) return refuse(c, "a crop");
    gf_canvas_crop(c, box);
    return GF_FAULT_NONE;
}

// Larger numbers are not those of pixels any more.
static int is_part(const gf_canvas *c, const float *part) {
    int32_t width = gf_canvas_width(c), height = gf_canvas_height(c);
    if (width > 1 << 24 || height > 1 << 24) return 0;
    return part[0] >= 0 && part[0] < part[2] && part[2] <= (float)width && part[1] >= 0 && part[1] < part[3] && part[3] <= (float)height;
}

static int32_t resize(gf_canvas *c, const int32_t w[4], const void *part) {
    if (w[0] < 1 || w[1] < 1 || w[0] > GF_MOST_SIDE || w[1] > GF_MOST_SIDE || (int64_t)w[0] * w[1] > GF_CANVAS_MOST_PIXELS || w[2] < 0 || w[2] >= FILTERS)
        return refuse(c, "a resize");
    if (!part) return gf_canvas_resize(c, w[0], w[1], filters[w[2]]);
    return is_part(c, part) ? gf_canvas_resize_part(c, part, w[0], w[1], filters[w[2]]) : refuse(c, "a resize");
}

// Rows become columns. Squares of 32 x 32 keep both sides in the caches.
static void swap_sides(const gf_planes *from, const gf_planes *to) {
    enum { SIDE = 32 };
    for (int i = 0; i < from->channels; i++)
        for (int32_t top = 0; top < from->height; top += SIDE)
            for (int32_t left = 0; left < from->width; left += SIDE)
                for (int32_t y = top; y < top + SIDE && y < from->height; y++)
                    for (int32_t x = left; x < left + SIDE && x < from->width; x++)
                        to->plane[i][x * to->stride + y] = from->plane[i][y * from->stride + x];
}

static int32_t transpose(gf_canvas *c) {
    gf_planes made;
    int32_t code = gf_canvas_rest(c);
    if (!code) code = c->lay_out(c, !c->buffer, c->planes.height, c->planes.width, &made);
    if (code) return code;
    made.channels = c->planes.channels;
    swap_sides(&c->planes, &made);
    c->buffer = !c->buffer;
    c->planes = made;
    return GF_FAULT_NONE;
}

static int32_t turn(gf_canvas *c, const int32_t w[4], const void *more) {
    static const int32_t yes[] = {1};
    int32_t how = w[0];
    (void)more;
    if (how < 0 || how >= TURNS) return refuse(c, "a turn");
    int32_t code = how == ROTATE_90 || how == ROTATE_270 || how == TRANSPOSE || how == TRANSVERSE ? transpose(c) : GF_FAULT_NONE;
    if (!code && (how == FLIP_LEFT_RIGHT || how == ROTATE_180 || how == ROTATE_270 || how == TRANSVERSE)) code = gf_op_hflip.run(c, NULL, yes);
    if (!code && (how == FLIP_TOP_BOTTOM || how == ROTATE_180 || how == ROTATE_90 || how == TRANSVERSE)) code = gf_op_vflip.run(c, NULL, yes);
    return code;
}

static int32_t grey(gf_canvas *c, const int32_t w[4], const void *more) {
    (void)w, (void)more;
    int32_t code = gf_canvas_rest(c);
    if (!code) c->pixels->grey(&c->planes, 3);
    return code;
}

static int32_t warp(gf_canvas *c, const int32_t w[4], const void *numbers) {
    int32_t method = w[2] / 16, filter = w[2] % 16;
    if (w[0] < 1 || w[1] < 1 || (method != AFFINE && method != PERSPECTIVE) || (filter != 0 && filter != 2 && filter != 3)) return refuse(c, "a transform");
    gf_transform t = {.filter = seen[filter], .perspective = method == PERSPECTIVE, .width = w[0], .height = w[1],
                      .fill = {w[3] & 255, w[3] >> 8 & 255, w[3] >> 16 & 255}};
    memcpy(t.numbers, numbers, sizeof t.numbers);
    return gf_canvas_transform(c, &t);
}

static int32_t look_up(gf_canvas *c, const int32_t w[4], const void *tables) {
    (void)w;
    int32_t code = gf_canvas_rest(c);
    if (!code) c->pixels->look_up(&c->planes, tables);
    return code;
}

static int32_t blur(gf_canvas *c, const int32_t w[4], const void *more) {
    float radius[2];
    (void)more;
    memcpy(radius, w, sizeof radius);
    return gf_canvas_box_blur(c, radius, w[2]);
}

static int32_t enhance(gf_canvas *c, const int32_t w[4], const void *more) {
    double factor;
    (void)more;
    memcpy(&factor, w + 2, sizeof factor);
    switch (w[0]) {
    case GF_ENHANCE_BRIGHTNESS: return gf_canvas_brightness(c, (float)factor);
    case GF_ENHANCE_CONTRAST: return gf_canvas_contrast(c, (float)factor);
    case GF_ENHANCE_COLOR: return gf_canvas_saturation(c, (float)factor);
    case GF_ENHANCE_SHARPNESS: return gf_canvas_sharpness(c, (float)factor);
    case GF_ENHANCE_HUE: break;
    default: return refuse(c, "an enhancement");
    }
    if (!(factor >= -0.5 && factor <= 0.5)) return refuse(c, "a hue");
    int32_t code = gf_canvas_rest(c);
    if (!code) c->pixels->hue(&c->planes, factor);
    return code;
}

static int32_t levels(gf_canvas *c, const int32_t w[4], const void *more) {
    (void)more;
    return w[0] == GF_LEVELS_EQUALIZE ? gf_canvas_equalize(c) : w[0] == GF_LEVELS_AUTOCONTRAST ? gf_canvas_autocontrast(c) : refuse(c, "levels");
}

static int32_t pad(gf_canvas *c, const int32_t w[4], const void *colour) {
    gf_step step = {.kind = GF_STEP_pad, .mode = GF_EDGE_CONSTANT};
    for (int i = 0; i < 4; i++) {
        if (w[i] < 0 || w[i] > GF_CANVAS_MOST_PIXELS) return refuse(c, "a border");
        step.padding[i] = w[i];
    }
    memcpy(step.fill, colour, sizeof step.fill);
    return gf_op_pad.run(c, &step, NULL);
}

static int32_t fill(gf_canvas *c, const int32_t w[4], const void *colour) {
    gf_box box = {w[0], w[1], w[2], w[3]};
    if (gf_canvas_inside(c, box, gf_canvas_width(c), gf_canvas_height(c))) return refuse(c, "a colour");
    int32_t code = gf_canvas_rest(c);
    for (int i = 0; i < c->planes.channels && !code; i++)
        for (int32_t y = box.y; y < box.y + box.height; y++)
            memset(c->planes.plane[i] + y * c->planes.stride + box.x, ((const uint8_t *)colour)[i], (size_t)box.width);
    return code;
}

// The decoder has done it: see lazy.c.
static int32_t indices(gf_canvas *c, const int32_t w[4], const void *more) {
    (void)c, (void)w, (void)more;
    return GF_FAULT_NONE;
}

// By kind: what does it, and how many bytes more it is given.
static const struct {
    int32_t (*run)(gf_canvas *, const int32_t w[4], const void *more);
    int64_t more;
} operations[GF_RECORDED_KINDS] = {
    [GF_RECORDED_CROP] = {crop},
    [GF_RECORDED_RESIZE] = {resize},
    [GF_RECORDED_RESIZE_PART] = {resize, 4 * sizeof(float)},
    [GF_RECORDED_TURN] = {turn},
    [GF_RECORDED_GREY] = {grey},
    [GF_RECORDED_WARP] = {warp, 8 * sizeof(double)},
    [GF_RECORDED_TABLE] = {look_up, 3 * 256},
    [GF_RECORDED_BLUR] = {blur},
    [GF_RECORDED_ENHANCE] = {enhance},
    [GF_RECORDED_LEVELS] = {levels},
    [GF_RECORDED_PAD] = {pad, 16},
    [GF_RECORDED_FILL] = {fill, 16},
    [GF_RECORDED_INDICES] = {indices},
};

// Takes what belongs to operation *i out of those behind it, which are then done. 0 where it is not there.
static int take_more(const gf_recorded *recorded, int64_t n, int64_t *i, uint8_t *to, int64_t bytes) {
    enum { EACH = sizeof recorded->words };
    for (; bytes > 0; to += EACH, bytes -= EACH) {
        if (++*i >= n || recorded[*i].kind != GF_RECORDED_MORE) return 0;
        memcpy(to, recorded[*i].words, EACH);
    }
    return 1;
}

int32_t gf_canvas_replay(gf_canvas *c, const gf_recorded *recorded, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        _Alignas(double) uint8_t more[3 * 256];
        const int32_t *w = recorded[i].words;
        uint32_t kind = (uint32_t)recorded[i].kind;
        if (kind >= GF_RECORDED_KINDS || !operations[kind].run) return refuse(c, "something");
        int64_t bytes = operations[kind].more;
        if (!take_more(recorded, n, &i, more, bytes)) return refuse(c, "something");
        int32_t code = operations[kind].run(c, w, bytes ? more : NULL);
        if (code) return code;
    }
    c->info = 0; // whoever recorded it knows what became of that
    return GF_FAULT_NONE;
}
