#include "ragged.h"

#include <string.h>

void gf_ragged_pad(const gf_ragged *r) {
    for (int64_t i = 0; i < r->n; i++) {
        int64_t from = r->ends[r->rows[i]], length = r->ends[r->rows[i] + 1] - from;
        if (length > r->width) length = r->width;
        int64_t *row = r->out + (r->places ? r->places[i] : i) * r->width;
        int64_t *to = r->left ? row + r->width - length : row, *rest = r->left ? row : row + length;
        for (int64_t k = 0; k < r->width - length; k++) rest[k] = r->blank;
        if (!r->values) {
            for (int64_t k = 0; k < length; k++) to[k] = 1;
        } else if (r->size == 8) {
            memcpy(to, (const int64_t *)r->values + from, (size_t)length * 8);
        } else if (r->size == 4) {
            const int32_t *values = (const int32_t *)r->values + from;
            for (int64_t k = 0; k < length; k++) to[k] = values[k];
        } else {
            const uint8_t *values = (const uint8_t *)r->values + from;
            for (int64_t k = 0; k < length; k++) to[k] = values[k];
        }
    }
}
