// NVRTC, the compiler for kernels: torch brings it. Own prototypes, found at run time.
#ifndef GOFAST_NVRTC_H
#define GOFAST_NVRTC_H

#include <stddef.h>

typedef struct gf_nvrtc gf_nvrtc;

// Loads the first library of a list that is there. NULL with words where none is.
const gf_nvrtc *gf_nvrtc_load(const char *const *libraries, int n, char *text, size_t text_bytes);

void gf_nvrtc_version(const gf_nvrtc *, int *major, int *minor);

// The architectures that it compiles for, ascending: 75 is sm_75. Writes at most `room` of them; returns how many.
int gf_nvrtc_architectures(const gf_nvrtc *, int *architectures, int room);

// A source and the headers that it includes, by name.
typedef struct {
    const char *text, *const *headers, *const *names;
    int n_headers;
} gf_nvrtc_source;

// Compiles to machine code for one architecture; to PTX, if the options name a virtual one: *image is the caller's to free. 0, or a code; text
// has the compiler's words, warnings too.
int gf_nvrtc_compile(const gf_nvrtc *, const gf_nvrtc_source *, const char *const *options, int n, void **image, size_t *bytes, char *text, size_t text_bytes);

#endif
