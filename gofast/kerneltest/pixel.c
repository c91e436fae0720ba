// The steps on uint8 pictures.
#include "../image/pixel/pixel.h"

#include <math.h>

#include "trial.h"

#define OPS (gf_pixel_choose(t->level))

// A picture whose rows have gaps or none.
static gf_planes sized(trial *t, int width, int height, int channels, int may) {
    gf_planes p = {.stride = width + dice(t, 2) * dice(t, 70), .width = width, .height = height, .channels = channels};
    for (int c = 0; c < 3; c++) {
        p.plane[c] = take(t, (size_t)(p.stride * height), 1, GF_READ);
        for (int y = 0; y < height; y++) allow(t, p.plane[c] + y * p.stride, (size_t)width, may);
    }
    return p;
}

static gf_planes picture(trial *t, int channels, int may) {
    return sized(t, 1 + dice(t, dice(t, 4) ? 70 : 300), 1 + dice(t, 40), channels, may);
}

static gf_planes any(trial *t, int may) { return picture(t, dice(t, 2) ? 3 : 1, may); }

static gf_planes like(trial *t, const gf_planes *p) { return sized(t, p->width, p->height, p->channels, GF_MAKE); }

static float factor(trial *t) {
    static const float some[] = {0, 1, 0.5f, 2, 1.7f, 1e6f};
    return dice(t, 3) ? (float)(3 * real(t)) : some[dice(t, 6)];
}

static void split(trial *t) {
    gf_planes to = picture(t, 3, GF_MAKE);
    int x = dice(t, 9), y = dice(t, 5);
    gf_picture from = {.stride = 4 * (x + to.width) + dice(t, 20), .width = x + to.width, .height = y + to.height};
    from.data = take(t, (size_t)(from.stride * from.height), 1, GF_READ);
    begin(t);
    OPS->split(&from, x, y, &to);
}

static void join(trial *t) {
    gf_planes from = picture(t, 3, GF_READ);
    gf_picture to = {.stride = 4 * from.width + dice(t, 20), .width = from.width, .height = from.height};
    to.data = take(t, (size_t)(to.stride * to.height), 1, GF_READ);
    for (int y = 0; y < to.height; y++) allow(t, to.data + y * to.stride, 4 * (size_t)to.width, GF_MAKE);
    begin(t);
    OPS->join(&from, &to);
}

static void grey(trial *t) {
    gf_planes p = any(t, GF_MAKE);
    begin(t);
    OPS->grey(&p, dice(t, 2) ? 3 : 1);
    result(t, (uint64_t)p.channels);
}

static void hflip(trial *t) {
    gf_planes p = any(t, GF_MAKE);
    begin(t);
    OPS->hflip(&p);
}

#define BY_FACTOR(STEP, CHANNELS, FACTOR)      \
    static void STEP(trial *t) {               \
        gf_planes p = picture(t, CHANNELS, GF_MAKE); \
        begin(t);                              \
        OPS->STEP(&p, FACTOR);                 \
    }
BY_FACTOR(brightness, dice(t, 2) ? 3 : 1, factor(t))
BY_FACTOR(contrast, dice(t, 2) ? 3 : 1, factor(t))
BY_FACTOR(saturation, 3, factor(t))
BY_FACTOR(hue, 3, dice(t, 4) ? real(t) - 0.5 : 0.5 - dice(t, 3) * 0.5)

static void tensor_hue(trial *t) {
    gf_planes p = picture(t, 3, GF_MAKE);
    begin(t);
    OPS->tensor_hue(&p, dice(t, 4) ? (float)real(t) - 0.5f : 0.5f - (float)dice(t, 3) * 0.5f, 1 + dice(t, 2));
}

static void look_up(trial *t) {
    gf_planes p = any(t, GF_MAKE);
    uint8_t *tables = take(t, 3 * 256, 1, GF_READ);
    begin(t);
    OPS->look_up(&p, (const uint8_t(*)[256])tables);
}

