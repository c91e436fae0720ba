// GaussianBlur.
#include "operation.h"

// In a record: sigma, and then the weights. They are torch's own where Python drew (python/gofast/_core/gaussian.py), whose
// float exp is not correctly rounded; these here are of doubles, rounded once.
enum { SIGMA, X, Y = X + GF_MOST_KERNEL, WORDS = Y + GF_MOST_KERNEL };

static void weigh(int32_t n, float sigma, int32_t *record) {
    double pdf[GF_MOST_KERNEL], sum = 0;
    for (int32_t i = 0; i < n; i++) {
        double x = (i - (n - 1) * 0.5) / (double)sigma, power = -0.5 * x * x;
        sum += pdf[i] = power < -80 ? 0 : gf_exponential(power);
    }
    for (int32_t i = 0; i < n; i++) {
        float weight = (float)(pdf[i] / sum);
        memcpy(record + i, &weight, sizeof weight);
    }
}

static int32_t draw(gf_drawing *d, const gf_step *step, int32_t *record) {
    float sigma = gf_uniform(d->words, step->sigma[0], step->sigma[1]);
    memcpy(record + SIGMA, &sigma, sizeof sigma);
    weigh(step->kernel[0], sigma, record + X);
    weigh(step->kernel[1], sigma, record + Y);
    return GF_DRAW_OK;
}

static int are_weights(const float *weights, int32_t n) {
    for (int32_t i = 0; i < n; i++)
        if (!(weights[i] >= 0 && weights[i] <= 1)) return 0;
    return 1;
}

static int32_t run(gf_canvas *c, const gf_step *step, const int32_t *record) {
    gf_kernel kernel = {.width = step->kernel[0], .height = step->kernel[1]};
    memcpy(kernel.x, record + X, sizeof kernel.x);
    memcpy(kernel.y, record + Y, sizeof kernel.y);
    int32_t width = gf_canvas_width(c), height = gf_canvas_height(c);
    if (kernel.width / 2 >= width || kernel.height / 2 >= height)
        return gf_fault_set(c->fault, GF_FAULT_UNSUPPORTED, -1, "a picture of %dx%d is too small for a blur by %dx%d", width, height, kernel.width, kernel.height);
    if (!are_weights(kernel.x, kernel.width) || !are_weights(kernel.y, kernel.height))
        return gf_fault_set(c->fault, GF_FAULT_CHANGED, -1, "the weights of a blur are none");
    gf_planes made;
    uint8_t *room = NULL;
    int32_t code = gf_canvas_rest(c);
    if (!code) code = c->lay_out(c, !c->buffer, width, height, &made);
    if (!code) code = c->room(c, c->pixels->blur_room(&kernel, width), &room);
    if (code) return code;
    made.channels = c->planes.channels;
    c->pixels->blur(&c->planes, &kernel, &made, room);
    c->buffer = !c->buffer;
    c->planes = made;
    c->info |= GF_INFO_LOST;
    return GF_FAULT_NONE;
}

// The least sigma keeps a float and its square from vanishing.
static const gf_field fields[] = {
    GF_FIELD(kernel, INT32, 2, 1, GF_MOST_KERNEL),
    GF_FIELD(sigma, FLOAT, 2, 1e-9, GF_MOST_NUMBER, .how = GF_RANGE),
    GF_NO_FIELD,
};

static const char *check(gf_step *step) {
    return step->kernel[0] % 2 && step->kernel[1] % 2 ? NULL : "kernel is not odd";
}

const gf_operation gf_op_gaussian_blur = {.words = WORDS, .record = "sigma:f", .flags = GF_DRAWS | GF_TORCH_WORDS, .fields = fields, .check = check, .draw = draw, .run = run};
