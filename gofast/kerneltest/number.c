// Bytes to numbers: rows of pictures and of tables. Go lays out what C reads.
#include <stdlib.h>
#include <string.h>

#include "../image/pixel/pixel.h"
#include "../table/gather/gather.h"
#include "trial.h"

// kerneltest.go has them.
void gofastLayOut(gf_normalise *, int scale, int type, int channels, int last, int stream, const float *mean, const float *std, int level);
uintptr_t gofastProgram(int scale, int type, int channels, int width, const float *mean, const float *std);

typedef struct {
    int32_t scale, type, channels, last, stream;
    float mean[3], std[3];
    int normal, usual; // mean and std count; they are those that every recipe has
} wanted;

static wanted want(trial *t) {
    static const int32_t types[] = {GF_FLOAT32, GF_FLOAT16, GF_BFLOAT16, GF_UINT8};
    static const float mean[] = {0.485f, 0.456f, 0.406f}, std[] = {0.229f, 0.224f, 0.225f}, odd[] = {1e-42f, -1, 1e30f, 3e-39f};
    wanted w = {.scale = dice(t, 3), .type = types[dice(t, 4)], .channels = dice(t, 4) ? 3 : 1, .last = dice(t, 2), .stream = dice(t, 2)};
    int kind = dice(t, 6);
    w.normal = kind > 0, w.usual = kind > 2;
    for (int c = 0; c < 3; c++) {
        w.mean[c] = w.usual ? mean[c] : (float)real(t);
        w.std[c] = w.usual ? std[c] : kind == 2 ? 0.01f + (float)real(t) : odd[dice(t, 4)];
    }
    return w;
}

static gf_normalise laid_out; // no part of what is compared: it names the level's functions

static const gf_normalise *lay_out(const wanted *w, int level) {
    memset(&laid_out, 0, sizeof laid_out);
    gofastLayOut(&laid_out, w->scale, w->type, w->channels, w->last, w->stream, w->normal ? w->mean : NULL, w->std, level);
    return &laid_out;
}

static void normalise(trial *t, int from_pixels) {
    wanted w = want(t);
    if (from_pixels) w.channels = 3;
    const gf_normalise *n = lay_out(&w, t->level);
    int64_t width = dice(t, 160);
    size_t size = (size_t)n->numbers.size, row = size * (size_t)width;
    uint8_t *out[3];
    if (n->numbers.last) out[0] = out[1] = out[2] = take(t, 3 * row, size, GF_MAKE);
    else
        for (int c = 0; c < 3; c++) out[c] = take(t, row, size, c < w.channels ? GF_MAKE : GF_READ);
    const uint8_t *in[3];
    for (int c = 0; c < 3; c++) in[c] = take(t, (size_t)width * (from_pixels ? 4 : 1), 1, GF_READ);
    begin(t);
    if (from_pixels) n->rgbx(n, in[0], width, out);
    else n->planar(n, in, width, out);
    n->finish();
    // Every vector form falls back to the table where its arithmetic gives other bits, so a wrong one would only be slow.
    result(t, t->level == 0 || !w.usual || w.scale == GF_SCALE_CAST || w.type == GF_UINT8 || !n->tabled);
}

static void planar(trial *t) { normalise(t, 0); }

static void rgbx(trial *t) { normalise(t, 1); }

static void codes(trial *t) {
    wanted w = want(t);
    if (w.type == GF_UINT8) w.type = GF_FLOAT32;
    const gf_normalise *n = lay_out(&w, 0);
    int64_t count = dice(t, 700);
    uint8_t *in = take(t, (size_t)count, 1, GF_READ), *out = take(t, (size_t)(count * n->numbers.size), 4, GF_MAKE);
    begin(t);
    gf_codes_choose(&n->numbers, t->level)(&n->codes[dice(t, w.channels)], in, count, out);
}

// A stored row of bytes, looked up or computed.
static void gather(trial *t) {
    wanted w = want(t);
    if (w.type == GF_UINT8) w.type = GF_FLOAT32;
    int64_t width = w.channels * (1 + dice(t, 400));
    gf_program *p = (gf_program *)gofastProgram(w.scale == GF_SCALE_MULTIPLY ? GF_SCALE_DIVIDE : w.scale, w.type, w.channels, (int)width,
                                                w.normal ? w.mean : NULL, w.std);
    gf_program_prepare(p, t->level == 0);
    uint8_t *in = take(t, (size_t)width, 1, GF_READ), *out = take(t, (size_t)p->x_bytes, 4, GF_MAKE);
    begin(t);
    p->row(p, in, out);
    free(p); // as Program.Free does
}

static int two(void) { return 1; }

const kernel gf_number_kernels[] = {
    {"normalise planar", gf_pixel_level, planar}, {"normalise rgbx", gf_pixel_level, rgbx},
    {"numbers codes", gf_codes_level, codes}, {"gather row", two, gather}, {0},
};
