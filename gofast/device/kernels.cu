// The kernel that makes samples of stored rows: one source for the GPU, where NVRTC compiles it, and for gcc, whose build
// the tests run. Defined from outside: GF_STORED and GF_MADE, types of numbers.h; GF_NAME, the kernel's name.
//
// It does what table/gather/rows.c and image/pixel do, bit for bit: the same arithmetic in the same order, each step
// rounded (--fmad=false), and for bytes a table of all results that the CPU made. A GPU makes another NaN than a CPU, so
// what becomes of a NaN is written out.
#include "making.h"

#include "../numbers/round.h"

#if defined(__CUDACC_RTC__)
#define KERNEL extern "C" __global__ void
#define UNROLL _Pragma("unroll") // so that groups stay in registers
#define THREAD_X (blockIdx.x * blockDim.x + threadIdx.x)
#define THREAD_Y (blockIdx.y * blockDim.y + threadIdx.y)
#define THREADS_X (gridDim.x * blockDim.x)
#define THREADS_Y (gridDim.y * blockDim.y)
#else
#define KERNEL void
#define UNROLL
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

#define C_TYPE_1 uint8_t  // GF_UINT8, and so on
#define C_TYPE_2 int16_t
#define C_TYPE_3 int32_t
#define C_TYPE_4 int64_t
#define C_TYPE_5 float
#define C_TYPE_6 double
#define C_TYPE_7 uint16_t // float16
#define C_TYPE_8 uint16_t // bfloat16
#define STORED JOIN(C_TYPE_, GF_STORED)
#define MADE JOIN(C_TYPE_, GF_MADE)
#define VALUE(what) JOIN(JOIN(GF_NAME, _), what)

// A thread makes four values that lie side by side: of bytes, a warp reads 128 bytes and writes 512 at once.
enum { VALUE(group) = 4 };
typedef struct __attribute__((aligned(sizeof(STORED) < 4 ? 4 * sizeof(STORED) : 16))) {
    STORED value[4];
} VALUE(stored_group);
typedef struct __attribute__((aligned(sizeof(MADE) < 4 ? 4 * sizeof(MADE) : 16))) {
    MADE value[4];
} VALUE(made_group);

#if GF_MADE <= 4 // integers: of stored ones that fit
static inline MADE VALUE(of)(const gf_making *m, STORED v, int64_t at, int arithmetic) {
    (void)m, (void)at, (void)arithmetic;
    return (MADE)v;
}
#else
#if GF_STORED == 6 // double
// The NaN of x86: quiet, with the bits that fit.
static inline float VALUE(single)(double v) {
    float f = (float)v;
    if (v != v) {
        uint64_t wide;
        memcpy(&wide, &v, 8);
        uint32_t narrow = (uint32_t)(wide >> 32 & 0x80000000u) | 0x7fc00000u | (uint32_t)(wide >> 29 & 0x3fffffu);
        memcpy(&f, &narrow, 4);
    }
    return f;
}
#else
static inline float VALUE(single)(STORED v) { return (float)v; }
#endif

// (x [/ 255] [- mean) / std], every step rounded to float32.
static inline float VALUE(computed)(const gf_making *m, float x, int64_t at) {
    float y = m->divide ? x / 255.0f : x;
    if (m->mean) y = (y - m->mean[at]) / m->std[at];
    if (y != y) {
        uint32_t bits = 0xffc00000u;
        if (x != x) {
            memcpy(&bits, &x, 4);
            bits |= 0x400000u;
        }
        memcpy(&y, &bits, 4);
    }
    return y;
}

#if GF_MADE == 5
static inline MADE VALUE(rounded)(float v) { return v; }
#elif GF_MADE == 6
static inline MADE VALUE(rounded)(float v) {
    double d = (double)v;
    if (v != v) {
        uint32_t narrow;
        memcpy(&narrow, &v, 4);
        uint64_t wide = (uint64_t)(narrow & 0x80000000u) << 32 | 0x7ff8000000000000u | (uint64_t)(narrow & 0x3fffffu) << 29;
        memcpy(&d, &wide, 8);
    }
    return d;
}
#elif GF_MADE == 7
static inline MADE VALUE(rounded)(float v) { return gf_to_float16(v); }
#else
static inline MADE VALUE(rounded)(float v) { return gf_to_bfloat16(v); }
#endif

