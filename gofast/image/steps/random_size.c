// v2's RandomResize, RandomShortestSize and ScaleJitter: a resize whose size is drawn.
#include "operation.h"

static int32_t sized(gf_drawing *d, int32_t *record, double height, double width) {
    if (!(height >= 1 && width >= 1)) return GF_RAISE(d, "height and width must be > 0"); // Pillow's words
    if (height > GF_CANVAS_MOST_PIXELS || width > GF_CANVAS_MOST_PIXELS) return GF_RAISE(d, "the resized picture is too large");
    d->size = (gf_wide_size){(int64_t)height, (int64_t)width};
    record[0] = (int32_t)height;
    record[1] = (int32_t)width;
    return GF_DRAW_OK;
}

static int32_t draw_short(gf_drawing *d, const gf_step *step, int32_t *record) {
    int64_t side = step->size[0] + gf_below(d->words, (uint64_t)(step->size[1] - step->size[0]));
    gf_step resize = {.size = {(int32_t)side, 0}};
    gf_size size = gf_resized(&resize, (int32_t)d->size.width, (int32_t)d->size.height);
    return sized(d, record, size.height, size.width);
}

// Python's floats, truncated by int().
static int32_t draw_shortest(gf_drawing *d, const gf_step *step, int32_t *record) {
    double height = (double)d->size.height, width = (double)d->size.width;
    double ratio = (double)step->sides[gf_below(d->words, (uint64_t)step->n_sides)] / (height < width ? height : width);
    double most = (double)step->max_size / (height < width ? width : height);
    if (step->max_size && most < ratio) ratio = most;
    return sized(d, record, __builtin_trunc(height * ratio), __builtin_trunc(width * ratio));
}

// A tensor's float32 all the way: torch rounds each step.
static int32_t draw_scale(gf_drawing *d, const gf_step *step, int32_t *record) {
    double height = (double)d->size.height, width = (double)d->size.width;
    float part = gf_rand(d->words) * (float)(step->scale[1] - step->scale[0]);
    float scale = part + (float)step->scale[0];
    double high = (double)step->size[1] / height, wide = (double)step->size[0] / width;
    float ratio = (float)(high < wide ? high : wide) * scale;
    return sized(d, record, (double)__builtin_truncf((float)height * ratio), (double)__builtin_truncf((float)width * ratio));
}

static int32_t run(gf_canvas *c, const gf_step *step, const int32_t *record) {
    int32_t height = record[0], width = record[1];
    if (height < 1 || width < 1) return gf_fault_set(c->fault, GF_FAULT_CHANGED, -1, "a size of %dx%d", width, height);
    if ((int64_t)width * height > GF_CANVAS_MOST_PIXELS)
        return gf_fault_set(c->fault, GF_FAULT_LIMIT, -1, "resized to %dx%d pixels", width, height);
    return gf_canvas_resize(c, width, height, step->filter);
}

static const gf_field of_short[] = {GF_FIELD_SIZE, GF_FIELD_FILTER, GF_NO_FIELD};
static const gf_field of_shortest[] = {
    GF_FIELD(sides, INT32, GF_MOST_SIDES, 1, GF_MOST_SIDE, .how = GF_FEWER),
    GF_FIELD_MAX_SIZE,
    GF_FIELD_FILTER,
    GF_NO_FIELD,
};
static const gf_field of_scale[] = {GF_FIELD_SIZE, GF_FIELD_SCALE(0, GF_MOST_NUMBER), GF_FIELD_FILTER, GF_NO_FIELD};

static const char *check_short(gf_step *step) {
    return step->size[0] < step->size[1] ? NULL : "size is not a range";
}

static const char *count_sides(gf_step *step) {
    while (step->n_sides < GF_MOST_SIDES && step->sides[step->n_sides]) step->n_sides++;
    return step->n_sides ? NULL : "sides are none";
}

const gf_operation gf_op_random_resize = {.words = 2, .record = "height width", .flags = GF_DRAWS, .fields = of_short, .check = check_short, .draw = draw_short, .run = run};
const gf_operation gf_op_random_shortest_size = {.words = 2, .record = "height width", .flags = GF_DRAWS, .fields = of_shortest, .check = count_sides, .draw = draw_shortest, .run = run};
const gf_operation gf_op_scale_jitter = {.words = 2, .record = "height width", .flags = GF_DRAWS, .fields = of_scale, .draw = draw_scale, .run = run};
