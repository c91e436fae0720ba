// The random parameters of a plan's steps, drawn ahead of the work: as torchvision draws them from
// torch's CPU generator, or from a stream of each sample's own. Plain C without allocation or locks, so that
// it also runs in a forked worker process.
#ifndef GOFAST_DRAW_H
#define GOFAST_DRAW_H

#include <stdint.h>

// The steps that draw or change the picture's size. Others need no entry; GF_STEP_OTHER is skipped.
enum {
    GF_STEP_OTHER,
    GF_STEP_RESIZE,              // size
    GF_STEP_CENTER_CROP,         // size
    GF_STEP_PAD,                 // padding
    GF_STEP_RANDOM_CROP,         // record: top, left, both in the padded picture
    GF_STEP_RANDOM_RESIZED_CROP, // record: top, left, height, width (0 is possible: Pillow makes a black picture)
    GF_STEP_HFLIP,               // record: 0 or 1
    GF_STEP_VFLIP,               // record: 0 or 1
    GF_STEP_RANDOM_GRAYSCALE,    // record: 0 or 1
    GF_STEP_COLOR_JITTER,        // record: 4 words order, 4 factors (GF_JITTER_...)
    GF_STEP_RANDOM_ERASING,      // record: 0 or 1, top, left, height, width
    GF_STEP_RANDOM_APPLY,        // record: 0 or 1; then come the words of its steps
    GF_STEP_KINDS
};

// The factors of a color jitter: bits of gf_draw_step.jitter are 1 << these. In a record the order is four
// of them, or -1 where that one is not asked for; the factors stand in this order, as the bits of a float.
enum { GF_JITTER_BRIGHTNESS, GF_JITTER_CONTRAST, GF_JITTER_SATURATION, GF_JITTER_HUE };

// One step. Fields that its kind does not name are 0. Go's draw.Step has the same layout.
typedef struct {
    int32_t kind;
    int32_t record;         // its first word in a record
    int32_t version;        // random_crop, random_apply: 1 torchvision.transforms, 2 torchvision.transforms.v2
    int32_t inner;          // random_apply: so many of the steps behind it are its own, nested ones counted
    int32_t size[2];        // height, width; resize: {short side, 0}, or {0, 0} where only max_size is given
    int32_t max_size;       // resize: longest side, 0 without
    int32_t pad_if_needed;  // random_crop
    int32_t padding[4];     // left, top, right, bottom
    int32_t padded;         // random_crop: a padding was given
    int32_t jitter;         // color_jitter: which factors are drawn
    double p;
    double scale[2];
    double ratio[2];
    double factors[4][2];   // color_jitter: the range of each factor
    float log_ratio[2];     // torch.log(torch.tensor(ratio))
} gf_draw_step;

_Static_assert(sizeof(gf_draw_step) == 168, "Go's Step mirrors this layout");

// The decoded picture's size.
typedef struct {
    int32_t width, height;
} gf_draw_size;

// What torch.exp(torch.tensor([x])) gave, for the x that were asked (GF_DRAW_ASK).
typedef struct {
    const float *x, *value;
    int64_t n;
} gf_draw_answers;

// What gf_draw and gf_draw_stateless return.
enum {
    GF_DRAW_OK,
    GF_DRAW_ASK,     // the box hangs on the last bit of torch's exp(result.ask): answer, and call again from sample result.done
    GF_DRAW_RAISES,  // torchvision raises ValueError(result.text) for sample result.done; what it draws before that is drawn
    GF_DRAW_INVALID, // the steps or the state are not what they must be; nothing was drawn
};

// How far it went.
typedef struct {
    int64_t done;    // samples whose records are written; the next one is the one in trouble
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

// Whether torch's uniform_ multiplies and adds in one rounding. It does where torch runs its AVX2 or AVX-512
// kernels, not with ATEN_CPU_CAPABILITY=default: see gf_draw_is_fused.
enum { GF_DRAW_FUSED = 1 };

// Says what is wrong with the steps: 0 when nothing is. Every other function checks, too.
int32_t gf_draw_check(const gf_draw_step *steps, int32_t n_steps, int32_t record_words, gf_draw_result *result);

// Draws for n samples, in their order, from the state image, which it advances in place. Record i begins at
// records[i * record_words]; words that no step owns are 0. On GF_DRAW_ASK the state is that before sample
// result->done. answers may be NULL.
int32_t gf_draw(const gf_draw_step *steps, int32_t n_steps, int32_t flags, uint8_t *state, const gf_draw_size *sizes,
                int64_t n, int32_t record_words, int32_t *records, const gf_draw_answers *answers, gf_draw_result *result);

// The same steps with a stream of words for each sample that depends on nothing but (seed, epoch, index,
// occurrence): samples may be drawn in any order, on any machine. Never returns GF_DRAW_ASK.
int32_t gf_draw_stateless(const gf_draw_step *steps, int32_t n_steps, uint64_t seed, uint64_t epoch, const int64_t *indices,
                          const int32_t *occurrences, const gf_draw_size *sizes, int64_t n, int32_t record_words,
                          int32_t *records, gf_draw_result *result);

// Writes the state image that torch.manual_seed(seed) leaves; worker w of a DataLoader has base_seed + w.
void gf_draw_seed(uint8_t *state, uint64_t seed);

// Which flags torch's own draw tells: value is torch.empty(1).uniform_(0.08, 1.0, generator=torch.Generator().manual_seed(1)).item().
// Returns GF_DRAW_FUSED, 0, or -1 where it is neither: then this torch is not the one that is imitated here.
int32_t gf_draw_is_fused(float value);

// The size after a resize step, as torchvision computes it.
gf_draw_size gf_draw_resized(const gf_draw_step *step, gf_draw_size size);

// How many words a step of this kind owns in a record.
int32_t gf_draw_words(int32_t kind);

#endif
