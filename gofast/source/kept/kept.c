#include "kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(gf_stamp) == sizeof((gf_record){0}.stamp), "a record has room for a stamp");

enum {
    ALIGNED = 64,
    OFFSET_BITS = 48,
    HINT_BYTES = 256 << 10,
    PROBES = 16,
};

static const int64_t MOST_BYTES = 64 << 20; // of a record
static const int32_t MOST_NAME = 4096 + 8;  // PATH_MAX: no longer one has a file
static const int64_t SETTLED_NS = 2000000000; // the coarsest times of a file system: FAT's

// behind are its name and bytes.
static uint64_t sum_of_record(const gf_record *h, const uint8_t *behind) {
    return gf_sum_of(behind, (size_t)h->name + (size_t)h->bytes, gf_record_seed(h));
}

uint64_t gf_kept_key(const char *name) { return gf_sum_of((const uint8_t *)name, strlen(name), 0); }

int64_t gf_kept_place(_Atomic uint64_t *keys, int64_t count, const char *name) {
    uint64_t key = gf_kept_key(name);
    for (int i = 0; key && i < PROBES; i++) {
        int64_t at = (int64_t)((key + (uint64_t)i) & (uint64_t)(count - 1));
        uint64_t there = 0;
        if (atomic_compare_exchange_strong(&keys[at], &there, key) || there == key) return at;
    }
    return -1;
}

static const char *name_of(const gf_kept *k, int64_t sample) { return k->names + k->offsets[sample]; }

// One zero at least ends it.
static int32_t name_bytes(const gf_kept *k, int64_t sample) { return k->names ? (int32_t)(strlen(name_of(k, sample)) / 8 * 8 + 8) : 0; }

size_t gf_kept_before(const gf_kept *k, int64_t sample) { return sizeof(gf_record) + (size_t)name_bytes(k, sample); }

static int same_stamp(const gf_record *h, const gf_stamp *now) { return !memcmp(h->stamp, now, sizeof *now); }

