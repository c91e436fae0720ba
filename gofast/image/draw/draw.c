#include "draw.h"

#include <stdio.h>
#include <string.h>

#include "words.h"

int32_t gf_draw_words(int32_t kind) {
    switch (kind) {
    case GF_STEP_RANDOM_CROP: return 2;
    case GF_STEP_RANDOM_RESIZED_CROP: return 4;
    case GF_STEP_HFLIP:
    case GF_STEP_VFLIP:
    case GF_STEP_RANDOM_GRAYSCALE:
    case GF_STEP_RANDOM_APPLY: return 1;
    case GF_STEP_COLOR_JITTER: return 8;
    case GF_STEP_RANDOM_ERASING: return 5;
    default: return 0;
    }
}

// The largest number that a range may name: its box's sides stay below 2^51.
static const double MOST = 1e9;

static int ordered(double low, double high, double least, double most) {
    return least <= low && low <= high && high <= most;
}

static const char *wrong_box(const gf_draw_step *s) {
    if (!ordered(s->scale[0], s->scale[1], 0, MOST)) return "scale must be a range from 0 on";
    if (!ordered(s->ratio[0], s->ratio[1], 1 / MOST, MOST)) return "ratio must be a range above 0";
    if (!ordered(s->log_ratio[0], s->log_ratio[1], -40, 40)) return "log_ratio must be a range within -40..40";
    return NULL;
}

static const char *wrong_size(const gf_draw_step *s) {
    if (s->kind == GF_STEP_RESIZE) {
        int short_side = s->size[0] > 0 && s->size[1] == 0, both = s->size[0] > 0 && s->size[1] > 0 && s->max_size == 0;
        int longest = s->size[0] == 0 && s->size[1] == 0 && s->max_size > 0;
        if (s->max_size < 0 || !(short_side || both || longest)) return "size and max_size do not go together";
        return short_side && s->max_size && s->max_size <= s->size[0] ? "max_size must be greater than the short side" : NULL;
    }
    int sized = s->kind == GF_STEP_CENTER_CROP || s->kind == GF_STEP_RANDOM_CROP || s->kind == GF_STEP_RANDOM_RESIZED_CROP;
    return sized && (s->size[0] < 1 || s->size[1] < 1) ? "size must be positive" : NULL;
}

static const char *wrong_factors(const gf_draw_step *s) {
    for (int i = 0; i < 4; i++)
        if (s->jitter & 1 << i && !ordered(s->factors[i][0], s->factors[i][1], -MOST, MOST)) return "factors must be a range";
    return s->jitter & ~15 ? "jitter has only four factors" : NULL;
}

static const char *wrong(const gf_draw_step *s, int32_t behind, int32_t record_words) {
    if (s->kind < 0 || s->kind >= GF_STEP_KINDS) return "there is no such kind";
    int by_version = s->kind == GF_STEP_RANDOM_CROP || s->kind == GF_STEP_RANDOM_APPLY;
    if (by_version && s->version != 1 && s->version != 2) return "version must be 1 or 2";
    if (s->inner < 0 || s->inner > behind) return "there are fewer steps than inner says";
    int32_t words = gf_draw_words(s->kind);
    if (s->record < 0 || words > record_words || s->record > record_words - words) return "its words are not in the record";
    if (!(s->p >= 0 && s->p <= MOST)) return "p must be a number from 0 on";
    for (int i = 0; i < 4; i++)
        if (s->padding[i] < 0) return "padding must not be negative";
    if (s->kind == GF_STEP_COLOR_JITTER) return wrong_factors(s);
    if ((s->kind == GF_STEP_RANDOM_RESIZED_CROP || s->kind == GF_STEP_RANDOM_ERASING) && wrong_box(s)) return wrong_box(s);
    return wrong_size(s);
}

int32_t gf_draw_check(const gf_draw_step *steps, int32_t n_steps, int32_t record_words, gf_draw_result *result) {
    memset(result, 0, sizeof *result);
    for (int32_t i = 0; i < n_steps; i++) {
        const char *text = wrong(&steps[i], n_steps - i - 1, record_words);
        if (!text) continue;
        result->step = i;
        snprintf(result->text, sizeof result->text, "step %d: %s", i, text);
        return GF_DRAW_INVALID;
    }
    return GF_DRAW_OK;
}

int32_t gf_draw(const gf_draw_step *steps, int32_t n_steps, int32_t flags, uint8_t *state, const gf_draw_size *sizes,
                int64_t n, int32_t record_words, int32_t *records, const gf_draw_answers *answers, gf_draw_result *result) {
    if (gf_draw_check(steps, n_steps, record_words, result)) return GF_DRAW_INVALID;
    gf_words words;
    if (gf_mt_load(&words, state)) {
        snprintf(result->text, sizeof result->text, "this is not the state of a CPU generator");
        return GF_DRAW_INVALID;
    }
    words.fused = flags & GF_DRAW_FUSED;
    gf_draw_exp exp = {0, answers};
    int32_t code = GF_DRAW_OK;
    for (; result->done < n; result->done++) {
        int32_t *record = records + result->done * record_words;
        memset(record, 0, 4 * (size_t)record_words);
        gf_mt_mark(&words);
        code = gf_draw_sample(steps, n_steps, &words, sizes[result->done], &exp, record, result);
        if (code == GF_DRAW_ASK) gf_mt_back(&words);
        if (code != GF_DRAW_OK) break;
    }
    gf_mt_store(&words, state);
    return code;
}

int32_t gf_draw_stateless(const gf_draw_step *steps, int32_t n_steps, uint64_t seed, uint64_t epoch, const int64_t *indices,
                          const int32_t *occurrences, const gf_draw_size *sizes, int64_t n, int32_t record_words,
                          int32_t *records, gf_draw_result *result) {
    if (gf_draw_check(steps, n_steps, record_words, result)) return GF_DRAW_INVALID;
    gf_words words;
    gf_philox_epoch(&words, seed, epoch);
    gf_draw_exp exp = {1, NULL};
    for (; result->done < n; result->done++) {
        int64_t i = result->done;
        memset(records + i * record_words, 0, 4 * (size_t)record_words);
        gf_philox_sample(&words, indices[i], occurrences[i]);
        int32_t code = gf_draw_sample(steps, n_steps, &words, sizes[i], &exp, records + i * record_words, result);
        if (code != GF_DRAW_OK) return code;
    }
    return GF_DRAW_OK;
}

int32_t gf_draw_is_fused(float value) {
    if (value == 0x1.8dd5b6p-1f) return GF_DRAW_FUSED;
    return value == 0x1.8dd5b4p-1f ? 0 : -1;
}
