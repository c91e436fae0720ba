#include "marks.h"

#include <string.h>
#include <sys/random.h>

#include "jpeg.h"

enum {
    SHARE = 144,       // bytes of a file for each byte of its marks: 0.7 %
    MOST = 4096,       // bytes of a file's marks: a photograph of 12 megapixels has one every 90 MCUs
    PLACE = 512,       // bytes of the memory for each slot: fewer than what most files take
    PROBES = 16,       // slots that a file may be in
    OFFSET_BITS = 40,  // of a slot: where the marks lie, in units of 8 bytes; above it bits of the file's hash
};

// In memory that begins as zeros: this, the slots, and the marks of one file after another. A slot is 0 while it is free,
// and has no offset while its file came only once.
typedef struct {
    _Atomic uint64_t used; // bytes of marks
    _Atomic uint64_t key;  // of hashes, by chance: nobody can make files that have one hash
    uint64_t reserved[6];
    _Atomic uint64_t slot[];
} table;

static table *here;
static uint64_t slots, room; // of the table: a power of two, and bytes for marks
static uint64_t key;
static uint8_t *marks;

void gf_jpeg_marks_use(void *memory, size_t size) {
    here = NULL;
    if (!memory || size < 1 << 16) return;
    for (slots = 64; slots * 2 * PLACE <= size; slots *= 2) continue;
    size_t before = sizeof(table) + slots * sizeof(uint64_t);
    marks = (uint8_t *)memory + before;
    room = size - before;
    uint64_t drawn, none = 0;
    if (getrandom(&drawn, sizeof drawn, 0) != sizeof drawn) return;
    atomic_compare_exchange_strong(&((table *)memory)->key, &none, drawn | 1);
    key = atomic_load(&((table *)memory)->key);
    here = memory;
}

static inline uint64_t fold(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t word(const uint8_t *p) {
    uint64_t w;
    memcpy(&w, p, sizeof w);
    return w;
}

static inline uint64_t turned(uint64_t x) { return x << 29 | x >> 35; }

// One step of a chain. A product may be 0, and does not make it forget what came before.
static inline uint64_t next(uint64_t chain, const uint8_t *p) { return turned(chain) + fold(word(p) ^ key, word(p + 8) ^ chain); }

// Four chains of products, since one would wait for each: 110 kB take some 3 us.
static uint64_t hash_of(const uint8_t *p, size_t n) {
    static const uint64_t odd = 0x9e3779b97f4a7c15, other = 0xd1b54a32d192ed03;
    uint64_t chain[4] = {n + key, ~n, odd ^ key, other};
    uint8_t last[64] = {0};
    size_t left = n;
    for (; left >= 64; left -= 64, p += 64)
        for (int i = 0; i < 4; i++) chain[i] = next(chain[i], p + 16 * i);
    memcpy(last, p, left);
    for (int i = 0; i < 4; i++) chain[i] = next(chain[i], last + 16 * i);
    return fold(fold(chain[0] ^ odd, chain[1] ^ other), fold(chain[2] ^ odd, chain[3] ^ other) ^ odd);
}

// Takes memory for marks; 0 when there is no more.
static uint64_t take(uint64_t size) {
    uint64_t at = atomic_load_explicit(&here->used, memory_order_relaxed);
    do {
        if (size > room - at) return 0;
    } while (!atomic_compare_exchange_weak_explicit(&here->used, &at, at + size, memory_order_relaxed, memory_order_relaxed));
    return at / 8 + 1; // 0 is no offset
}

static jpeg_marks *at_offset(uint64_t offset) { return (jpeg_marks *)(marks + 8 * (offset - 1)); }

// How many marks a file has, and how far apart.
static uint32_t spread(size_t n, uint32_t mcus, uint32_t *every) {
    size_t bytes = n / SHARE < MOST ? n / SHARE : MOST;
    uint32_t most = (uint32_t)((bytes - sizeof(jpeg_marks)) / sizeof(uint64_t));
    *every = mcus / (most + 1) + 1;
    return (mcus - 1) / *every;
}

static jpeg_marks *make(_Atomic uint64_t *slot, uint64_t seen, uint64_t hash, size_t n, uint32_t every, uint32_t count) {
    uint64_t offset = take(sizeof(jpeg_marks) + count * sizeof(uint64_t));
    if (!offset) return NULL;
    jpeg_marks *made = at_offset(offset);
    made->hash = hash, made->size = n, made->every = every, made->room = count;
    if (atomic_compare_exchange_strong_explicit(slot, &seen, (hash >> OFFSET_BITS) << OFFSET_BITS | offset, memory_order_release, memory_order_relaxed))
        return made;
    return NULL; // another thread was first, and this memory is lost
}

// Finds the marks of a file or makes them; those of a file that may not come again, when it comes for the second time.
static jpeg_marks *find(uint64_t hash, size_t n, uint32_t every, uint32_t count, int comes_again) {
    for (uint64_t i = 0; i < PROBES; i++) {
        _Atomic uint64_t *slot = &here->slot[(hash + i) & (slots - 1)];
        uint64_t seen = atomic_load_explicit(slot, memory_order_acquire), offset = seen & ((1ull << OFFSET_BITS) - 1);
        if (!seen && !comes_again) {
            atomic_compare_exchange_strong_explicit(slot, &seen, (hash >> OFFSET_BITS) << OFFSET_BITS, memory_order_relaxed, memory_order_relaxed);
            return NULL;
        }
        if (seen && seen >> OFFSET_BITS != hash >> OFFSET_BITS) continue;
        if (!offset) return make(slot, seen, hash, n, every, count);
        jpeg_marks *found = at_offset(offset);
        if (found->hash != hash || found->size != n) continue;
        if (found->every != every || found->room != count) return NULL; // another file with its hash and its size
        return found;
    }
    return NULL;
}

jpeg_marks *marks_of(const uint8_t *file, size_t n, uint32_t mcus, int comes_again) {
    if (!here || n / SHARE < sizeof(jpeg_marks) + 4 * sizeof(uint64_t) || mcus < 16) return NULL;
    uint64_t hash = hash_of(file, n) | 1ull << 63; // no slot with a file is 0
    uint32_t every, count = spread(n, mcus, &every);
    return find(hash, n, every, count, comes_again);
}
