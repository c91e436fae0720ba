// The walk of one sample through the steps: what they draw, and the size that each leaves to the next. Sizes are
// int64 on the way, so that no padding overflows; the order of draws and comparisons is torchvision 0.29's.
#include "words.h"

#include <stdio.h>

typedef struct {
    int64_t height, width;
} extent;

typedef struct {
    gf_words *words;
    extent size;
    const gf_draw_exp *exp;
    gf_draw_result *result;
} walk;

#define RAISE(result, ...) (snprintf((result)->text, sizeof(result)->text, __VA_ARGS__), GF_DRAW_RAISES)

static int32_t bits(float value) {
    int32_t word;
    memcpy(&word, &value, 4);
    return word;
}

static void grow(extent *size, int64_t height, int64_t width) {
    size->height += height;
    size->width += width;
}

static int32_t too_large(const walk *w, const extent *padded, const gf_draw_step *step, const char *input) {
    return RAISE(w->result, "Required crop size (%d, %d) is larger than %sinput image size (%lld, %lld)%s", step->size[0],
                 step->size[1], input, (long long)padded->height, (long long)padded->width, step->version == 2 ? "." : "");
}

static int32_t random_crop(walk *w, const gf_draw_step *step, int32_t *record) {
    extent padded = w->size;
    int64_t height = step->size[0], width = step->size[1];
    grow(&padded, (int64_t)step->padding[1] + step->padding[3], (int64_t)step->padding[0] + step->padding[2]);
    if (step->pad_if_needed && padded.width < width) grow(&padded, 0, 2 * (width - padded.width));
    if (step->pad_if_needed && padded.height < height) grow(&padded, 2 * (height - padded.height), 0);
    if (padded.height < height || padded.width < width)
        return too_large(w, &padded, step, step->version == 2 && step->padded ? "padded " : "");
    // v1 draws both unless both fit, v2 only what does not fit.
    int differs = padded.height != height || padded.width != width;
    int both = step->version == 1 && differs;
    if (both || padded.height > height) record[0] = (int32_t)gf_below(w->words, (uint64_t)(padded.height - height + 1));
    if (both || padded.width > width) record[1] = (int32_t)gf_below(w->words, (uint64_t)(padded.width - width + 1));
    w->size = (extent){height, width};
    return GF_DRAW_OK;
}

// The central crop after ten boxes that did not fit.
static gf_draw_box central(const extent *size, const gf_draw_step *step) {
    gf_draw_box box = {(double)size->height, (double)size->width};
    double ratio = box.width / box.height;
    if (ratio < step->ratio[0]) box.height = gf_round(box.width / step->ratio[0]);
    else if (ratio > step->ratio[1]) box.width = gf_round(box.height * step->ratio[1]);
    return box;
}

static int32_t random_resized_crop(walk *w, const gf_draw_step *step, int32_t *record) {
    double area = (double)(w->size.height * w->size.width);
    gf_draw_box box;
    int fits = 0;
    for (int i = 0; i < 10 && !fits; i++) {
        if (gf_random_box(w->words, step, area, w->exp, &box, &w->result->ask)) return GF_DRAW_ASK;
        fits = 0 < box.width && box.width <= (double)w->size.width && 0 < box.height && box.height <= (double)w->size.height;
    }
    if (!fits) box = central(&w->size, step);
    int64_t height = (int64_t)box.height, width = (int64_t)box.width;
    int64_t top = fits ? gf_below(w->words, (uint64_t)(w->size.height - height + 1)) : (w->size.height - height) / 2;
    int64_t left = fits ? gf_below(w->words, (uint64_t)(w->size.width - width + 1)) : (w->size.width - width) / 2;
    record[0] = (int32_t)top;
    record[1] = (int32_t)left;
    record[2] = (int32_t)height;
    record[3] = (int32_t)width;
    w->size = (extent){step->size[0], step->size[1]};
    return GF_DRAW_OK;
}

