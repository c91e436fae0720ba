// Runs: the hybrid of repeated values and bit-packed groups of eight that
// Parquet uses for dictionary indexes and levels. Every header is checked
// against what is left of the input and of the output before it is followed.
#include "page.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// One run. Packed runs are cut to the values still wanted: their padding is not
// read, because some writers do not store it.
typedef struct {
    int64_t count;
    int packed;
    uint32_t value;
    const uint8_t *bits;
    int64_t bit_bytes;
} run;

static inline int next_run(const uint8_t **at, const uint8_t *end, int width, int64_t left, run *r) {
    const uint8_t *p = *at;
    uint64_t header = 0;
    for (int shift = 0;; shift += 7) {
        if (p == end) return GF_SHORT;
        if (shift > 28) return GF_OVERRUN;
        uint8_t b = *p++;
        header |= (uint64_t)(b & 127) << shift;
        if (b < 128) break;
    }
    if (header & 1) {
        int64_t groups = (int64_t)(header >> 1), stored = groups * width;
        r->packed = 1;
        r->count = groups * 8 < left ? groups * 8 : left;
        r->bits = p;
        r->bit_bytes = (r->count * width + 7) / 8;
        if (r->bit_bytes > end - p) return GF_SHORT;
        *at = stored < end - p ? p + stored : end;
        return GF_OK;
    }
    int bytes = (width + 7) / 8;
    if (bytes > end - p) return GF_SHORT;
    r->packed = 0;
    r->count = (int64_t)(header >> 1);
    r->value = 0;
    for (int i = 0; i < bytes; i++) r->value |= (uint32_t)p[i] << (8 * i);
    // parquet-go rounds the last run of booleans up to a multiple of eight.
    if (r->count > left + 7) return GF_OVERRUN;
    if (r->count > left) r->count = left;
    *at = p + bytes;
    return GF_OK;
}

// Up to eight bytes, zero beyond the end.
static inline uint64_t load(const uint8_t *p, const uint8_t *end) {
    uint64_t v = 0;
    if (end - p >= 8) {
        memcpy(&v, p, 8);
        return v;
    }
    for (int i = 0; p < end; i += 8) v |= (uint64_t)*p++ << i;
    return v;
}

#define LANES 0x0101010101010101ull

// Unpacks, looks up, and returns the largest index: three machines.
static uint32_t packed8_plain(const run *r, int width, uint8_t *dst, const uint8_t *table) {
    const uint8_t *p = r->bits, *end = p + r->bit_bytes;
    uint32_t mask = (1u << width) - 1, top = 0;
    for (int64_t i = 0; i < r->count; i += 8, p += width) {
        uint64_t v = load(p, end);
        int64_t some = r->count - i < 8 ? r->count - i : 8;
        for (int64_t k = 0; k < some; k++, v >>= width) {
            uint32_t index = (uint32_t)v & mask;
            top = index > top ? index : top;
            dst[i + k] = table[index];
        }
    }
    return top;
}

#if defined(__x86_64__)
__attribute__((target("avx2,bmi2"))) static uint32_t packed8_avx2(const run *r, int width, uint8_t *dst, const uint8_t *table) {
    const uint8_t *p = r->bits, *end = p + r->bit_bytes;
    uint64_t lanes = LANES * ((1u << width) - 1);
    __m128i top = _mm_setzero_si128();
    int64_t i = 0;
    for (; i + 8 <= r->count; i += 8, p += width) {
        uint64_t v = _pdep_u64(load(p, end), lanes);
        top = _mm_max_epu8(top, _mm_cvtsi64_si128((long long)v));
        for (int k = 0; k < 8; k++, v >>= 8) dst[i + k] = table[v & 255];
    }
    uint8_t tops[16];
    _mm_storeu_si128((__m128i *)tops, top);
    uint32_t best = 0;
    for (int k = 0; k < 8; k++) best = tops[k] > best ? tops[k] : best;
    if (i < r->count) {
        run rest = {.count = r->count - i, .bits = p, .bit_bytes = end - p};
        uint32_t t = packed8_plain(&rest, width, dst + i, table);
        best = t > best ? t : best;
    }
    return best;
}

typedef struct {
    __m512i spread, shifts, mask, table[4];
} vbmi_state;

__attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi"))) static void vbmi_prepare(vbmi_state *s, int width, const uint8_t *table) {
    uint8_t spread[64], shifts[64];
    for (int i = 0; i < 64; i++) {
        spread[i] = (uint8_t)(i / 8 * width + i % 8); // byte i%8 of the 8 values in lane i/8
        shifts[i] = (uint8_t)(i % 8 * width);
    }
    s->spread = _mm512_loadu_si512(spread);
    s->shifts = _mm512_loadu_si512(shifts);
    s->mask = _mm512_set1_epi8((char)((1u << width) - 1));
    for (int q = 0; q < 4; q++) s->table[q] = _mm512_loadu_si512(table + 64 * q);
}

