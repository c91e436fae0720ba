// The stateless stream: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011), a keyed function of a 128-bit counter. A sample's counters are (block, occurrence, index low, index
// high), its key is the first two words of Philox of the counter (epoch low, epoch high, 0, 0) under the seed.
#include "words.h"

static void philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]) {
    uint32_t a = counter[0], b = counter[1], c = counter[2], d = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t left = (uint64_t)0xD2511F53 * a, right = (uint64_t)0xCD9E8D57 * c;
        a = (uint32_t)(right >> 32) ^ b ^ k0;
        b = (uint32_t)right;
        c = (uint32_t)(left >> 32) ^ d ^ k1;
        d = (uint32_t)left;
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
    out[0] = a;
    out[1] = b;
    out[2] = c;
    out[3] = d;
}

static void refill(gf_words *w) {
    philox(w->out, w->counter, w->key);
    w->counter[0]++;
    w->at = 0;
    w->end = 4;
}

void gf_philox_epoch(gf_words *w, uint64_t seed, uint64_t epoch) {
    uint32_t counter[4] = {(uint32_t)epoch, (uint32_t)(epoch >> 32), 0, 0};
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t out[4];
    philox(out, counter, key);
    w->key[0] = out[0];
    w->key[1] = out[1];
    w->refill = refill;
    w->fused = 0;
}

void gf_philox_sample(gf_words *w, int64_t index, int32_t occurrence) {
    w->counter[0] = 0;
    w->counter[1] = (uint32_t)occurrence;
    w->counter[2] = (uint32_t)index;
    w->counter[3] = (uint32_t)((uint64_t)index >> 32);
    w->at = w->end = 0;
    w->kept = 0;
}
