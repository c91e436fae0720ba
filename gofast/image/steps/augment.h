// The operations of AutoAugment, RandAugment and TrivialAugmentWide, and what is drawn of one.
#ifndef GOFAST_AUGMENT_H
#define GOFAST_AUGMENT_H

#include <stdint.h>

// In the order of RandAugment's and TrivialAugmentWide's spaces; test_plan_constants.py compares Python's with them.
enum {
    GF_AUGMENT_IDENTITY, GF_AUGMENT_SHEAR_X, GF_AUGMENT_SHEAR_Y, GF_AUGMENT_TRANSLATE_X, GF_AUGMENT_TRANSLATE_Y, GF_AUGMENT_ROTATE,
    GF_AUGMENT_BRIGHTNESS, GF_AUGMENT_COLOR, GF_AUGMENT_CONTRAST, GF_AUGMENT_SHARPNESS, GF_AUGMENT_POSTERIZE, GF_AUGMENT_SOLARIZE,
    GF_AUGMENT_AUTO_CONTRAST, GF_AUGMENT_EQUALIZE,
    GF_AUGMENT_SPACE, // so many are drawn from
    GF_AUGMENT_INVERT = GF_AUGMENT_SPACE, // AutoAugment alone has it
    GF_AUGMENTS
};

// In a record: which one, then the bits of its magnitude, a double, with its sign. All 0 is none.
enum { GF_AUGMENT_WORDS = 3 };

// An operation of an AutoAugment policy, which has two: as numbers lie behind a step.
typedef struct {
    double which, p, magnitude;
} gf_policy_operation;

enum { GF_MOST_MAGNITUDES = 1024, GF_MOST_POLICIES = 1024 };

#endif
