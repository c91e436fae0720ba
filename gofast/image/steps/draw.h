// The random parameters of a plan's steps, drawn ahead of the work: as torchvision draws them from
// torch's CPU generator, or from a stream of each sample's own. Plain C without allocation or locks, so that
// it also runs in a forked worker process.
#ifndef GOFAST_DRAW_H
#define GOFAST_DRAW_H

#include "step.h"

// The decoded picture's size.
typedef struct {
    int32_t width, height;
} gf_size;

// The last words of a record: the size of the picture that it was drawn for. 0 x 0: of any.
enum { GF_SIZE_WORDS = sizeof(gf_size) / sizeof(int32_t) };

static inline gf_size gf_drawn_for(const gf_steps *steps, const int32_t *record) {
    const int32_t *words = record + steps->record_words - GF_SIZE_WORDS;
    return (gf_size){words[0], words[1]};
}

// Whether a picture of this size is one that the record was drawn for. Where there is no record, gf_image_run refuses.
static inline int gf_drawn_fits(const gf_steps *steps, const int32_t *record, gf_size size) {
    if (!steps->record_words || !record) return 1;
    gf_size drawn = gf_drawn_for(steps, record);
    return (drawn.width == size.width && drawn.height == size.height) || !(drawn.width | drawn.height);
}

// What torch.exp(torch.tensor([x])) gave, for the x that were asked (GF_DRAW_ASK).
typedef struct {
    const float *x, *value;
    int64_t n;
} gf_draw_answers;

// What gf_draw and gf_draw_stateless return.
enum {
    GF_DRAW_OK,
    GF_DRAW_ASK,     // the box depends on the last bit of torch's exp(result.ask): answer, and call again from sample result.done
    GF_DRAW_RAISES,  // torchvision raises ValueError(result.text) for sample result.done; what it draws before that is drawn
    GF_DRAW_INVALID, // this is not the state of a CPU generator, or of Python's; nothing was drawn
};

// How far it went.
typedef struct {
    int64_t done;    // samples whose records are written; the next one is the one in trouble
    int64_t refills; // how often torch's generator made 624 new words
    float ask;
    int32_t step;    // in trouble
    char text[160];
} gf_draw_result;

// The byte image that torch.Generator.get_state() returns for a CPU generator (little-endian):
//   0  uint64 seed as given | 8 int32 left | 12 int32 seeded (1) | 16 uint64 next | 24 uint64[624] words of 32 bits
//   5016 double normal_x, normal_y, normal_rho, int32 normal_is_valid (normal_y is the double normal kept for later)
//   5048 float normal kept for later, uint8 whether there is one, padding
// left - 1 draws come from words[next]...; the draw that takes left to 0 makes 624 new words first.
enum { GF_DRAW_STATE_BYTES = 5056 };

// A state of Python's random: 624 words, and the place of the next one, as in getstate()[1].
enum { GF_PYTHON_WORDS = 625 };

// Whether torch's uniform_ multiplies and adds in one rounding. It does where torch runs its AVX2 or AVX-512
// kernels, not with ATEN_CPU_CAPABILITY=default: see gf_draw_is_fused.
enum { GF_DRAW_FUSED = 1 };

// Draws for n samples, in their order, from the state image, which it advances in place, and from python, a state of
// Python's random, where steps->python says so; else it may be NULL. Record i begins at
// records[i * steps->record_words]; words that no step drew are 0. On GF_DRAW_ASK the state is that before sample
// result->done. answers may be NULL.
int32_t gf_draw(const gf_steps *steps, int32_t flags, uint8_t *state, uint32_t *python, const gf_size *sizes, int64_t n, int32_t *records,
                const gf_draw_answers *answers, gf_draw_result *result);

// The same steps with a stream of words for each sample that depends on nothing but (seed, epoch, index,
// occurrence): samples may be drawn in any order, on any machine. Never returns GF_DRAW_ASK.
int32_t gf_draw_stateless(const gf_steps *steps, uint64_t seed, uint64_t epoch, const int64_t *indices, const int32_t *occurrences,
                          const gf_size *sizes, int64_t n, int32_t *records, gf_draw_result *result);

// Which flags torch's own draw tells: value is torch.empty(1).uniform_(0.08, 1.0, generator=torch.Generator().manual_seed(1)).item().
// Returns GF_DRAW_FUSED, 0, or -1 where it is neither: then this torch is not the one that is imitated here.
int32_t gf_draw_is_fused(float value);

#endif
