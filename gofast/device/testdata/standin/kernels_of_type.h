// The kernels of one GF_STORED. No include guard: kernels.c includes this for each.
#if GF_STORED <= 4
#define GF_MADE 1
#include "../../kernels.cu"
#undef GF_MADE
#define GF_MADE 2
#include "../../kernels.cu"
#undef GF_MADE
#define GF_MADE 3
#include "../../kernels.cu"
#undef GF_MADE
#define GF_MADE 4
#include "../../kernels.cu"
#undef GF_MADE
#endif
#define GF_MADE 5
#include "../../kernels.cu"
#undef GF_MADE
#define GF_MADE 6
#include "../../kernels.cu"
#undef GF_MADE
#define GF_MADE 7
#include "../../kernels.cu"
#undef GF_MADE
#define GF_MADE 8
#include "../../kernels.cu"
#undef GF_MADE