static int32_t random_erasing(walk *w, const gf_draw_step *step, int32_t *record) {
    if (!(gf_rand(w->words) < (float)step->p)) return GF_DRAW_OK;
    double area = (double)(w->size.height * w->size.width);
    for (int i = 0; i < 10; i++) {
        gf_draw_box box;
        if (gf_random_box(w->words, step, area, w->exp, &box, &w->result->ask)) return GF_DRAW_ASK;
        if (!(box.height < (double)w->size.height && box.width < (double)w->size.width)) continue;
        int64_t height = (int64_t)box.height, width = (int64_t)box.width;
        record[0] = 1;
        record[1] = (int32_t)gf_below(w->words, (uint64_t)(w->size.height - height + 1));
        record[2] = (int32_t)gf_below(w->words, (uint64_t)(w->size.width - width + 1));
        record[3] = (int32_t)height;
        record[4] = (int32_t)width;
        break;
    }
    return GF_DRAW_OK;
}

static void color_jitter(walk *w, const gf_draw_step *step, int32_t *record) {
    gf_permutation(w->words, record, 4);
    for (int i = 0; i < 4; i++) {
        if (!(step->jitter & 1 << record[i])) record[i] = -1;
        if (!(step->jitter & 1 << i)) continue;
        record[4 + i] = bits(gf_uniform(w->words, (float)step->factors[i][0], (float)step->factors[i][1]));
    }
}

static int32_t resize(walk *w, const gf_draw_step *step) {
    gf_draw_size size = gf_draw_resized(step, (gf_draw_size){(int32_t)w->size.width, (int32_t)w->size.height});
    if (size.width < 1 || size.height < 1) return RAISE(w->result, "height and width must be > 0");
    w->size = (extent){size.height, size.width};
    return GF_DRAW_OK;
}

// Python's int(a * b / c): the product is exact, the quotient rounded once.
static int32_t scaled(int64_t a, int64_t b, int64_t c) {
    double value = (double)(a * b) / (double)c;
    return value < 0x1p31 ? (int32_t)value : INT32_MAX;
}

gf_draw_size gf_draw_resized(const gf_draw_step *step, gf_draw_size size) {
    if (step->size[1]) return (gf_draw_size){step->size[1], step->size[0]};
    int portrait = size.width <= size.height;
    int32_t shorter = portrait ? size.width : size.height, longer = portrait ? size.height : size.width;
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
    return portrait ? (gf_draw_size){new_short, new_long} : (gf_draw_size){new_long, new_short};
}

static int32_t one_step(walk *w, const gf_draw_step *step, int32_t *record) {
    switch (step->kind) {
    case GF_STEP_RESIZE: return resize(w, step);
    case GF_STEP_CENTER_CROP: w->size = (extent){step->size[0], step->size[1]}; break;
    case GF_STEP_PAD:
        grow(&w->size, (int64_t)step->padding[1] + step->padding[3], (int64_t)step->padding[0] + step->padding[2]);
        break;
    case GF_STEP_RANDOM_CROP: return random_crop(w, step, record);
    case GF_STEP_RANDOM_RESIZED_CROP: return random_resized_crop(w, step, record);
    case GF_STEP_HFLIP:
    case GF_STEP_VFLIP:
    case GF_STEP_RANDOM_GRAYSCALE: record[0] = gf_rand(w->words) < (float)step->p; break;
    case GF_STEP_COLOR_JITTER: color_jitter(w, step, record); break;
    case GF_STEP_RANDOM_ERASING: return random_erasing(w, step, record);
    case GF_STEP_RANDOM_APPLY: {
        float draw = gf_rand(w->words);
        record[0] = step->version == 1 ? !((float)step->p < draw) : draw < (float)step->p;
        break;
    }
    default: break;
    }
    if (w->size.height > INT32_MAX || w->size.width > INT32_MAX) return RAISE(w->result, "the padded picture is too large");
    return GF_DRAW_OK;
}

int32_t gf_draw_sample(const gf_draw_step *steps, int32_t n_steps, gf_words *words, gf_draw_size size, const gf_draw_exp *exp,
                       int32_t *record, gf_draw_result *result) {
    walk w = {words, {size.height, size.width}, exp, result};
    if (size.width < 1 || size.height < 1) return RAISE(result, "the picture is empty");
    for (int32_t i = 0; i < n_steps; i++) {
        int32_t *own = record + steps[i].record;
        int32_t code = one_step(&w, &steps[i], own);
        if (code != GF_DRAW_OK) {
            result->step = i;
            return code;
        }
        if (steps[i].kind == GF_STEP_RANDOM_APPLY && !own[0]) i += steps[i].inner;
    }
    return GF_DRAW_OK;
}
