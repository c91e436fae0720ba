// The matrices of Image.rotate and torchvision's affine: every operation in Python's order, each rounded once.
#include "transform.h"

#include <math.h>
#include <string.h>

// libm's own, as Python's math calls them; a compiler may put others in their place.
static double (*const volatile cosine)(double) = cos;
static double (*const volatile sine)(double) = sin;
static double (*const volatile tangent)(double) = tan;

static double radians(double degrees) { return degrees * (3.141592653589793 / 180.0); }

// Python's round(x, 15) of -1 to 1: the whole number of 10^-15ths that is nearest to the exact product, halves to even.
static double round15(double x) {
    double product = x * 1e15, error = fma(x, 1e15, -product), whole = rint(product), rest = product - whole;
    if (rest == 0.5 && error > 0) whole += 1;
    if (rest == -0.5 && error < 0) whole -= 1;
    return copysign(whole / 1e15, x);
}

double gf_modulo360(double x) {
    double rest = fmod(x, 360.0);
    return rest < 0 ? rest + 360.0 : rest;
}

static void apply(const double m[6], double x, double y, double *to_x, double *to_y) {
    double new_x = m[0] * x + m[1] * y + m[2], new_y = m[3] * x + m[4] * y + m[5];
    *to_x = new_x;
    *to_y = new_y;
}

// How far apart the outermost corners are, in whole pixels.
static double spread(const double v[4]) {
    double low = v[0], high = v[0];
    for (int i = 1; i < 4; i++) {
        if (v[i] < low) low = v[i];
        if (v[i] > high) high = v[i];
    }
    return ceil(high) - floor(low);
}

static int32_t bounded(double side) { return side < 0x1p31 ? (int32_t)side : INT32_MAX; }

int32_t gf_rotation_transform(const gf_rotation *r, int64_t width, int64_t height, gf_transform *t) {
    double angle = gf_modulo360(r->angle), *m = t->numbers;
    memset(t, 0, sizeof *t);
    t->filter = r->filter;
    memcpy(t->fill, r->fill, sizeof t->fill);
    t->width = (int32_t)width;
    t->height = (int32_t)height;
    if (!r->centred && !r->moved) {
        if (angle == 0) return 0;
        if (angle == 180) return 2;
        if ((angle == 90 || angle == 270) && (r->expand || width == height)) {
            t->width = (int32_t)height;
            t->height = (int32_t)width;
            return angle == 90 ? 1 : 3;
        }
    }
    double w = (double)width, h = (double)height, x = r->centred ? r->center[0] : w / 2, y = r->centred ? r->center[1] : h / 2;
    angle = -radians(angle);
    m[0] = round15(cosine(angle));
    m[1] = round15(sine(angle));
    m[3] = round15(-sine(angle));
    m[4] = round15(cosine(angle));
    apply(m, -x - r->move[0], -y - r->move[1], &m[2], &m[5]);
    m[2] += x;
    m[5] += y;
    if (!r->expand) return -1;
    double xs[4], ys[4];
    apply(m, 0, 0, &xs[0], &ys[0]);
    apply(m, w, 0, &xs[1], &ys[1]);
    apply(m, w, h, &xs[2], &ys[2]);
    apply(m, 0, h, &xs[3], &ys[3]);
    double new_w = spread(xs), new_h = spread(ys);
    apply(m, -(new_w - w) / 2.0, -(new_h - h) / 2.0, &m[2], &m[5]);
    t->width = bounded(new_w);
    t->height = bounded(new_h);
    return -1;
}

// The two versions of torchvision round differently.
void gf_affine_numbers(const gf_affine *f, double m[6]) {
    double angle = radians(f->angle), shear_x = radians(f->shear[0]), shear_y = radians(f->shear[1]);
    double a = cosine(angle - shear_y) / cosine(shear_y), c = sine(angle - shear_y) / cosine(shear_y), b, d;
    if (f->version == 1) {
        b = -cosine(angle - shear_y) * tangent(shear_x) / cosine(shear_y) - sine(angle);
        d = -sine(angle - shear_y) * tangent(shear_x) / cosine(shear_y) + cosine(angle);
    } else {
        b = -(a * tangent(shear_x) + sine(angle));
        d = cosine(angle) - c * tangent(shear_x);
    }
    m[0] = d / f->scale;
    m[1] = -b / f->scale;
    m[3] = -c / f->scale;
    m[4] = a / f->scale;
    if (f->version == 1) {
        double x = -f->center[0] - f->move[0], y = -f->center[1] - f->move[1];
        m[2] = m[0] * x + m[1] * y + f->center[0];
        m[5] = m[3] * x + m[4] * y + f->center[1];
    } else {
        double x = f->center[0] + f->move[0], y = f->center[1] + f->move[1];
        m[2] = f->center[0] - m[0] * x - m[1] * y;
        m[5] = f->center[1] - m[3] * x - m[4] * y;
    }
}
