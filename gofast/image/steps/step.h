// The steps of a plan: one list of what there is, and one struct. What a step draws and what it does stand together in
// its file, as a gf_operation (operation.h). Go compiles a plan and checks it then, once (compile.go): whoever is given
// gf_steps relies on what is said here.
#ifndef GOFAST_STEP_H
#define GOFAST_STEP_H

#include <stdint.h>

// By their names in a plan. After each the fields that it has, and in brackets the words that it owns in a record.
#define GF_STEPS(STEP)                                                                                            \
    STEP(resize)              /* size, max_size, filter */                                                        \
    STEP(center_crop)         /* size */                                                                          \
    STEP(pad)                 /* padding, mode, fill */                                                           \
    STEP(random_crop)         /* size, padding, ..., mode, fill, version [top, left, both in the padded picture] */ \
    STEP(random_resized_crop) /* size, filter, a box [top, left, height, width] */                                \
    STEP(hflip)               /* p [0 or 1] */                                                                    \
    STEP(vflip)               /* p [0 or 1] */                                                                    \
    STEP(grayscale)           /* channels */                                                                      \
    STEP(random_grayscale)    /* p [0 or 1] */                                                                    \
    STEP(color_jitter)        /* jitter, factors [4 words order, 4 factors: GF_JITTER_...] */                     \
    STEP(random_solarize)     /* p, threshold, version [0 or 1] */                                                \
    STEP(channel_permutation) /* [3 channels] */                                                                  \
    STEP(photometric_distort) /* p, factors [color_jitter's 8, then 0 or 1, 3 channels] */                        \
    STEP(random_resize)       /* size: from and to of the short side, filter [height, width] */                   \
    STEP(random_shortest_size) /* sides, max_size, filter [height, width] */                                      \
    STEP(scale_jitter)        /* size: width, height, scale, filter [height, width] */                            \
    STEP(random_zoom_out)     /* p, scale, fill [0 or 1, left, top, right, bottom] */                             \
    STEP(gaussian_blur)       /* kernel, sigma [sigma, GF_MOST_KERNEL weights of the columns and as many of the rows] */   \
    STEP(random_posterize)    /* p, bits, version [0 or 1] */                                                     \
    STEP(random_autocontrast) /* p, version [0 or 1] */                                                           \
    STEP(random_equalize)     /* p, version [0 or 1] */                                                           \
    STEP(random_sharpness)    /* p, factor, version [0 or 1] */                                                   \
    STEP(random_rotation)     /* degrees, center, expand, seen, fill [angle] */                                   \
    STEP(random_affine)       /* degrees, translate, scale, shear, center, seen, fill, version [6 words] */       \
    STEP(random_perspective)  /* p, distortion, seen, fill [width, 0 where nothing is drawn, height, 4 corners, 8 coefficients] */ \
    STEP(trivial_augment)     /* magnitudes, seen, fill, version [an operation of augment.h] */                   \
    STEP(rand_augment)        /* magnitudes, seen, fill, version [an operation] */                                \
    STEP(auto_augment)        /* policies, seen, fill, version [2 operations] */                                  \
    STEP(augmix)              /* chains, depth, alpha, operations, seen, version [words: augmix.h] */             \
    STEP(random_erasing)      /* p, value, a box [0 or 1, top, left, height, width] */                            \
    STEP(five_crop)           /* size: the sample is several pictures from here on */                             \
    STEP(ten_crop)            /* size, vertical: and those of the flipped picture */                              \
    STEP(random_apply)        /* p, inner, version [0 or 1], then the words of its steps */                       \
    STEP(random_choice)       /* members, numbers: a chance each (v1: sums of them), version [which member] */    \
    STEP(random_order)        /* members, version [a word for each: the members in their order] */                \
    STEP(member)              /* inner: a member of the last two, which follow one another behind it */

#define GF_STEP_KIND(name) GF_STEP_##name,
enum { GF_STEPS(GF_STEP_KIND) GF_STEP_KINDS };

