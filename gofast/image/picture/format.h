// A format of pictures: how its files are told, and how pixels are got out of them. Plain C, which engine threads and
// forked workers use alike, each with a state of its own: no lock that a fork could leave locked, and no global state
// but a library's functions. Pixels are those of Pillow's Image.open(f).convert("RGB"), as RGBX rows, and so is the
// verdict on damaged files; whatever a format is not sure of is GF_FAULT_UNSUPPORTED, and Pillow's to decode.
#ifndef GOFAST_FORMAT_H
#define GOFAST_FORMAT_H

#include <stddef.h>

#include "../../source/reader/reader.h"
#include "picture.h"

enum {
    GF_FORMAT_ROWS = 4,   // the most rows of one call
    GF_FORMAT_SLACK = 64, // readable bytes behind the last row of a picture or a call
    GF_FORMAT_MORE = -1,  // the size needs more of the file
};

// Where nothing else is said, functions answer 0, or the code of fault.
typedef struct {
    const char *name;
    const char *magic;    // how its files begin; ? is any byte
    const char *variable; // of the environment: another library to decode with
    const char *wheel;    // the library in Pillow's wheel, a pattern. NULL: there is none, the system's is Pillow's

    // Finds the library, once for the process and before any fork: $variable and nothing else where that is set, else
    // path (may be NULL), else the system's. 1 when it is there; else 0, why says why (of size bytes, may be NULL), and
    // every begin answers GF_FAULT_UNSUPPORTED. Once found, it stays: later calls change nothing. NULL: it needs none.
    int (*load)(const char *path, char *why, size_t size);

    // The size that the header claims. data are the first n bytes of a file of length bytes. Needs no library and
    // allocates nothing. May answer GF_FORMAT_MORE too, with how many bytes are needed at least in fault->offset.
    int32_t (*size)(const uint8_t *data, size_t n, size_t length, int32_t *width, int32_t *height, gf_fault *);

    // What one thread decodes with: its buffers grow to the largest picture and stay. NULL when memory is short.
    void *(*make)(void);
    void (*free)(void *);
    size_t (*held)(const void *); // bytes that it keeps for the next picture; NULL: few

    // Begins a whole file in memory, which stays where it is until the end. max_pixels is the most that width x height
    // may be. After a fault there is nothing to end.
    int32_t (*begin)(void *, const gf_sample_bytes *, int64_t max_pixels, gf_picture *, gf_fault *);

    // A format may decode all of a picture in `begin`. The next three are then NULL, and the picture is valid until the next
    // one begins. Where they are not NULL, `begin` gives the size alone.

    // Chooses the part that is wanted. What is not needed for it is not computed.
    int32_t (*start)(void *, gf_box region, gf_fault *);
    // The region's next rows, no more than are left, *stride bytes apart: a pointer to the region's first column of the
    // first one. Valid until the next call. NULL: see fault.
    const uint8_t *(*rows)(void *, int32_t rows, int64_t *stride, gf_fault *);
    // Leaves out the region's next rows, no more than are left, which saves their pixels; NULL where it would not.
    void (*skip)(void *, int32_t rows);
    // Ends the picture, whether all rows were taken or not, with the verdict: rows of a file that fails here count for
    // nothing.
    int32_t (*end)(void *, gf_fault *);
} gf_picture_format;

#endif