static void sharpen(trial *t) {
    gf_planes from = any(t, GF_READ), to = like(t, &from);
    begin(t);
    OPS->sharpen(&from, factor(t) - (float)dice(t, 2), &to);
}

static double wild(trial *t) { return exp(4 * normal(t)) * (1 - 2 * dice(t, 2)); }

static void warp(trial *t) {
    static const double huge[] = {1e308, -1e308, 1, 0}, bend[] = {0, -2, -2.0 / 3};
    gf_planes from = any(t, GF_READ), to = sized(t, 1 + dice(t, 80), 1 + dice(t, 20), from.channels, GF_MAKE);
    gf_transform m = {dice(t, 3), !dice(t, 4), to.width, to.height, {1, 0, 0, 0, 1, 0}, {1, 128, 250}};
    double x = from.width / 2.0, y = from.height / 2.0, turn = 6 * real(t), s = sin(turn), c = cos(turn);
    switch (dice(t, 5)) {
    case 0: { // a rotation
        double numbers[6] = {c, s, x - c * x - s * y, -s, c, y + s * x - c * y};
        for (int i = 0; i < 6; i++) m.numbers[i] = numbers[i];
        break;
    }
    case 1: // sheared and moved
        m.numbers[1] = real(t) * dice(t, 2), m.numbers[2] = dice(t, 9) - 4;
        m.numbers[3] = real(t) * dice(t, 2), m.numbers[5] = normal(t);
        break;
    case 2: // scaled
        m.numbers[0] = wild(t), m.numbers[2] = wild(t), m.numbers[4] = wild(t), m.numbers[5] = wild(t);
        break;
    case 3: // sums of these are no numbers
        for (int i = 0; i < 6; i++) m.numbers[i] = huge[dice(t, 4)];
        break;
    default:
        for (int i = 0; i < 6; i++) m.numbers[i] = wild(t);
    }
    for (int i = 6; i < 8; i++) m.numbers[i] = dice(t, 2) ? 0.01 * normal(t) : bend[dice(t, 3)];
    begin(t);
    OPS->warp(&from, &m, &to);
}

// A Gaussian's weights, or sums that are halves exactly, or a last bit beside one.
static void weigh(trial *t, float *weights, int n) {
    static const float halves[][3] = {{0.25f, 0.5f, 0.25f}, {0.5f, 0, 0.5f}, {0.25f, 0.5f, 0.25000003f}, {0.24999999f, 0.5f, 0.25f}, {0, 1, 0}};
    double sigma = 0.05 + 3 * real(t), sum = 0;
    int which = dice(t, 5);
    for (int i = 0; i < n; i++) sum += exp(-0.5 * pow((i - (n - 1) / 2.0) / sigma, 2));
    for (int i = 0; i < n; i++)
        weights[i] = n == 3 ? halves[which][i] : (float)(exp(-0.5 * pow((i - (n - 1) / 2.0) / sigma, 2)) / sum);
}

static void blur(trial *t) {
    gf_planes from = sized(t, 1 + dice(t, 100), 1 + dice(t, 130), dice(t, 2) ? 3 : 1, GF_READ), to = like(t, &from);
    gf_kernel k = {.width = 1, .height = 1};
    int more = dice(t, 20) ? 3 : 99; // plain C takes long
    while (k.width / 2 + 1 < from.width && k.width < GF_MOST_KERNEL && dice(t, more)) k.width += 2;
    while (k.height / 2 + 1 < from.height && k.height < GF_MOST_KERNEL && dice(t, more)) k.height += 2;
    weigh(t, k.x, k.width);
    weigh(t, k.y, k.height);
    uint8_t *room = take(t, OPS->blur_room(&k, from.width), 64, GF_SCRATCH);
    begin(t);
    OPS->blur(&from, &k, &to, room);
}