static inline MADE VALUE(of)(const gf_making *m, STORED v, int64_t at, int arithmetic) {
    if (arithmetic) return VALUE(rounded)(VALUE(computed)(m, VALUE(single)(v), at));
#if GF_MADE == 6 && GF_STORED != 5
    return (double)v; // a double is copied, and an integer does not go through float
#elif GF_MADE == 7 && GF_STORED == 6
    return v == v ? gf_double_to_float16(v) : gf_to_float16(VALUE(single)(v));
#else
    return VALUE(rounded)(VALUE(single)(v));
#endif
}
#endif

// Where a value of a row stands: of which channel it is, and its place there.
typedef struct {
    uint32_t plane, rest, size;
    int last;
} VALUE(place);

static inline VALUE(place) VALUE(place_of)(const gf_making *m, uint32_t at) {
    VALUE(place) p = {0, at, (uint32_t)m->plane, m->last};
    if (m->channels > 1 || m->boxes) {
        p.plane = at / p.size;
        p.rest = at - p.plane * p.size;
    }
    return p;
}
#if GF_STORED == 1
static inline uint32_t VALUE(channel)(const gf_making *m, const VALUE(place) *p) { return m->channels == 1 ? 0 : p->last ? p->rest : p->plane; }
#endif

// The value of the last box that the place lies in.
static inline MADE VALUE(erased)(const gf_making *m, int64_t sample, const VALUE(place) *p, MADE value) {
    uint32_t pixel = p->last ? p->plane : p->rest, channel = p->last ? p->rest : p->plane;
    int32_t y = (int32_t)(pixel / (uint32_t)m->picture_width), x = (int32_t)(pixel % (uint32_t)m->picture_width);
    const gf_erasing *box = m->boxes + sample * m->n_erasings;
    for (int i = 0; i < m->n_erasings; i++, box++)
        if (y >= box->top && y - box->top < box->height && x >= box->left && x - box->left < box->width)
            memcpy(&value, &m->values[i][channel], sizeof value < 4 ? sizeof value : 4);
    return value;
}

KERNEL GF_NAME(gf_making m) {
    const STORED *stored = (const STORED *)m.stored;
    MADE *made = (MADE *)m.made;
#if GF_STORED == 1
    const MADE *results = (const MADE *)m.results;
#endif
    int arithmetic = m.divide || m.mean;
    int whole = m.width % 4 == 0 && (uint64_t)stored % sizeof(VALUE(stored_group)) % 16 == 0 && (uint64_t)made % sizeof(VALUE(made_group)) % 16 == 0;
    for (int64_t sample = THREAD_Y; sample < m.count; sample += THREADS_Y) {
        int64_t row = m.rows ? m.rows[sample] : sample;
        const STORED *from = stored + row * m.width;
        MADE *to = made + sample * m.width;
        for (int64_t at = 4 * (int64_t)THREAD_X; at < m.width; at += 4 * (int64_t)THREADS_X) {
            VALUE(stored_group) in;
            VALUE(made_group) out;
            int n = m.width - at < 4 ? (int)(m.width - at) : 4;
            if (whole) in = *(const VALUE(stored_group) *)(from + at);
            else
                UNROLL for (int i = 0; i < 4; i++) in.value[i] = from[at + (i < n ? i : 0)];
            VALUE(place) place = VALUE(place_of)(&m, (uint32_t)at);
            UNROLL for (int i = 0; i < 4; i++) {
                if (i >= n) break;
#if GF_STORED == 1
                out.value[i] = results ? results[256 * VALUE(channel)(&m, &place) + in.value[i]] : VALUE(of)(&m, in.value[i], at + i, arithmetic);
#else
                out.value[i] = VALUE(of)(&m, in.value[i], at + i, arithmetic);
#endif
                if (m.boxes) out.value[i] = VALUE(erased)(&m, sample, &place, out.value[i]);
                if (++place.rest == place.size) place.rest = 0, place.plane++;
            }
            if (whole) *(VALUE(made_group) *)(to + at) = out;
            else
                UNROLL for (int i = 0; i < 4; i++)
                    if (i < n) to[at + i] = out.value[i];
        }
        for (int64_t at = THREAD_X; at < m.label_bytes; at += THREADS_X)
            m.labels_made[sample * m.label_bytes + at] = m.labels[row * m.label_bytes + at];
    }
}
