#include "trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 1 << 20, MARGIN = 64 };

static uint8_t memory[SIZE] __attribute__((aligned(64))), before[SIZE], may[SIZE], expected[SIZE];

uint64_t roll(trial *t) {
    uint64_t z = t->state += 0x9e3779b97f4a7c15u; // splitmix64
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    size_t n = t->left < sizeof z ? t->left : sizeof z;
    memcpy(&z, t->given, n);
    t->given += n;
    t->left -= n;
    return z;
}

int dice(trial *t, int sides) { return (int)(roll(t) % (uint64_t)sides); }

double real(trial *t) { return (double)(roll(t) >> 11) * 0x1p-53; }

double normal(trial *t) { return sqrt(-2 * log(1 - real(t))) * cos(6.283185307179586 * real(t)); }

void allow(trial *t, uint8_t *at, size_t bytes, int what) { memset(t->may + (at - t->memory), what, bytes); }

static void fill(trial *t, uint8_t *at, size_t bytes) {
    static const uint8_t edges[] = {0, 1, 127, 128, 254, 255, 0, 255};
    int kind = dice(t, 5), step = 1 + dice(t, 9);
    uint64_t word = 0;
    for (size_t i = 0; i < bytes; i++) {
        if (i % 8 == 0) word = roll(t);
        uint8_t noise = (uint8_t)(word >> i % 8 * 8);
        if (kind == 0) at[i] = edges[noise & 7];
        else if (kind == 1) at[i] = (uint8_t)(i * (size_t)step); // all 256
        else if (kind == 2) at[i] = (uint8_t)(127 + (noise >> 7)); // halves between two greys
        else at[i] = noise;
    }
}

uint8_t *take(trial *t, size_t bytes, size_t align, int what) {
    size_t from = (t->used + MARGIN + 63) / 64 * 64 + (size_t)dice(t, (int)(64 / align)) * align;
    if (from + bytes + 2 * MARGIN > SIZE) {
        fprintf(stderr, "kerneltest: a trial of more than %d bytes\n", SIZE);
        abort();
    }
    memset(t->memory + t->used, 0xaa, from - t->used);
    fill(t, t->memory + from, bytes);
    memset(t->memory + from + bytes, 0xaa, MARGIN);
    memset(t->may + t->used, GF_READ, from + bytes + MARGIN - t->used);
    allow(t, t->memory + from, bytes, what);
    t->used = from + bytes + MARGIN;
    return t->memory + from;
}

void begin(trial *t) {
    memcpy(t->before, t->memory, t->used);
    t->begun = t->used;
}

void result(trial *t, uint64_t value) { memcpy(take(t, sizeof value, 8, GF_MAKE), &value, sizeof value); }

// Says where a kernel wrote that may not; -1 without.
static ptrdiff_t trespass(const trial *t) {
    for (size_t i = 0; i < t->begun; i++)
        if (t->may[i] == GF_READ && t->memory[i] != t->before[i]) return (ptrdiff_t)i;
    return -1;
}

const kernel *gf_kernel_at(int i, int *best) {
    const kernel *tables[] = {gf_pixel_kernels, gf_number_kernels, gf_other_kernels};
    for (int t = 0; t < 3; t++)
        for (const kernel *k = tables[t]; k->name; k++)
            if (i-- == 0) {
                *best = k->best();
                return k;
            }
    return NULL;
}

int gf_try(const kernel *k, int level, uint64_t seed, const uint8_t *given, size_t n, char text[200]) {
    const int levels[] = {0, level};
    for (int i = 0; i < 2; i++) {
        trial t = {.level = levels[i], .state = seed, .given = given, .left = n, .memory = memory, .before = before, .may = may};
        k->run(&t);
        ptrdiff_t at = trespass(&t);
        if (at >= 0) return snprintf(text, 200, "level %d writes to byte %td, which is not its own", levels[i], at);
        if (i == 0) {
            memcpy(expected, memory, t.used);
            continue;
        }
        for (size_t b = 0; b < t.used; b++)
            if (may[b] != GF_SCRATCH && memory[b] != expected[b])
                return snprintf(text, 200, "byte %zu is %d at level %d, and %d in plain C", b, memory[b], level, expected[b]);
    }
    return 0;
}
