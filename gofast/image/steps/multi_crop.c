// FiveCrop and TenCrop. They cut nothing themselves: a canvas is one picture.
#include "operation.h"

#include <math.h>

#define TOO_LARGE "Requested crop size (%d, %d) is bigger than input size (%lld, %lld)"

static int32_t draw(gf_drawing *d, const gf_step *step, int32_t *record) {
    (void)record;
    if (step->size[0] > d->size.height || step->size[1] > d->size.width)
        return GF_RAISE(d, TOO_LARGE, step->size[0], step->size[1], (long long)d->size.height, (long long)d->size.width);
    return GF_DRAW_OK;
}

static int32_t run(gf_canvas *c, const gf_step *step, const int32_t *record) {
    (void)record;
    int32_t height = gf_canvas_height(c), width = gf_canvas_width(c);
    if (step->size[0] > height || step->size[1] > width)
        return gf_fault_set(c->fault, GF_FAULT_CROP, -1, TOO_LARGE, step->size[0], step->size[1], (long long)height, (long long)width);
    c->crops = step;
    return gf_canvas_rest(c);
}

void gf_canvas_five(const gf_canvas *c, const gf_step *step, gf_box boxes[5]) {
    int32_t height = step->size[0], width = step->size[1];
    int32_t x = gf_canvas_width(c) - width, y = gf_canvas_height(c) - height;
    const int32_t at[5][2] = {{0, 0}, {x, 0}, {0, y}, {x, y}, {(int32_t)rint(x / 2.0), (int32_t)rint(y / 2.0)}}; // Python's round()
    for (int i = 0; i < 5; i++) boxes[i] = (gf_box){at[i][0], at[i][1], width, height};
}

static const gf_field of_five[] = {GF_FIELD_SIZE, GF_NO_FIELD};
static const gf_field of_ten[] = {GF_FIELD_SIZE, GF_FIELD(vertical, INT32, 1, 0, 1, .how = GF_OPTIONAL), GF_NO_FIELD};

const gf_operation gf_op_five_crop = {.crops = 5, .fields = of_five, .draw = draw, .run = run};
const gf_operation gf_op_ten_crop = {.crops = 10, .fields = of_ten, .draw = draw, .run = run};