static gf_box_side side(trial *t) {
    int32_t radius = dice(t, dice(t, 4) ? 7 : 90);
    return (gf_box_side){radius, (1u << 24) / (uint32_t)(2 * radius + 2), (uint32_t)dice(t, 1 << 20)};
}

static void box_blur(trial *t) {
    gf_planes from = any(t, GF_SCRATCH), to = like(t, &from);
    gf_box_blur b = {side(t), side(t), 1 + 2 * dice(t, 2)};
    if (!dice(t, 4)) (dice(t, 2) ? &b.x : &b.y)->radius = -1;
    uint8_t *room = take(t, OPS->box_blur_room(&b, from.width), 4, GF_SCRATCH);
    begin(t);
    OPS->box_blur(&from, &b, &to, room);
}

static void grid(trial *t) {
    gf_planes from = any(t, GF_READ), to = like(t, &from);
    gf_grid g = {dice(t, 3) > 0, dice(t, 3), dice(t, 2), {0}, {(float)dice(t, 256), (float)dice(t, 256), (float)dice(t, 256)}};
    double x = 2.0 / from.width, y = 2.0 / from.height, turn = (6 * real(t)) * dice(t, 2), s = sin(turn), c = cos(turn);
    double theta[6] = {c * x, s * x, x * (dice(t, 9) - 4) * dice(t, 2), -s * y, c * y, y * normal(t) * 3};
    int anything = !dice(t, 8);
    for (int i = 0; i < 6; i++) {
        double v = anything ? exp(9 * normal(t)) * (1 - 2 * dice(t, 2)) : theta[i];
        g.theta[i] = (float)fmin(fmax(v, -1e6), 1e6);
    }
    begin(t);
    OPS->grid(&from, &g, &to);
}

static void tensor_grey_sum(trial *t) {
    gf_planes p = picture(t, 3, GF_READ);
    begin(t);
    result(t, OPS->tensor_grey_sum(&p, dice(t, 2)));
}

static void tensor_saturate(trial *t) {
    gf_planes from = picture(t, 3, GF_READ), to = like(t, &from);
    double ratio = 4 * real(t) - 1;
    begin(t);
    OPS->tensor_saturate(&from, (float)ratio, (float)(1 - ratio), dice(t, 2), &to);
}

static void tensor_sharpen(trial *t) {
    gf_planes from = sized(t, 3 + dice(t, 90), 3 + dice(t, 40), dice(t, 2) ? 3 : 1, GF_READ), to = like(t, &from);
    double ratio = 4 * real(t) - 1;
    begin(t);
    OPS->tensor_sharpen(&from, (float)ratio, (float)(1 - ratio), dice(t, 2), &to);
}

static void mix(trial *t) {
    gf_planes all[GF_MOST_MIXED] = {picture(t, 3, GF_MAKE)}, to = all[0]; // dst may be one of them
    float weights[GF_MOST_MIXED], left = 1;
    int n = 2 + dice(t, GF_MOST_MIXED - 1);
    for (int i = 0; i < n; i++) {
        if (i > 0) all[i] = sized(t, to.width, to.height, 3, GF_READ);
        weights[i] = left * (float)real(t);
        left -= weights[i];
    }
    if (dice(t, 2)) to = like(t, &to);
    begin(t);
    OPS->mix(all, weights, n, &to);
}

#define ROW(STEP) {"pixel " #STEP, gf_pixel_level, STEP}
const kernel gf_pixel_kernels[] = {
    ROW(split), ROW(join), ROW(hflip), ROW(grey), ROW(brightness), ROW(contrast), ROW(saturation), ROW(hue), ROW(look_up),
    ROW(sharpen), ROW(warp), ROW(blur), ROW(box_blur), ROW(grid), ROW(tensor_grey_sum), ROW(tensor_saturate), ROW(tensor_sharpen),
    ROW(tensor_hue), ROW(mix), {0},
};