// The limits of a plan; test_plan_constants.py compares Python's with them. Sides within GF_MOST_SIDE have areas in an int32;
// colour factors within GF_MOST_FACTOR keep sums of bytes exact in a float, and in an int.
enum { GF_MOST_SIDE = 1 << 15, GF_MOST_NESTED = 100, GF_MOST_ERASURES = 8, GF_MOST_SIDES = 32, GF_MOST_MEMBERS = 64, GF_MOST_FACTOR = 1000000 };

// The factors of a color jitter: bits of gf_step.jitter are 1 << these. In a record the order is four of them, or -1
// where that one is not asked for; the factors stand in this order, as the bits of a float.
enum { GF_JITTER_BRIGHTNESS, GF_JITTER_CONTRAST, GF_JITTER_SATURATION, GF_JITTER_HUE };

// What a random_rotation or random_affine was given: bits of gf_step.given.
enum { GF_GIVEN_CENTER = 1, GF_GIVEN_TRANSLATE = 2, GF_GIVEN_SCALE = 4, GF_GIVEN_SHEAR_X = 8, GF_GIVEN_SHEAR_Y = 16 };

// One step. Fields that it does not have are 0.
typedef struct {
    int32_t kind;
    int32_t record;        // its first word in a record
    int32_t version;       // 1 torchvision.transforms, 2 torchvision.transforms.v2
    int32_t inner;         // of a container: so many of the steps behind it are its own, nested ones counted
    int32_t members;       // random_choice, random_order; words of the record say which of them happen, and in which order:
    int32_t happen;        // so many
    int32_t size[2];       // height, width; resize: {short side, 0}, or {0, 0} where only max_size is given
    int32_t max_size;      // resize: longest side, 0 without
    int32_t pad_if_needed; // random_crop
    int32_t padding[4];    // left, top, right, bottom
    int32_t padded;        // a padding was given
    int32_t jitter;        // color_jitter: which factors are drawn
    double p;
    double scale[2];       // a box: its part of the area,
    double ratio[2];       // width by height,
    float log_ratio[2];    // torch.log(torch.tensor(ratio))
    double factors[4][2];  // color_jitter: the range of each factor
    int32_t filter;        // of a resize: resample.h's
    int32_t mode;          // of padding: pixel.h's edges
    int32_t channels;      // grayscale
    int32_t vertical;      // ten_crop: flipped upside down
    int32_t threshold;     // random_solarize: the first byte that is inverted, 256: none
    int32_t n_sides, sides[GF_MOST_SIDES]; // random_shortest_size
    int32_t kernel[2];     // gaussian_blur: width, height
    float sigma[2];
    uint8_t fill[4];       // of padding and transforms: RGBX
    float value[3];        // random_erasing: as it stands in the finished sample
    int32_t bits;          // random_posterize
    double factor;         // random_sharpness
    int32_t seen;          // of a transform: pixel.h's GF_SEEN_...
    int32_t fused;         // of a transform of a tensor: pixel.h's gf_grid
    int32_t expand;        // random_rotation
    int32_t given;
    int32_t tensor;        // 1: of a uint8 tensor, by torch's arithmetic (tensor.h); 0: of a PIL image
    int32_t filled;        // of a tensor's transform: torchvision was given the fill
    double degrees[2];     // the range of its angle
    double translate[2];   // random_affine: at most these parts of the sides; its factor's range is scale
    double shear[4];       // the ranges of its degrees along x and y
    double center[2];
    double distortion;     // random_perspective: the part of half a side by which a corner moves at most
    int32_t chains, depth; // augmix; depth 0: drawn for each chain
    float alpha;           // augmix: of its Dirichlet distributions
    int32_t operations;    // augmix: so many of them are drawn from
    int32_t count;         // trivial_augment, rand_augment, augmix: magnitudes of each operation; auto_augment: policies
    int32_t numbers;       // where they lie: so many bytes behind this step's first
} gf_step;

// A step's own numbers.
static inline const double *gf_step_numbers(const gf_step *step) { return (const double *)((const char *)step + step->numbers); }

// A compiled plan's steps, nested ones behind their container, and behind them all their numbers. Only read.
typedef struct {
    int32_t n, record_words;
    int32_t python; // some of them draw from Python's random
    gf_step step[];
} gf_steps;

// How many words a step of this kind owns in a record, and its name in a plan.
int32_t gf_step_words(int32_t kind);
const char *gf_step_name(int32_t kind);

#endif
