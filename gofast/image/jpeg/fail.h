// The way in which this package's C code reports a fault.
#ifndef GOFAST_JPEG_FAIL_H
#define GOFAST_JPEG_FAIL_H

#include <stdio.h>

#include "jpeg.h"

static inline int fail(gf_fault *fault, int32_t code, int64_t offset, const char *text) {
    fault->code = code;
    fault->offset = offset;
    snprintf(fault->text, sizeof fault->text, "%.*s", (int)sizeof fault->text - 1, text);
    return code;
}

#endif
