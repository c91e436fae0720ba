// RandomPerspective.
#include "operation.h"
#include "transform.h"

#include <math.h>

// The words of a record. The corners are the places that the picture's own go to, clockwise from the top left. Where Python drew
// (python/gofast/_core/perspective_coefficients.py), the coefficients are torch's, with LAPACK's last bits. The ones that are computed
// here are doubles, rounded once.
enum { WIDTH, HEIGHT, CORNERS, COEFFICIENTS = CORNERS + 8, WORDS = COEFFICIENTS + 8 };

// Finds the coefficients that map the new corners to the picture's own: the map from the unit square to the corners (Heckbert,
// 1989), inverted. 0 where three corners lie on one line: there are none then, and torch mostly raises.
static int solve(const int32_t *at, double width, double height, int32_t *record) {
    const double x[4] = {at[0], at[2], at[4], at[6]}, y[4] = {at[1], at[3], at[5], at[7]};
    double x1 = x[1] - x[2], x3 = x[3] - x[2], xs = x[0] - x[1] + x[2] - x[3];
    double y1 = y[1] - y[2], y3 = y[3] - y[2], ys = y[0] - y[1] + y[2] - y[3], area = x1 * y3 - x3 * y1;
    double g = (xs * y3 - x3 * ys) / area, h = (x1 * ys - xs * y1) / area;
    double a = x[1] - x[0] + g * x[1], b = x[3] - x[0] + h * x[3], d = y[1] - y[0] + g * y[1], e = y[3] - y[0] + h * y[3];
    const double rows[8] = {width * (e - y[0] * h), width * (x[0] * h - b), width * (b * y[0] - x[0] * e),
                            height * (y[0] * g - d), height * (a - x[0] * g), height * (x[0] * d - a * y[0]),
                            d * h - e * g, b * g - a * h};
    for (int i = 0; i < 8; i++)
        if (!isfinite(rows[i] / (a * e - b * d))) return 0;
    for (int i = 0; i < 8; i++) {
        float coefficient = (float)(rows[i] / (a * e - b * d)) + 0; // a zero has no sign
        memcpy(record + i, &coefficient, sizeof coefficient);
    }
    return 1;
}

static int32_t draw(gf_drawing *d, const gf_step *step, int32_t *record) {
    if (!(gf_rand(d->words) < (float)step->p)) return GF_DRAW_OK;
    int64_t width = d->size.width, height = d->size.height;
    int64_t wide = (int64_t)(step->distortion * (double)(width / 2)) + 1, high = (int64_t)(step->distortion * (double)(height / 2)) + 1;
    record[WIDTH] = (int32_t)width;
    record[HEIGHT] = (int32_t)height;
    for (int i = 0; i < 4; i++) {
        int right = i == 1 || i == 2, bottom = i >= 2;
        record[CORNERS + 2 * i] = (int32_t)(gf_below(d->words, (uint64_t)wide) + (right ? width - wide : 0));
        record[CORNERS + 2 * i + 1] = (int32_t)(gf_below(d->words, (uint64_t)high) + (bottom ? height - high : 0));
    }
    int solved = solve(record + CORNERS, (double)(width - 1), (double)(height - 1), record + COEFFICIENTS);
    return solved || !d->exp->exact ? GF_DRAW_OK : GF_RAISE(d, "the corners of a perspective lie on one line");
}

static int32_t run(gf_canvas *c, const gf_step *step, const int32_t *record) {
    if (!record[WIDTH]) return GF_FAULT_NONE;
    gf_transform t = {.filter = step->seen, .perspective = 1, .width = gf_canvas_width(c), .height = gf_canvas_height(c)};
    if (record[WIDTH] != t.width || record[HEIGHT] != t.height)
        return gf_fault_set(c->fault, GF_FAULT_CHANGED, -1, "the perspective of %dx%d pixels in a picture of %dx%d", record[WIDTH], record[HEIGHT], t.width, t.height);
    memcpy(t.fill, step->fill, sizeof t.fill);
    for (int i = 0; i < 8; i++) {
        float coefficient;
        memcpy(&coefficient, record + COEFFICIENTS + i, sizeof coefficient);
        t.numbers[i] = (double)coefficient;
    }
    return gf_canvas_transform(c, &t);
}

static const gf_field fields[] = {GF_FIELD_P, GF_FIELD(distortion, DOUBLE, 1, 0, 1), GF_FIELDS_SEEN, GF_NO_FIELD};

const gf_operation gf_op_random_perspective = {.words = WORDS, .record = "width height corners:8i", .flags = GF_DRAWS | GF_TORCH_WORDS, .fields = fields, .check = gf_check_seen, .draw = draw, .run = run};
