// The rows of blur.c for one instruction set, whose names it defines before: LEVEL, TARGET, VECTOR of LANES floats, LOAD, STORE,
// SPREAD and ADD_PRODUCT; a SCALAR that is no vector's part for gcc, ONE of which is loaded, and FUSED.

// out[0..width) is the sum of n rows, each times its weight; what is read and written goes on to a multiple of 7 * LANES. As
// many sums at a time as hide how long one product takes; 7 of them divide 224, the usual width.
TARGET static void NAMED(sum_rows)(const float *const *rows, const float *weights, int32_t n, int32_t width, float *out) {
    for (int32_t x = 0; x < width; x += 7 * LANES) {
        VECTOR a = SPREAD(0.0f), b = a, c = a, d = a, e = a, f = a, g = a;
        for (int32_t t = 0; t < n; t++) {
            const float *at = rows[t] + x;
            VECTOR w = SPREAD(weights[t]);
            a = ADD_PRODUCT(LOAD(at), w, a);
            b = ADD_PRODUCT(LOAD(at + LANES), w, b);
            c = ADD_PRODUCT(LOAD(at + 2 * LANES), w, c);
            d = ADD_PRODUCT(LOAD(at + 3 * LANES), w, d);
            e = ADD_PRODUCT(LOAD(at + 4 * LANES), w, e);
            f = ADD_PRODUCT(LOAD(at + 5 * LANES), w, f);
            g = ADD_PRODUCT(LOAD(at + 6 * LANES), w, g);
        }
        STORE(out + x, a);
        STORE(out + x + LANES, b);
        STORE(out + x + 2 * LANES, c);
        STORE(out + x + 3 * LANES, d);
        STORE(out + x + 4 * LANES, e);
        STORE(out + x + 5 * LANES, f);
        STORE(out + x + 6 * LANES, g);
    }
}

TARGET static void NAMED(widen)(const uint8_t *row, int32_t n, float *out) {
    for (int32_t i = 0; i < n; i++) out[i] = (float)row[i];
}

TARGET static void NAMED(round)(const float *sums, int32_t n, float limit, uint8_t *restrict out, uint8_t *restrict doubtful) {
    for (int32_t i = 0; i < n; i++) {
        float whole = sums[i] + TO_WHOLE - TO_WHOLE, rest = sums[i] - whole;
        out[i] = (uint8_t)(int32_t)whole;
        doubtful[i] = (rest < 0.0f ? -rest : rest) > limit;
    }
}

// Pixels are independent chains of sums: eight of them hide how long one product takes.
TARGET static void NAMED(exact)(const blurring *b, const float *const at[EXACT_AT_ONCE], const int32_t row[EXACT_AT_ONCE], float out[EXACT_AT_ONCE]) {
    SCALAR zero = ONE(&ZERO), s0 = zero, s1 = zero, s2 = zero, s3 = zero, s4 = zero, s5 = zero, s6 = zero, s7 = zero;
    for (int32_t y = b->exact_y[0]; y < b->exact_y[1]; y++) {
        const float *weights = b->products + y * b->kernel->width, *p[EXACT_AT_ONCE];
        for (int j = 0; j < EXACT_AT_ONCE; j++) p[j] = at[j] + ring_row(b, row[j] + y) * b->wide_stride;
        for (int32_t x = b->exact_x[0]; x < b->exact_x[1]; x++) {
            SCALAR w = ONE(weights + x);
            s0 = FUSED(ONE(p[0] + x), w, s0);
            s1 = FUSED(ONE(p[1] + x), w, s1);
            s2 = FUSED(ONE(p[2] + x), w, s2);
            s3 = FUSED(ONE(p[3] + x), w, s3);
            s4 = FUSED(ONE(p[4] + x), w, s4);
            s5 = FUSED(ONE(p[5] + x), w, s5);
            s6 = FUSED(ONE(p[6] + x), w, s6);
            s7 = FUSED(ONE(p[7] + x), w, s7);
        }
    }
    const SCALAR sums[EXACT_AT_ONCE] = {s0, s1, s2, s3, s4, s5, s6, s7};
    for (int j = 0; j < EXACT_AT_ONCE; j++) memcpy(&out[j], &sums[j], sizeof *out);
}

void NAMED(gf_blur)(const gf_planes *src, const gf_kernel *kernel, const gf_planes *dst, uint8_t *room) {
    static const row_functions functions = {NAMED(sum_rows), NAMED(widen), NAMED(round), NAMED(exact)};
    blur(src, kernel, dst, room, &functions);
}

#undef NAMED
#undef TARGET
#undef VECTOR
#undef LANES
#undef LOAD
#undef STORE
#undef SPREAD
#undef ADD_PRODUCT
#undef SCALAR
#undef ONE
#undef FUSED
