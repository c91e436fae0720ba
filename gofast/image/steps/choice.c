// RandomChoice and RandomOrder: which of their members happen, and in which order.
#include <math.h>

#include "operation.h"

// random.choices(members, weights)[0], whose weights are summed up.
static int32_t choose_as_python(gf_drawing *d, const gf_step *step, int32_t *record) {
    const double *sums = gf_step_numbers(step);
    int32_t last = step->members - 1;
    double x = gf_python_random(d->python) * sums[last];
    while (record[0] < last && sums[record[0]] <= x) record[0]++;
    return GF_DRAW_OK;
}

// torch.multinomial(chances, 1) divides them by exponential numbers; the largest wins, and a NaN over all. log1p is the
// process's own, as torch's is.
static int32_t draw_choice(gf_drawing *d, const gf_step *step, int32_t *record) {
    if (step->version == 1) return choose_as_python(d, step, record);
    const double *chances = gf_step_numbers(step);
    float most = -1;
    for (int32_t i = 0; i < step->members; i++) {
        float part = (float)chances[i] / (float)-log1p(-gf_rand_double(d->words));
        if (isnan(most) || !(part > most || isnan(part))) continue;
        most = part;
        record[0] = i;
    }
    return GF_DRAW_OK;
}

static int32_t draw_order(gf_drawing *d, const gf_step *step, int32_t *record) {
    if (step->version == 1) gf_python_shuffle(d->python, record, step->members);
    else gf_permutation(d->words, record, step->members);
    return GF_DRAW_OK;
}

// No member happens twice: a sample has room for so many erasures only.
static int32_t run(gf_canvas *c, const gf_step *step, const int32_t *record) {
    uint64_t seen = 0;
    for (int32_t i = 0; i < step->happen; i++) {
        if (record[i] < 0 || record[i] >= step->members || seen >> record[i] & 1)
            return gf_fault_set(c->fault, GF_FAULT_CHANGED, -1, "a member %d of %d", record[i], step->members);
        seen |= (uint64_t)1 << record[i];
    }
    return GF_FAULT_NONE;
}

#define MEMBERS {.name = "members", .type = GF_FIELD_MEMBERS, .count = GF_MOST_MEMBERS}
static const gf_field of_choice[] = {MEMBERS, GF_FIELD_NUMBERS_WITHIN(0, GF_MOST_NUMBER), GF_NO_FIELD};
static const gf_field of_order[] = {MEMBERS, GF_NO_FIELD};

// v1's numbers are sums of chances.
static const char *check_choice(gf_step *step) {
    const double *numbers = gf_step_numbers(step);
    double sum = 0;
    for (int32_t i = 0; i < step->count; i++) {
        if (step->version == 1 && numbers[i] < sum) return "numbers: a sum of chances falls";
        sum = step->version == 1 ? numbers[i] : sum + numbers[i];
    }
    step->happen = 1;
    return step->count == step->members && sum > 0 ? NULL : "numbers are not the members' chances";
}

static const char *check_order(gf_step *step) {
    step->happen = step->members;
    return NULL;
}

const gf_operation gf_op_random_choice = {.flags = GF_DRAWS | GF_DRAWS_PYTHON | GF_MOVABLE, .fields = of_choice, .check = check_choice, .draw = draw_choice, .run = run};
const gf_operation gf_op_random_order = {.flags = GF_DRAWS | GF_DRAWS_PYTHON | GF_MOVABLE, .fields = of_order, .check = check_order, .draw = draw_order, .run = run};
const gf_operation gf_op_member = {0};

static int32_t walk(const gf_step *from, const gf_step *to, const int32_t *record, gf_visit *visit, void *context) {
    for (const gf_step *step = from; step < to; step++) {
        const int32_t *own = record + step->record;
        int32_t code = visit(context, step);
        for (int32_t i = 0; i < step->happen && !code; i++) {
            const gf_step *member = step + 1;
            for (int32_t k = 0; k < own[i]; k++) member += 1 + member->inner;
            code = walk(member + 1, member + 1 + member->inner, record, visit, context);
        }
        if (code) return code;
        if (step->members || (step->inner && !own[0])) step += step->inner;
    }
    return 0;
}

int32_t gf_walk(const gf_steps *steps, const int32_t *record, gf_visit *visit, void *context) {
    return walk(steps->step, steps->step + steps->n, record, visit, context);
}