static int read_at(int fd, void *to, int64_t size, int64_t at) {
    for (uint8_t *next = to; size > 0;) {
        ssize_t n = pread(fd, next, (size_t)size, (off_t)at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return 0; // a file that has shrunk
        next += n;
        at += n;
        size -= n;
    }
    return 1;
}

// 0, or errno.
static int write_at(int fd, const void *from, int64_t size, int64_t at) {
    for (const uint8_t *next = from; size > 0;) {
        ssize_t n = pwrite(fd, next, (size_t)size, (off_t)at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n ? errno : ENOSPC;
        next += n;
        at += n;
        size -= n;
    }
    return 0;
}

static int find(const gf_kept *k, int64_t sample, int *fd, int64_t *offset) {
    uint64_t record = atomic_load_explicit(&k->records[sample], memory_order_acquire);
    if (!record--) return 0;
    uint64_t file = record >> OFFSET_BITS;
    if (file >= GF_KEPT_MOST_FILES) return 0;
    *fd = k->files[file]; // another process may have opened more
    *offset = (int64_t)(record & (((uint64_t)1 << OFFSET_BITS) - 1));
    return *fd >= 0;
}

// Reads a whole record with its name, if what it was made of had this stamp. now is NULL: any stamp will do.
static int read_record(int fd, int64_t at, const gf_stamp *now, gf_bytes *memory, gf_record *h) {
    if (!read_at(fd, h, sizeof *h, at) || memcmp(h->magic, GF_RECORD_MAGIC, sizeof h->magic) || (now && !same_stamp(h, now))) return 0;
    if (h->name <= 0 || h->name > MOST_NAME || h->bytes < 0 || h->bytes > MOST_BYTES) return 0;
    int64_t size = h->name + h->bytes;
    if (!gf_bytes_reserve(memory, (size_t)size) || !read_at(fd, memory->data, size, at + (int64_t)sizeof *h)) return 0;
    return sum_of_record(h, memory->data) == h->sum && !memory->data[h->name - 1];
}

int gf_kept_check(int fd, int64_t at, uint64_t key, gf_bytes *memory) {
    gf_record h;
    return read_record(fd, at, NULL, memory, &h) && gf_kept_key((const char *)memory->data) == key;
}

int gf_kept_get(const gf_kept *k, int64_t sample, const gf_stamp *now, gf_bytes *memory, gf_record *h, const uint8_t **bytes) {
    int fd;
    int64_t at;
    if (!find(k, sample, &fd, &at)) return 0;
    if (k->mapped) {
        const uint8_t *behind = k->mapped + at + sizeof *h;
        memcpy(h, k->mapped + at, sizeof *h);
        if (!same_stamp(h, now) || (k->names && strcmp((const char *)behind, name_of(k, sample)))) return 0;
        *bytes = behind + h->name;
    } else {
        if (!read_record(fd, at, now, memory, h) || strcmp((const char *)memory->data, name_of(k, sample))) return 0;
        *bytes = memory->data + h->name;
    }
    atomic_fetch_add_explicit(&k->shared->used, 1, memory_order_relaxed);
    return 1;
}

int gf_kept_takes(const gf_kept *k, int64_t sample, const gf_stamp *stamp) {
    if (k->own < 0 || atomic_load_explicit(&k->shared->stopped, memory_order_relaxed) || atomic_load_explicit(&k->shared->full, memory_order_relaxed) ||
        atomic_load_explicit(&k->records[sample], memory_order_relaxed) == GF_KEPT_NEVER)
        return 0;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec - stamp->ctime_ns > SETTLED_NS;
}

void gf_kept_never(const gf_kept *k, int64_t sample) {
    uint64_t none = 0;
    atomic_compare_exchange_strong(&k->records[sample], &none, GF_KEPT_NEVER);
}

static int same_file(int fd, const uint64_t was[2]) {
    struct stat now;
    return !fstat(fd, &now) && (uint64_t)now.st_dev == was[0] && (uint64_t)now.st_ino == was[1];
}

gf_kept *gf_kept_new(gf_kept of) {
    gf_kept *k = malloc(sizeof *k);
    if (!k) return NULL;
    const int fds[2] = {of.own < 0 ? -1 : of.files[of.own], of.index};
    for (int i = 0; i < 2; i++) {
        struct stat now;
        if (fds[i] < 0 || fstat(fds[i], &now)) continue;
        of.written[i][0] = (uint64_t)now.st_dev, of.written[i][1] = (uint64_t)now.st_ino;
    }
    *k = of;
    return k;
}

int gf_kept_put(const gf_kept *k, int64_t sample, gf_record *h) {
    int64_t size = (int64_t)gf_kept_before(k, sample) + h->bytes, room = (size + GF_BYTES_SLACK + ALIGNED - 1) / ALIGNED * ALIGNED;
    gf_kept_shared *shared = k->shared;
    if (h->bytes > MOST_BYTES) {
        gf_kept_never(k, sample);
        return 0;
    }
    if (room > k->limit - atomic_load_explicit(&shared->end, memory_order_relaxed)) {
        atomic_store(&shared->full, 1);
        return 0;
    }
    int64_t at = atomic_fetch_add(&shared->end, room);
    if (room > k->limit - at || at >> OFFSET_BITS) return 0;
    memcpy(h->magic, GF_RECORD_MAGIC, sizeof h->magic);
    h->name = name_bytes(k, sample);
    if (h->name) strncpy((char *)(h + 1), name_of(k, sample), (size_t)h->name);
    h->sum = k->mapped ? 0 : sum_of_record(h, (const uint8_t *)(h + 1));
    int fd = k->files[k->own], mine = same_file(fd, k->written[0]) && (k->index < 0 || same_file(k->index, k->written[1]));
    int code = mine ? write_at(fd, h, size, at) : EBADF;
    if (!code && k->index >= 0) {
        gf_kept_entry entry = {gf_kept_key(name_of(k, sample)), at};
        code = write_at(k->index, &entry, sizeof entry, atomic_fetch_add(&shared->entries, 1) * (int64_t)sizeof entry);
    }
    if (code) {
        atomic_store(&shared->stopped, code);
        return 0;
    }
    atomic_fetch_add_explicit(&shared->made, 1, memory_order_relaxed);
    atomic_store_explicit(&k->records[sample], ((uint64_t)k->own << OFFSET_BITS | (uint64_t)at) + 1, memory_order_release);
    return 1;
}

void gf_kept_hint(const gf_kept *k, int64_t sample) {
    int fd;
    int64_t at;
    if (!k->mapped && find(k, sample, &fd, &at)) posix_fadvise(fd, (off_t)at, HINT_BYTES, POSIX_FADV_WILLNEED);
}
