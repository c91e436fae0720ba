#include "tokens.h"

#include <string.h>

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) // as in gather/rows.c
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLONES
#endif

// A file's header may have any length, so tokens may lie anywhere.
#define WIDEN(NAME, T)                                                              \
    CLONES static void NAME(const uint8_t *restrict src, uint8_t *restrict dst, int64_t n) { \
        for (int64_t i = 0; i < n; i++) {                                           \
            T token;                                                                \
            memcpy(&token, src + i * (int64_t)sizeof token, sizeof token);          \
            int64_t wide = (int64_t)token;                                          \
            memcpy(dst + i * 8, &wide, 8);                                          \
        }                                                                           \
    }

WIDEN(widen_u8, uint8_t)
WIDEN(widen_u16, uint16_t)
WIDEN(widen_u32, uint32_t)
WIDEN(widen_i8, int8_t)
WIDEN(widen_i16, int16_t)
WIDEN(widen_i32, int32_t)
WIDEN(widen_i64, int64_t)

static void (*const widen[GF_TOKENS_TYPES])(const uint8_t *restrict, uint8_t *restrict, int64_t) = {
    widen_u8, widen_u16, widen_u32, widen_i8, widen_i16, widen_i32, widen_i64,
};

int64_t gf_tokens_fill(const gf_view *view, const gf_batch *batch, int64_t from, int64_t to) {
    for (int64_t i = from; i < to; i++) {
        int64_t at = gf_view_position(view, batch->indices[i]);
        if (at < 0) return i;
        const gf_part *part = gf_view_part(view, at);
        const gf_tokens *p = part->program;
        const uint8_t *window = p->first + (at - part->start) * p->stride;
        widen[p->type](window, batch->x + i * view->x_bytes, p->block);
        widen[p->type](window + p->size, batch->y + i * view->y_bytes, p->block);
    }
    return -1;
}
