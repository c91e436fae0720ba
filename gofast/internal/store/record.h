// A record, as it lies in a file of records: this header, a name, and the content (docs/formats-on-disk.md).
#ifndef GOFAST_RECORD_H
#define GOFAST_RECORD_H

#include <stddef.h>
#include <stdint.h>

#define GF_RECORD_MAGIC "gofastK1"

// A change of it, or of the sum, needs another VERSION in python/gofast/_images/cache_option.py and another magic in store.go.
typedef struct {
    char magic[8];
    uint64_t stamp[4];     // of the file that it was made of, a gf_stamp; zeros where its name says all
    int32_t width, height; // of the picture that it was made of
    int32_t info, name;    // GF_INFO_..., several; bytes of the name behind this, zeros up to a word among them
    int64_t bytes;         // behind those
    uint64_t sum;          // of all the others, of name and bytes too; 0 in memory
} gf_record;

// A sum of bytes that come in pieces: all but the last one are a multiple of 64.
typedef struct {
    uint64_t lane[8], bytes;
    uint8_t rest[64];
} gf_sum;

gf_sum gf_sum_begin(uint64_t seed);
gf_sum gf_sum_add(gf_sum, const uint8_t *, size_t);
uint64_t gf_sum_end(gf_sum);

// The sum of one piece.
uint64_t gf_sum_of(const uint8_t *, size_t, uint64_t seed);

// What the sum of a record's name and content begins with.
uint64_t gf_record_seed(const gf_record *);

#endif