// 64 values a step: bytes to their lanes, a multishift cuts eight values out of
// each lane, and the 256-byte table lies in four registers.
__attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi"))) static uint32_t packed8_avx512(const run *r, const vbmi_state *s, int width, uint8_t *dst) {
    const uint8_t *p = r->bits;
    int64_t bytes = r->bit_bytes;
    __m512i top = _mm512_setzero_si512();
    for (int64_t i = 0; i < r->count; i += 64, p += 8 * width, bytes -= 8 * width) {
        int64_t left = r->count - i;
        __mmask64 in = bytes >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << bytes) - 1;
        __mmask64 out = left >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << left) - 1;
        __m512i v = _mm512_permutexvar_epi8(s->spread, _mm512_maskz_loadu_epi8(in, p));
        v = _mm512_and_si512(_mm512_multishift_epi64_epi8(s->shifts, v), s->mask);
        top = _mm512_mask_max_epu8(top, out, top, v);
        __m512i low = _mm512_permutex2var_epi8(s->table[0], v, s->table[1]);
        __m512i high = _mm512_permutex2var_epi8(s->table[2], v, s->table[3]);
        _mm512_mask_storeu_epi8(dst + i, out, _mm512_mask_blend_epi8(_mm512_movepi8_mask(v), low, high));
    }
    __m256i m = _mm256_max_epu8(_mm512_castsi512_si256(top), _mm512_extracti64x4_epi64(top, 1));
    __m128i n = _mm_max_epu8(_mm256_castsi256_si128(m), _mm256_extracti128_si256(m, 1));
    n = _mm_max_epu8(n, _mm_srli_si128(n, 8));
    n = _mm_max_epu8(n, _mm_srli_si128(n, 4));
    n = _mm_max_epu8(n, _mm_srli_si128(n, 2));
    n = _mm_max_epu8(n, _mm_srli_si128(n, 1));
    return (uint32_t)_mm_cvtsi128_si32(n) & 255;
}

__attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi"))) static int runs8_avx512(const uint8_t *src, int64_t len, int width, uint8_t *dst,
                                                                                    int64_t n, const uint8_t *table, int size) {
    vbmi_state state;
    vbmi_prepare(&state, width, table);
    const uint8_t *end = src + len;
    uint32_t top = 0;
    for (int64_t i = 0; i < n;) {
        run r;
        int status = next_run(&src, end, width, n - i, &r);
        if (status) return status;
        if (r.packed) {
            uint32_t t = packed8_avx512(&r, &state, width, dst + i);
            top = t > top ? t : top;
        } else if (r.count > 0) {
            if (r.value >= (uint32_t)size) return GF_RANGE;
            memset(dst + i, table[r.value], (size_t)r.count);
        }
        i += r.count;
    }
    return n > 0 && top >= (uint32_t)size ? GF_RANGE : GF_OK;
}
#endif

int gf_runs8(int level, const uint8_t *src, int64_t len, int width, uint8_t *dst, int64_t n,
             const uint8_t table[256], int size) {
#if defined(__x86_64__)
    if (level >= GF_AVX512) return runs8_avx512(src, len, width, dst, n, table, size);
#endif
    const uint8_t *end = src + len;
    uint32_t top = 0;
    for (int64_t i = 0; i < n;) {
        run r;
        int status = next_run(&src, end, width, n - i, &r);
        if (status) return status;
        if (r.packed) {
            uint32_t t;
#if defined(__x86_64__)
            if (level == GF_AVX2) t = packed8_avx2(&r, width, dst + i, table);
            else
#endif
                t = packed8_plain(&r, width, dst + i, table);
            top = t > top ? t : top;
        } else if (r.count > 0) {
            if (r.value >= (uint32_t)size) return GF_RANGE;
            memset(dst + i, table[r.value], (size_t)r.count);
        }
        i += r.count;
    }
    (void)level;
    return n > 0 && top >= (uint32_t)size ? GF_RANGE : GF_OK;
}

// Unpacks n values that begin at p, and returns the largest. Nothing behind end is read.
static uint32_t unpack_plain(const uint8_t *p, const uint8_t *end, int width, uint32_t *dst, int64_t n) {
    const uint64_t mask = ((uint64_t)1 << width) - 1;
    uint32_t top = 0;
    int64_t bit = 0;
    for (int64_t k = 0; k < n; k++, bit += width) {
        uint32_t v = (uint32_t)(load(p + (bit >> 3), end) >> (bit & 7) & mask); // 7 + 32 bits fit
        top = v > top ? v : top;
        dst[k] = v;
    }
    return top;
}

