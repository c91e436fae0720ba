// Work on a picture that stops after a stage, and makes nothing of it: what reading and decoding cost by themselves.
#ifndef GOFAST_PROBE_H
#define GOFAST_PROBE_H

#include "image.h"

// Each is a gf_fill_fn of a view of gf_image_programs.
int64_t gf_image_probe_read(const gf_view *, const gf_batch *, int64_t from, int64_t to);   // the file's bytes
int64_t gf_image_probe_whole(const gf_view *, const gf_batch *, int64_t from, int64_t to);  // and all rows of the picture
int64_t gf_image_probe_needed(const gf_view *, const gf_batch *, int64_t from, int64_t to); // or only those that the plan needs

#endif
