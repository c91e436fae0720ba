// One trial of a kernel: what it is given and what it makes. A kernel that has a form for each of several instruction sets
// is tried at each of them with the same input, and must do what its plain C does, to the last byte.
#ifndef GOFAST_KERNELTEST_TRIAL_H
#define GOFAST_KERNELTEST_TRIAL_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    int level;            // 0: plain C; else at most that many steps up
    uint64_t state;       // of the dice, which fall alike at every level
    const uint8_t *given; // what a fuzzer has them show first
    size_t left;
    uint8_t *memory, *before, *may; // all inputs and results; as they were when the kernel began; what it may do to each byte
    size_t used, begun;
} trial;

// What a kernel may do to a byte. Scratch is not compared.
enum { GF_READ, GF_MAKE, GF_SCRATCH };

uint64_t roll(trial *);
int dice(trial *, int sides);  // 0 to sides - 1
double real(trial *);          // 0 to 1
double normal(trial *);
uint8_t *take(trial *, size_t bytes, size_t align, int may); // noise of some kind at a random place of this alignment, with a margin
void allow(trial *, uint8_t *, size_t bytes, int may);
void begin(trial *);                // all that the kernel reads is there
void result(trial *, uint64_t);     // is compared too

typedef struct {
    const char *name;
    int (*best)(void); // this processor's level
    void (*run)(trial *);
} kernel;

extern const kernel gf_pixel_kernels[], gf_number_kernels[], gf_other_kernels[]; // end with no name

const kernel *gf_kernel_at(int i, int *best); // of all of them, with this processor's level; NULL at the end

// Runs a kernel in plain C and at a level. Returns 0 if all is well, else text says what is wrong.
int gf_try(const kernel *, int level, uint64_t seed, const uint8_t *given, size_t n, char text[200]);

#endif
