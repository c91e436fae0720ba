#include "recorded.h"

#include "../resample/resample.h"
#include "operation.h"
#include "transform.h"

// Pillow's Image.Resampling, Image.Transpose and Image.Transform, by their numbers.
static const int32_t filters[] = {GF_FILTER_NEAREST, GF_FILTER_LANCZOS, GF_FILTER_BILINEAR, GF_FILTER_BICUBIC, GF_FILTER_BOX, GF_FILTER_HAMMING};
enum { FILTERS = sizeof filters / sizeof *filters };
enum { FLIP_LEFT_RIGHT, FLIP_TOP_BOTTOM, ROTATE_90, ROTATE_180, ROTATE_270, TRANSPOSE, TRANSVERSE, TURNS };
enum { AFFINE = 0, PERSPECTIVE = 2 };
static const int32_t seen[] = {[0] = GF_SEEN_NEAREST, [2] = GF_SEEN_BILINEAR, [3] = GF_SEEN_BICUBIC};

static int32_t refuse(gf_canvas *c, const char *what) { return gf_fault_set(c->fault, GF_FAULT_UNSUPPORTED, -1, "%s was recorded for another picture", what); }

static int32_t crop(gf_canvas *c, const int32_t w[4]) {
    gf_box box = {w[0], w[1], w[2], w[3]};
    if (w[2] < 1 || w[3] < 1 || gf_canvas_inside(c, box, gf_canvas_width(c), gf_canvas_height(c))) return refuse(c, "a crop");
    gf_canvas_crop(c, box);
    return GF_FAULT_NONE;
}

// Larger numbers are not those of pixels any more.
static int is_part(const gf_canvas *c, const float part[4]) {
    int32_t width = gf_canvas_width(c), height = gf_canvas_height(c);
    if (width > 1 << 24 || height > 1 << 24) return 0;
    return part[0] >= 0 && part[0] < part[2] && part[2] <= (float)width && part[1] >= 0 && part[1] < part[3] && part[3] <= (float)height;
}

static int32_t resize(gf_canvas *c, const int32_t w[4], const float *part) {
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

static int32_t turn(gf_canvas *c, int32_t how) {
    static const int32_t yes[] = {1};
    if (how < 0 || how >= TURNS) return refuse(c, "a turn");
    int32_t code = how == ROTATE_90 || how == ROTATE_270 || how == TRANSPOSE || how == TRANSVERSE ? transpose(c) : GF_FAULT_NONE;
    if (!code && (how == FLIP_LEFT_RIGHT || how == ROTATE_180 || how == ROTATE_270 || how == TRANSVERSE)) code = gf_op_hflip.run(c, NULL, yes);
    if (!code && (how == FLIP_TOP_BOTTOM || how == ROTATE_180 || how == ROTATE_90 || how == TRANSVERSE)) code = gf_op_vflip.run(c, NULL, yes);
    return code;
}

static int32_t grey(gf_canvas *c) {
    int32_t code = gf_canvas_rest(c);
    if (!code) c->pixels->grey(&c->planes, 3);
    return code;
}

// Takes what belongs to operation *i out of those behind it, which are then done. 0 where it is not there.
static int more(const gf_recorded *recorded, int64_t n, int64_t *i, void *to, int64_t bytes) {
    enum { EACH = sizeof recorded->words };
    for (uint8_t *at = to; bytes > 0; at += EACH, bytes -= EACH) {
        if (++*i >= n || recorded[*i].kind != GF_RECORDED_MORE) return 0;
        memcpy(at, recorded[*i].words, EACH);
    }
    return 1;
}

static int32_t warp(gf_canvas *c, const int32_t w[4], const double numbers[8]) {
    int32_t method = w[2] / 16, filter = w[2] % 16;
    if (w[0] < 1 || w[1] < 1 || (method != AFFINE && method != PERSPECTIVE) || (filter != 0 && filter != 2 && filter != 3)) return refuse(c, "a transform");
    gf_transform t = {.filter = seen[filter], .perspective = method == PERSPECTIVE, .width = w[0], .height = w[1],
                      .fill = {w[3] & 255, w[3] >> 8 & 255, w[3] >> 16 & 255}};
    memcpy(t.numbers, numbers, sizeof t.numbers);
    return gf_canvas_transform(c, &t);
}

static int32_t look_up(gf_canvas *c, const uint8_t tables[3][256]) {
    int32_t code = gf_canvas_rest(c);
    if (!code) c->pixels->look_up(&c->planes, tables);
    return code;
}

int32_t gf_canvas_replay(gf_canvas *c, const gf_recorded *recorded, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const int32_t *w = recorded[i].words;
        double numbers[8];
        float part[4];
        uint8_t tables[3][256];
        int32_t code;
        switch (recorded[i].kind) {
        case GF_RECORDED_CROP: code = crop(c, w); break;
        case GF_RECORDED_RESIZE:
            if (!w[3]) code = resize(c, w, NULL);
            else code = more(recorded, n, &i, part, sizeof part) ? resize(c, w, part) : refuse(c, "a resize");
            break;
        case GF_RECORDED_TURN: code = turn(c, w[0]); break;
        case GF_RECORDED_GREY: code = grey(c); break;
        case GF_RECORDED_WARP: code = more(recorded, n, &i, numbers, sizeof numbers) ? warp(c, w, numbers) : refuse(c, "a transform"); break;
        case GF_RECORDED_TABLE: code = more(recorded, n, &i, tables, sizeof tables) ? look_up(c, tables) : refuse(c, "a table"); break;
        default: code = refuse(c, "something");
        }
        if (code) return code;
    }
    return GF_FAULT_NONE;
}
