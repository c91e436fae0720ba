// Pinned memory that small things and unpinned batches go through, used as a ring: moves are done in their order.
#include "device.h"

uint8_t *gf_staging_take(gf_device *d, int64_t bytes) {
    if (d->no_staging) return NULL;
    if (!d->staging) {
        void *made = NULL;
        if (d->driver->host_alloc(&made, GF_STAGING_BYTES, GF_CU_HOST_PORTABLE)) {
            d->no_staging = 1; // asked once: where memory may not be pinned, the next batch's would not be either
            return NULL;
        }
        d->staging = made;
    }
    int64_t at = gf_align(d->staging_end, 64), inside = at % GF_STAGING_BYTES;
    if (inside + bytes > GF_STAGING_BYTES) at += GF_STAGING_BYTES - inside; // not around the end
    if (at + bytes - d->staging_begin > GF_STAGING_BYTES) return NULL;
    d->staging_end = at + bytes;
    return d->staging + at % GF_STAGING_BYTES;
}
