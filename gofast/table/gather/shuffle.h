// The order of rows in a window of a stream.
#ifndef GOFAST_SHUFFLE_H
#define GOFAST_SHUFFLE_H

#include <stdint.h>

// What numpy's Generator(PCG64).shuffle(values) does, and random_interval of numpy 1.17 to 2.4. state: the upper and
// lower halves of PCG64's state and then of its increment; no half of a number may be left over from before.
void gf_shuffle(int64_t *values, int64_t n, const uint64_t state[4]);

#endif
