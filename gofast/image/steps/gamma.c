// torch._sample_dirichlet on a CPU: gamma numbers in double (Marsaglia and Tsang, "A simple method for generating gamma
// variables", 2000), divided by their sum. libm's functions are the process's own, as torch's are.
#include "words.h"

#include <float.h>
#include <math.h>

// at::normal_distribution<double>: two at a time, by Box and Muller.
static double normal(gf_words *w) {
    if (w->kept) {
        w->kept = 0;
        return w->normal;
    }
    double u1 = gf_rand_double(w), u2 = gf_rand_double(w);
    double r = sqrt(-2.0 * log1p(-u2)), theta = 2.0 * 3.14159265358979323846 * u1;
    w->normal = r * sin(theta);
    w->kept = 1;
    return r * cos(theta);
}

// ATen's sample_gamma, whose constants are floats.
static double gamma_number(gf_words *w, double alpha) {
    double scale = 1;
    if (alpha < 1) {
        scale = pow(1 - gf_rand_double(w), 1 / alpha);
        alpha += 1;
    }
    const double d = alpha - (double)(1.0f / 3.0f), c = 1 / sqrt(9 * d);
    for (;;) {
        double x, y;
        do {
            x = normal(w);
            y = 1 + c * x;
        } while (y <= 0);
        const double v = y * y * y, u = 1 - gf_rand_double(w), xx = x * x;
        if (u < 1 - (double)0.0331f * xx * xx) return scale * d * v;
        if (log(u) < 0.5 * xx + d * (1 - v + log(v))) return scale * d * v;
    }
}

void gf_dirichlet(gf_words *w, float alpha, int n, float *out) {
    double numbers[GF_MOST_DIRICHLET], sum = 0;
    for (int i = 0; i < n; i++) {
        double number = gamma_number(w, (double)alpha);
        numbers[i] = number > DBL_MIN ? number : DBL_MIN;
    }
    for (int i = 0; i < n; i++) sum += numbers[i];
    for (int i = 0; i < n; i++) {
        float part = (float)(numbers[i] / sum);
        part = part > FLT_MIN ? part : FLT_MIN;
        out[i] = part < 0x1.fffffep-1f ? part : 0x1.fffffep-1f;
    }
}
