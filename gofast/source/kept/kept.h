// Records of samples that are kept for later epochs, in files that only grow: what a program has made of a sample's bytes.
// The opener has the files; threads, forked workers and spawned workers read and append here alike, without a lock.
#ifndef GOFAST_KEPT_H
#define GOFAST_KEPT_H

#include "../../internal/store/record.h"
#include "../reader/reader.h"

enum { GF_KEPT_MOST_FILES = 256 };

// What all processes share, zeros at first.
typedef struct {
    _Atomic int64_t end;     // of the file that is written: all before is given away
    _Atomic int64_t entries; // of its index
    _Atomic int64_t made, used; // records that were written, and uses of any
    _Atomic int32_t stopped;    // why nothing is written any more: errno
    _Atomic int32_t full;       // a record did not fit
} gf_kept_shared;

// Built by kept.go. What it points to is the opener's, and outlives it.
typedef struct gf_kept {
    const int32_t *files;   // descriptors of GF_KEPT_MOST_FILES files with records, -1 for none
    int32_t own, index;     // the one that is written, and its index's descriptor; -1: nothing is written, or it has no index
    const uint8_t *mapped;  // the own file, which is memory that nobody else can write to; NULL: files are read with pread
    int64_t limit;          // of the own file's bytes
    gf_kept_shared *shared;
    const char *names;       // of samples, one behind the other, each with a zero: a record says whose it is; NULL: it need not
    const uint64_t *offsets; // of each sample's in them
    _Atomic uint64_t *records; // of each sample: where its record lies, file << 48 | offset, plus 1; 0: there is none
    uint64_t written[2][2]; // device and inode of the own file and its index: others' code may close descriptors
} gf_kept;

// In records: there is none, and none can be made.
#define GF_KEPT_NEVER UINT64_MAX

gf_kept *gf_kept_new(gf_kept);

// An entry of an index: a record that was written completely.
typedef struct {
    uint64_t key; // of the sample's name
    int64_t offset;
} gf_kept_entry;

// What a name is found by. Two names may have one key: records have the names.
uint64_t gf_kept_key(const char *name);

// The place of a name in a table of keys, count of them, a power of two, zeros at first; a new one where it has none yet. -1: there
// is no room near where it belongs. Two names may have one place, as they may have one key.
int64_t gf_kept_place(_Atomic uint64_t *keys, int64_t count, const char *name);

// Whether a sample has a record, perhaps a damaged one.
static inline int gf_kept_has(const gf_kept *k, int64_t sample) {
    uint64_t record = __atomic_load_n((const uint64_t *)&k->records[sample], __ATOMIC_RELAXED);
    return record != 0 && record != GF_KEPT_NEVER;
}

// Bytes that stand before those of a sample's record: the header, and the name.
size_t gf_kept_before(const gf_kept *, int64_t sample);

// Gets a sample's record if it was made of what has this stamp now, and is whole. memory is lent. *bytes are header->bytes, with
// GF_BYTES_SLACK readable ones behind them. Returns 0 where there is none.
int gf_kept_get(const gf_kept *, int64_t sample, const gf_stamp *now, gf_bytes *memory, gf_record *header, const uint8_t **bytes);

// Whether a whole record lies there, of a name with this key. memory is lent.
int gf_kept_check(int fd, int64_t at, uint64_t key, gf_bytes *memory);

// Whether a record of a sample with this stamp is taken. What was changed just now may be changed again without another
// stamp.
int gf_kept_takes(const gf_kept *, int64_t sample, const gf_stamp *);

// Notes that no record can be made of a sample, so that nobody tries again.
void gf_kept_never(const gf_kept *, int64_t sample);

// Appends the record of a sample whose header->bytes bytes lie gf_kept_before behind it in memory, and fills in all that stands
// before them but stamp, size, info and bytes. 1 if it was written.
int gf_kept_put(const gf_kept *, int64_t sample, gf_record *record);

// Begins to fetch a sample's record.
void gf_kept_hint(const gf_kept *, int64_t sample);

#endif
