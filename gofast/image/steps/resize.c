// Resize: of the short side, of both, or of the long side only.
#include "operation.h"

// Python's int(a * b / c): the product is exact, the quotient rounded once.
static int32_t scaled(int64_t a, int64_t b, int64_t c) {
    double value = (double)(a * b) / (double)c;
    return value < 0x1p31 ? (int32_t)value : INT32_MAX;
}

gf_size gf_resized(const gf_step *step, int32_t width, int32_t height) {
    if (step->size[1]) return (gf_size){step->size[1], step->size[0]};
    int portrait = width <= height;
    int32_t shorter = portrait ? width : height, longer = portrait ? height : width;
    int32_t new_short = step->size[0], new_long = step->max_size;
    if (new_short) {
        new_long = scaled(new_short, longer, shorter);
        if (step->max_size && new_long > step->max_size) {
            new_short = scaled(step->max_size, new_short, new_long);
            new_long = step->max_size;
        }
    } else {
        new_short = scaled(new_long, shorter, longer);
    }
    return portrait ? (gf_size){new_short, new_long} : (gf_size){new_long, new_short};
}

#define EMPTY "height and width must be > 0" // Pillow's words

static int32_t draw(gf_drawing *d, const gf_step *step, int32_t *record) {
    (void)record;
    gf_size size = gf_resized(step, (int32_t)d->size.width, (int32_t)d->size.height);
    if (size.width < 1 || size.height < 1) return GF_RAISE(d, EMPTY);
    d->size = (gf_wide_size){size.height, size.width};
    return GF_DRAW_OK;
}

static int32_t run(gf_canvas *c, const gf_step *step, const int32_t *record) {
    (void)record;
    gf_size size = gf_resized(step, gf_canvas_width(c), gf_canvas_height(c));
    if (size.width < 1 || size.height < 1) return gf_fault_set(c->fault, GF_FAULT_CROP, -1, EMPTY);
    if ((int64_t)size.width * size.height > GF_CANVAS_MOST_PIXELS)
        return gf_fault_set(c->fault, GF_FAULT_LIMIT, -1, "resized to %dx%d pixels", size.width, size.height);
    return gf_canvas_resize(c, size.width, size.height, step->filter);
}

static const gf_field fields[] = {
    GF_FIELD(size, INT32, 2, 1, GF_MOST_SIDE, .how = GF_FEWER),
    GF_FIELD_MAX_SIZE,
    GF_FIELD_FILTER,
    GF_NO_FIELD,
};

static const char *check(gf_step *step) {
    if (step->size[0] ? step->size[1] && step->max_size : !step->max_size) return "size and max_size do not go together";
    return step->max_size && step->max_size <= step->size[0] ? "max_size must be greater than the short side" : NULL;
}

const gf_operation gf_op_resize = {.fields = fields, .check = check, .draw = draw, .run = run};
