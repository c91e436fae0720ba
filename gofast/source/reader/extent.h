// Where the bytes of a sample are, and what is known about them.
#ifndef GOFAST_EXTENT_H
#define GOFAST_EXTENT_H

#include <stdint.h>

enum { GF_PIXELS = INT32_MAX };

// A range of an object: a file of a folder, a member of a tar, a value in a buffer. extent.go has the same.
typedef struct {
    uint32_t object;        // the object's number
    uint32_t packed;        // 0: the bytes lie there. GF_PIXELS: a picture without a file format does (pixels.h). Else Snappy's
                            // elements do, and one less is how much of what they hold comes before
    int64_t offset, length; // length < 0: all that is behind the offset
} gf_extent;

// What was found out about a sample; 0: not known yet. Several threads and processes find it at once, each the same.
typedef struct {
    int32_t width, height; // of the picture. Written as one word: both are known, or neither
} gf_facts;

// What any rewrite of an object changes: stamp.go.
typedef struct {
    int64_t size, mtime_ns, ctime_ns;
    uint64_t id;
} gf_stamp;

#endif
