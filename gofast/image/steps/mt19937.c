// torch's CPU generator, read from and written to the image that draw.h describes.
#include "words.h"

enum { SHIFT = 397, LEFT = 8, SEEDED = 12, NEXT = 16, WORDS = 24, NORMAL = 5024, KEPT = 5040 };

static uint64_t get64(const uint8_t *p) {
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

static void put64(uint8_t *p, uint64_t v) { memcpy(p, &v, 8); }

static int32_t get32(const uint8_t *p) {
    int32_t v;
    memcpy(&v, p, 4);
    return v;
}

static void put32(uint8_t *p, int32_t v) { memcpy(p, &v, 4); }

static uint32_t twist(uint32_t u, uint32_t v) {
    return (((u & 0x80000000) | (v & 0x7fffffff)) >> 1) ^ (-(v & 1) & 0x9908b0df);
}

static void temper(gf_words *w, int32_t from, int32_t to) {
    for (int32_t i = from; i < to; i++) {
        uint32_t y = w->state[i];
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c5680;
        y ^= (y << 15) & 0xefc60000;
        w->out[i] = y ^ (y >> 18);
    }
}

static void refill(gf_words *w) {
    uint32_t *s = w->state;
    if (!w->twisted++) memcpy(w->mark, s, sizeof w->mark);
    int32_t i = 0;
    for (; i < GF_MT_WORDS - SHIFT; i++) s[i] = s[i + SHIFT] ^ twist(s[i], s[i + 1]);
    for (; i < GF_MT_WORDS - 1; i++) s[i] = s[i + SHIFT - GF_MT_WORDS] ^ twist(s[i], s[i + 1]);
    s[i] = s[SHIFT - 1] ^ twist(s[i], s[0]);
    temper(w, 0, GF_MT_WORDS);
    w->at = 0;
    w->end = GF_MT_WORDS;
}

int32_t gf_mt_load(gf_words *w, const uint8_t *image) {
    int32_t left = get32(image + LEFT);
    uint64_t next = get64(image + NEXT);
    // torch's own check allows words past the end to be drawn; this one does not.
    if (get32(image + SEEDED) != 1 || left < 1 || next > GF_MT_WORDS || next + (uint64_t)left > GF_MT_WORDS + 1) return 1;
    for (int32_t i = 0; i < GF_MT_WORDS; i++) w->state[i] = (uint32_t)get64(image + WORDS + 8 * i);
    w->at = (int32_t)next;
    w->end = w->at + left - 1;
    w->refill = refill;
    w->twisted = 0;
    w->kept = get32(image + KEPT) != 0;
    memcpy(&w->normal, image + NORMAL, sizeof w->normal);
    temper(w, w->at, w->end);
    return 0;
}

void gf_mt_store(const gf_words *w, uint8_t *image) {
    put32(image + LEFT, w->end - w->at + 1);
    put64(image + NEXT, (uint64_t)w->at);
    for (int32_t i = 0; i < GF_MT_WORDS; i++) put64(image + WORDS + 8 * i, w->state[i]);
    put32(image + KEPT, w->kept);
    put64(image + NORMAL, 0);
    if (w->kept) memcpy(image + NORMAL, &w->normal, sizeof w->normal);
}

int32_t gf_mt_load_python(gf_words *w, const uint32_t *state) {
    if (state[GF_MT_WORDS] > GF_MT_WORDS) return 1;
    memcpy(w->state, state, sizeof w->state);
    w->at = (int32_t)state[GF_MT_WORDS];
    w->end = GF_MT_WORDS;
    w->refill = refill;
    w->twisted = w->kept = 0;
    temper(w, w->at, w->end);
    return 0;
}

void gf_mt_store_python(const gf_words *w, uint32_t *state) {
    memcpy(state, w->state, sizeof w->state);
    state[GF_MT_WORDS] = (uint32_t)w->at;
}

void gf_mt_mark(gf_words *w) {
    w->twisted = 0;
    w->mark_at = w->at;
    w->mark_end = w->end;
    w->mark_kept = w->kept;
    w->mark_normal = w->normal;
}

void gf_mt_back(gf_words *w) {
    w->at = w->mark_at;
    w->end = w->mark_end;
    w->kept = w->mark_kept;
    w->normal = w->mark_normal;
    if (!w->twisted) return;
    memcpy(w->state, w->mark, sizeof w->mark);
    temper(w, w->at, w->end);
    w->twisted = 0;
}
