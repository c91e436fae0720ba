// The walk of samples through the steps.
#include "draw.h"

#include "operation.h"

typedef struct {
    gf_drawing drawing;
    const gf_steps *steps;
    int32_t *record;
} sample;

static int32_t draw_step(void *context, const gf_step *step) {
    sample *s = context;
    gf_drawing *d = &s->drawing;
    const gf_operation *operation = gf_operations[step->kind];
    int32_t code = operation->draw ? operation->draw(d, step, s->record + step->record) : GF_DRAW_OK;
    if (!code && (d->size.height > INT32_MAX || d->size.width > INT32_MAX)) code = GF_RAISE(d, "the padded picture is too large");
    if (code) d->result->step = (int32_t)(step - s->steps->step);
    return code;
}

// The draws of one sample. A GF_DRAW_... code; result is written where it is not GF_DRAW_OK.
static int32_t draw_sample(const gf_steps *steps, gf_words *words, gf_words *python, gf_size size, const gf_draw_exp *exp, int32_t *record,
                           gf_draw_result *result) {
    sample s = {{words, python, {size.height, size.width}, exp, result}, steps, record};
    memset(record, 0, 4 * (size_t)steps->record_words);
    if (steps->record_words && !steps->any_size) memcpy(record + steps->record_words - GF_SIZE_WORDS, &size, sizeof size);
    if (size.width < 1 || size.height < 1) return GF_RAISE(&s.drawing, "the picture is empty");
    return gf_walk(steps, record, draw_step, &s);
}

int32_t gf_draw(const gf_steps *steps, int32_t flags, uint8_t *state, uint32_t *python, const gf_size *sizes, int64_t n, int32_t *records,
                const gf_draw_answers *answers, gf_draw_result *result) {
    memset(result, 0, sizeof *result);
    gf_words words, pythons;
    if (gf_mt_load(&words, state) || (steps->python && (!python || gf_mt_load_python(&pythons, python)))) {
        snprintf(result->text, sizeof result->text, "this is not the state of a CPU generator");
        return GF_DRAW_INVALID;
    }
    words.fused = flags & GF_DRAW_FUSED;
    gf_draw_exp exp = {0, answers};
    int32_t code = GF_DRAW_OK;
    for (; result->done < n; result->done++) {
        gf_mt_mark(&words);
        if (steps->python) gf_mt_mark(&pythons);
        code = draw_sample(steps, &words, &pythons, sizes[result->done], &exp, records + result->done * steps->record_words, result);
        if (code == GF_DRAW_ASK) gf_mt_back(&words);
        result->refills += words.twisted;
        if (code == GF_DRAW_ASK && steps->python) gf_mt_back(&pythons);
        if (code != GF_DRAW_OK) break;
    }
    gf_mt_store(&words, state);
    if (steps->python) gf_mt_store_python(&pythons, python);
    return code;
}

int32_t gf_draw_stateless(const gf_steps *steps, uint64_t seed, uint64_t epoch, const int64_t *indices, const int32_t *occurrences,
                          const gf_size *sizes, int64_t n, int32_t *records, gf_draw_result *result) {
    memset(result, 0, sizeof *result);
    gf_words words;
    gf_philox_epoch(&words, seed, epoch);
    gf_draw_exp exp = {1, NULL};
    for (; result->done < n; result->done++) {
        int64_t i = result->done;
        gf_philox_sample(&words, indices[i], occurrences[i]);
        int32_t code = draw_sample(steps, &words, &words, sizes[i], &exp, records + i * steps->record_words, result);
        if (code != GF_DRAW_OK) return code;
    }
    return GF_DRAW_OK;
}

int32_t gf_draw_is_fused(float value) {
    if (value == 0x1.8dd5b6p-1f) return GF_DRAW_FUSED;
    return value == 0x1.8dd5b4p-1f ? 0 : -1;
}
