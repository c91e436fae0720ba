// What a kernel makes: numbers of stored rows. Host and device share this file, so it has plain types of fixed size only.
#ifndef GOFAST_MAKING_H
#define GOFAST_MAKING_H

#include <stdint.h>

// Where RandomErasing put a box into a sample; 0 x 0: nowhere.
typedef struct {
    int32_t top, left, height, width;
} gf_erasing;

enum { GF_MAKING_ERASINGS = 4 }; // of one sample at most

// Samples are made of rows of `width` stored values; labels are copied. All addresses are the device's.
typedef struct {
    const uint8_t *stored;  // row 0
    const int64_t *rows;    // which rows, `count` of them; NULL: 0, 1, 2, ...
    uint8_t *made;          // sample 0
    const uint8_t *results; // of stored bytes: 256 results for each channel; NULL: compute
    const float *mean, *std; // of each value of a row; NULL: none
    const uint8_t *labels;  // row 0's, label_bytes each; NULL: none
    uint8_t *labels_made;
    const gf_erasing *boxes; // n_erasings for each sample, in the order in which they are done; NULL: none
    int64_t count, width;
    int64_t label_bytes;
    int64_t plane;           // values of a channel that lie side by side; of channels last: the channels of a pixel
    int32_t channels;        // tables of results
    int32_t last;            // 1: channels last
    int32_t divide;          // 1: by 255 first
    int32_t picture_width;   // of a row that is a picture with boxes
    int32_t n_erasings;
    uint32_t values[GF_MAKING_ERASINGS][4]; // of each erasing and channel: the bits of the finished value
} gf_making;

#endif
