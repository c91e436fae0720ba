// What is drawn of an AugMix, and its operations.
#ifndef GOFAST_AUGMIX_H
#define GOFAST_AUGMIX_H

#include "words.h"

// In torchvision's order; test_plan_constants.py compares Python's with them.
enum {
    GF_AUGMIX_SHEAR_X, GF_AUGMIX_SHEAR_Y, GF_AUGMIX_TRANSLATE_X, GF_AUGMIX_TRANSLATE_Y, GF_AUGMIX_ROTATE,
    GF_AUGMIX_POSTERIZE, GF_AUGMIX_SOLARIZE, GF_AUGMIX_AUTO_CONTRAST, GF_AUGMIX_EQUALIZE,
    GF_AUGMIX_PART, // so many without all_ops
    GF_AUGMIX_BRIGHTNESS = GF_AUGMIX_PART, GF_AUGMIX_COLOR, GF_AUGMIX_CONTRAST, GF_AUGMIX_SHARPNESS,
    GF_AUGMIX_ALL
};

// A plan has the numbers of each magnitude of every operation, as it is and with the other sign. A movement has the six of a
// gf_grid. Others have one: a mask of bits, the first byte that is inverted, a factor.
enum { GF_AUGMIX_NUMBERS = 6, GF_AUGMIX_MAGNITUDES = 64 /* at most, of each */ };

// A record has the weights first, as bits: the picture's, and each chain's. Then it has each chain's operations: an
// operation is 1 + (operation * magnitudes + magnitude) * 2 + sign, and a 0 stands behind the last.
enum {
    GF_AUGMIX_CHAINS = GF_MOST_DIRICHLET,
    GF_AUGMIX_DEPTH = 8,
    GF_AUGMIX_OPERATIONS = 1 + GF_AUGMIX_CHAINS,
    GF_AUGMIX_WORDS = GF_AUGMIX_OPERATIONS + GF_AUGMIX_CHAINS * GF_AUGMIX_DEPTH
};

#endif
