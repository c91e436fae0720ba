// Builds kernels.cu with gcc, for every pair of types that may meet.
#include "kernels.h"

_Thread_local uint32_t kernel_x, kernel_y, kernels_x, kernels_y;
#define THREAD_X kernel_x
#define THREAD_Y kernel_y
#define THREADS_X kernels_x
#define THREADS_Y kernels_y

#define NAME_OF_(stored, made) gf_make_##stored##_##made
#define NAME_OF(stored, made) NAME_OF_(stored, made)
#define GF_NAME NAME_OF(GF_STORED, GF_MADE)

#define GF_STORED 1
#include "kernels_of_type.h"
#undef GF_STORED
#define GF_STORED 2
#include "kernels_of_type.h"
#undef GF_STORED
#define GF_STORED 3
#include "kernels_of_type.h"
#undef GF_STORED
#define GF_STORED 4
#include "kernels_of_type.h"
#undef GF_STORED
#define GF_STORED 5
#include "kernels_of_type.h"
#undef GF_STORED
#define GF_STORED 6
#include "kernels_of_type.h"
#undef GF_STORED

#define ROW(stored, made) {"gf_make_" #stored "_" #made, stored, made, gf_make_##stored##_##made}
#define INTEGERS(stored) ROW(stored, 1), ROW(stored, 2), ROW(stored, 3), ROW(stored, 4)
#define REALS(stored) ROW(stored, 5), ROW(stored, 6), ROW(stored, 7), ROW(stored, 8)
const struct kernel all_kernels[N_KERNELS] = {
    INTEGERS(1), REALS(1), INTEGERS(2), REALS(2), INTEGERS(3), REALS(3), INTEGERS(4), REALS(4), REALS(5), REALS(6),
};
