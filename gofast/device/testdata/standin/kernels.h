// gcc's build of all kernels.
#ifndef STANDIN_KERNELS_H
#define STANDIN_KERNELS_H

#include <stdint.h>

#include "../../making.h"

struct kernel {
    const char *name;
    int stored, made; // types of numbers.h
    void (*run)(gf_making);
};

enum { N_KERNELS = 4 * 4 + 6 * 4 };
extern const struct kernel all_kernels[N_KERNELS];

// Which thread a kernel is, of how many.
extern _Thread_local uint32_t kernel_x, kernel_y, kernels_x, kernels_y;

#endif
