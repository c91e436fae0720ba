// The steps of a plan: one list of what there is, and one struct. What a plan says of a step, what it draws and what it does
// stand together in its file, as a gf_operation (operation.h). Go compiles a plan and checks it then, once (compile.go): whoever is given
// gf_steps relies on what is said here.
#ifndef GOFAST_STEP_H
#define GOFAST_STEP_H

#include <stdint.h>

// By their names in a plan, with the words that each owns in a record. Its fields stand in its gf_operation.
#define GF_STEPS(STEP)                                                                                         \
    STEP(resize)                                                                                               \
    STEP(center_crop)                                                                                          \
    STEP(pad)                                                                                                  \
    STEP(random_crop)         /* top, left, both in the padded picture */                                      \
    STEP(random_resized_crop) /* top, left, height, width */                                                   \
    STEP(hflip)               /* 0 or 1 */                                                                     \
    STEP(vflip)               /* 0 or 1 */                                                                     \
    STEP(grayscale)                                                                                            \
    STEP(random_grayscale)    /* 0 or 1 */                                                                     \
    STEP(color_jitter)        /* 4 words order, 4 factors: GF_JITTER_... */                                    \
    STEP(random_solarize)     /* 0 or 1 */                                                                     \
    STEP(channel_permutation) /* 3 channels */                                                                 \
    STEP(photometric_distort) /* color_jitter's 8, then 0 or 1, 3 channels */                                  \
    STEP(random_resize)       /* height, width */                                                              \
    STEP(random_shortest_size) /* height, width */                                                             \
    STEP(scale_jitter)        /* height, width */                                                              \
    STEP(random_zoom_out)     /* 0 or 1, left, top, right, bottom */                                           \
    STEP(gaussian_blur)       /* sigma, GF_MOST_KERNEL weights of the columns and as many of the rows */       \
    STEP(random_posterize)    /* 0 or 1 */                                                                     \
    STEP(random_autocontrast) /* 0 or 1 */                                                                     \
    STEP(random_equalize)     /* 0 or 1 */                                                                     \
    STEP(random_sharpness)    /* 0 or 1 */                                                                     \
    STEP(random_rotation)     /* angle */                                                                      \
    STEP(random_affine)       /* 6 words */                                                                    \
    STEP(random_perspective)  /* width, 0 where nothing is drawn, height, 4 corners, 8 coefficients */         \
    STEP(trivial_augment)     /* an operation of augment.h */                                                  \
    STEP(rand_augment)        /* an operation */                                                               \
    STEP(auto_augment)        /* 2 operations */                                                               \
    STEP(augmix)              /* words: augmix.h */                                                            \
    STEP(random_erasing)      /* 0 or 1, top, left, height, width */                                           \
    STEP(five_crop)                                                                                            \
    STEP(ten_crop)                                                                                             \
    STEP(random_apply)        /* 0 or 1, then the words of its steps */                                        \
    STEP(random_choice)       /* which member */                                                               \
    STEP(random_order)        /* a word for each: the members in their order */

#define GF_STEP_KIND(name) GF_STEP_##name,
enum {
    GF_STEPS(GF_STEP_KIND)
    GF_STEP_member, // of random_choice and random_order, which the compiler lays out behind them, one after another
    GF_STEP_KINDS
};

// The limits of a plan; test_plan_constants.py compares Python's with them. Sides within GF_MOST_SIDE have areas in an int32;
// colour factors within GF_MOST_FACTOR keep sums of bytes exact in a float, and in an int.
enum { GF_MOST_SIDE = 1 << 15, GF_MOST_NESTED = 100, GF_MOST_ERASURES = 8, GF_MOST_SIDES = 32, GF_MOST_MEMBERS = 64, GF_MOST_FACTOR = 1000000 };

// No range of a plan names a larger number: a box's sides stay below 2^51. Degrees and centers stay smaller, so that what is
// computed of them is finite.
#define GF_MOST_NUMBER 1e9
#define GF_MOST_ANGLE 1e6

// The factors of a color jitter. In a record the order is four of them, or -1
// where that one is not asked for; the factors stand in this order, as the bits of a float.
enum { GF_JITTER_BRIGHTNESS, GF_JITTER_CONTRAST, GF_JITTER_SATURATION, GF_JITTER_HUE };

// Which fields a step was given that it may do without: bits of gf_step.given. Those of factors are 1 << GF_JITTER_... .
enum {
    GF_GIVEN_FACTORS = 15, GF_GIVEN_CENTER = 16, GF_GIVEN_TRANSLATE = 32, GF_GIVEN_SCALE = 64, GF_GIVEN_SHEAR_X = 128,
    GF_GIVEN_SHEAR_Y = 256, GF_GIVEN_PADDING = 512, GF_GIVEN_FILL = 1024
};

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
    int32_t given;         // GF_GIVEN_..., several
    int32_t usual;         // of crops and padding: a tensor that torch would lay out in an order of its own is refused
    int32_t tensor;        // 1: of a uint8 tensor, by torch's arithmetic (tensor.h); 0: of a PIL image
    double degrees[2];     // the range of its angle
    double translate[2];   // random_affine: at most these parts of the sides; its factor's range is scale
    double shear_x[2], shear_y[2]; // the ranges of its degrees
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
    int32_t n;
    int32_t record_words; // of a sample: the steps' own, and behind them gf_drawn_for's; 0 where no step has any
    int32_t python;       // some of them draw from Python's random
    int32_t any_size;     // what they draw is the same for a picture of any size
    gf_step step[];
} gf_steps;

#endif