#if defined(__x86_64__)
// Four bytes have a value of up to 25 bits, wherever in the first of them it begins: two loads have eight values.
__attribute__((target("avx2"))) static uint32_t unpack_avx2(const uint8_t *p, const uint8_t *end, int width, uint32_t *dst, int64_t n) {
    uint8_t spread[32];
    uint32_t shifts[8], tops[8], top = 0;
    int second = width / 2; // the byte in which the fifth value begins
    for (int i = 0; i < 8; i++) {
        int bit = i * width - (i < 4 ? 0 : 8 * second);
        shifts[i] = (uint32_t)bit & 7;
        for (int k = 0; k < 4; k++) spread[4 * i + k] = (uint8_t)(bit / 8 + k);
    }
    __m256i bytes = _mm256_loadu_si256((const __m256i *)spread), shift = _mm256_loadu_si256((const __m256i *)shifts);
    __m256i mask = _mm256_set1_epi32((1 << width) - 1), most = _mm256_setzero_si256();
    int64_t k = 0;
    for (; k + 8 <= n && end - p >= second + 16; k += 8, p += width) {
        __m128i low = _mm_loadu_si128((const __m128i *)p), high = _mm_loadu_si128((const __m128i *)(p + second));
        __m256i v = _mm256_shuffle_epi8(_mm256_set_m128i(high, low), bytes);
        v = _mm256_and_si256(_mm256_srlv_epi32(v, shift), mask);
        most = _mm256_max_epu32(most, v);
        _mm256_storeu_si256((__m256i *)(dst + k), v);
    }
    _mm256_storeu_si256((__m256i *)tops, most);
    for (int i = 0; i < 8; i++) top = tops[i] > top ? tops[i] : top;
    uint32_t rest = unpack_plain(p, end, width, dst + k, n - k);
    return rest > top ? rest : top;
}
#endif

static inline uint32_t unpack(int level, const uint8_t *p, const uint8_t *end, int width, uint32_t *dst, int64_t n) {
#if defined(__x86_64__)
    if (level > GF_PLAIN && width <= 25) return unpack_avx2(p, end, width, dst, n);
#endif
    (void)level;
    return unpack_plain(p, end, width, dst, n);
}

int gf_runs32(int level, const uint8_t *src, int64_t len, int width, uint32_t *dst, int64_t n, uint64_t size) {
    const uint8_t *end = src + len;
    uint32_t top = 0;
    for (int64_t i = 0; i < n;) {
        run r;
        int status = next_run(&src, end, width, n - i, &r);
        if (status) return status;
        if (r.packed) {
            uint32_t t = unpack(level, r.bits, end, width, dst + i, r.count);
            top = t > top ? t : top;
        } else {
            if (r.count > 0 && r.value > top) top = r.value;
            for (int64_t k = 0; k < r.count; k++) dst[i + k] = r.value;
        }
        i += r.count;
    }
    return n > 0 && top >= size ? GF_RANGE : GF_OK;
}

// A form for each size of an entry. The indexes of a step stay in the first cache: with those of a whole page,
// looked up by Go, 60 million floats took 300 ms of one core instead of 120.
#define ENTRIES(NAME, T)                                                                                       \
    static int NAME(int level, const uint8_t *src, int64_t len, int width, T *dst, int64_t n, const T *table, uint64_t size) { \
        const uint8_t *end = src + len;                                                                        \
        uint32_t indexes[512];                                                                                 \
        for (int64_t i = 0; i < n;) {                                                                          \
            run r;                                                                                             \
            int status = next_run(&src, end, width, n - i, &r);                                                \
            if (status) return status;                                                                         \
            if (!r.packed && r.count > 0 && r.value >= size) return GF_RANGE;                                  \
            for (int64_t k = 0; k < r.count && !r.packed; k++) dst[i + k] = table[r.value];                    \
            for (int64_t k = 0; k < r.count && r.packed; k += 512) {                                           \
                int64_t some = r.count - k < 512 ? r.count - k : 512;                                          \
                if (unpack(level, r.bits + k / 8 * width, end, width, indexes, some) >= size) return GF_RANGE; \
                for (int64_t j = 0; j < some; j++) dst[i + k + j] = table[indexes[j]];                         \
            }                                                                                                  \
            i += r.count;                                                                                      \
        }                                                                                                      \
        return GF_OK;                                                                                          \
    }

ENTRIES(entries1, uint8_t)
ENTRIES(entries2, uint16_t)
ENTRIES(entries4, uint32_t)
ENTRIES(entries8, uint64_t)

int gf_entries(int level, const uint8_t *src, int64_t len, int width, void *dst, int64_t n, const void *table, uint64_t size, int bytes) {
    switch (bytes) {
    case 1: return entries1(level, src, len, width, dst, n, table, size);
    case 2: return entries2(level, src, len, width, dst, n, table, size);
    case 4: return entries4(level, src, len, width, dst, n, table, size);
    default: return entries8(level, src, len, width, dst, n, table, size);
    }
}
