// The bare pipeline: gofast's own functions for a sample, called by threads over a list of samples, with
// nothing around them. What an engine, a border to Python and a loader cost is the difference to this.
#ifndef GOFAST_BARE_H
#define GOFAST_BARE_H

#include <stdint.h>

// One run over n samples in batches of `batch`, which go to one of BARE_BUFFERS buffers in turn.
enum { BARE_BUFFERS = 3 };

// A buffer for all batches, of huge pages where there are any; NULL when memory is short. munmap it never:
// it lives as long as the process.
uint8_t *bare_buffer(int64_t bytes);

// Makes n samples with view->fill on so many threads. records may be NULL. Returns how many samples failed.
int64_t bare_fill(const void *view, const int64_t *indices, const uint8_t *records, int64_t n, int64_t batch,
                  uint8_t *buffer, int threads);

// Decodes n JPEG files on so many threads, each file's region only: x, y, width, height, four int32 a sample;
// NULL stands for whole pictures. Rows are looked at nowhere. Returns how many failed; -1 without libjpeg.
int64_t bare_decode(const char *libjpeg, const char *const *paths, const int32_t *regions, int64_t n, int threads);

#endif
