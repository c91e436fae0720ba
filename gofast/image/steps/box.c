// The box of RandomResizedCrop and RandomErasing.
#include "operation.h"

// Adding it leaves no bits behind the point: the processor rounds to even.
static const double WHOLE = 0x1.8p52;

double gf_round(double x) { return x < 0x1p51 ? x + WHOLE - WHOLE : x; }

double gf_exponential(double x) {
    double k = x * 0x1.71547652b82fep0 + WHOLE - WHOLE;
    double r = x - k * 0x1.62e42feep-1 - k * 0x1.a39ef35793c76p-33; // ln 2, its first 32 bits and the rest
    // Taylor, |r| <= 0.347: what is left out is below 2^-61.
    static const double inverse[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880,
                                     1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1, 1};
    double sum = inverse[0];
    for (int i = 1; i < 14; i++) sum = sum * r + inverse[i];
    uint64_t bits = (uint64_t)((int64_t)k + 1023) << 52;
    double power;
    memcpy(&power, &bits, 8);
    return sum * power;
}

// The box of an aspect: the wide side first.
static void sides(double area, double aspect, double out[2]) {
    out[0] = gf_round(__builtin_sqrt(area * aspect));
    out[1] = gf_round(__builtin_sqrt(area / aspect));
}

static int answered(const gf_draw_answers *answers, float x, double *value) {
    for (int64_t i = 0; answers && i < answers->n; i++) {
        if (answers->x[i] != x) continue;
        *value = (double)answers->value[i];
        return 1;
    }
    return 0;
}

int32_t gf_random_box(gf_drawing *d, const gf_step *step, int wide, gf_draw_box *box) {
    double area = (double)(d->size.height * d->size.width);
    double target = area * (double)gf_uniform(d->words, (float)step->scale[0], (float)step->scale[1]);
    float x = gf_uniform(d->words, step->log_ratio[0], step->log_ratio[1]);
    double aspect = gf_exponential((double)x), side[2];
    if (d->exp->exact) {
        sides(target, (double)(float)aspect, side);
    } else {
        // torch's float exp is not correctly rounded and differs between processors: 1 % of its values are the next
        // float, none was 0.56 ulp off in 12 million (SLEEF promises 1 ulp). All here is monotone in the aspect, so
        // where 2 ulp either way give the same box, torch's value does.
        double least[2];
        sides(target, aspect * (1 - 0x1p-22), least);
        sides(target, aspect * (1 + 0x1p-22), side);
        if (least[0] != side[0] || least[1] != side[1]) {
            if (!answered(d->exp->answers, x, &aspect)) {
                d->result->ask = x;
                return 1;
            }
            sides(target, aspect, side);
        }
    }
    box->width = side[wide ? 0 : 1];
    box->height = side[wide ? 1 : 0];
    return 0;
}
