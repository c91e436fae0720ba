// Samples of pictures that were made as far as is certain before: kept records stand for their files.
#ifndef GOFAST_KEEP_H
#define GOFAST_KEEP_H

#include "../source/kept/kept.h"
#include "run.h"

// Makes a sample of its record. 0: there is none of the file as it is now, or it cannot be made, and the file says what is
// wrong.
int gf_image_of_record(gf_image_worker *, const gf_image_program *, int64_t sample, const int32_t *record, uint8_t *x);

// Whether a sample that is read next is kept; and the stamp of what is read.
int gf_image_keeps(const gf_image_program *, int64_t sample, gf_stamp *);

// Makes an open picture's sample by way of its record, which is kept if the file is still the same behind it; of coefficients,
// both in one. 0: it cannot be made, and the source has to be opened once more.
int gf_image_by_record(gf_image_worker *, const gf_image_program *, int64_t sample, const gf_stamp *, gf_opened *, const int32_t *record, uint8_t *x);

#endif
