// An operation: what a plan says of a step, what the step draws and what it does. Each has a file here and a line in step.h's list.
#ifndef GOFAST_OPERATION_H
#define GOFAST_OPERATION_H

#include <stdio.h>

#include "canvas.h"
#include "field.h"
#include "words.h"

// Sizes are int64 on the way, so that no padding overflows.
typedef struct {
    int64_t height, width;
} gf_wide_size;

// What is drawn for one sample; the order of draws and comparisons is torchvision 0.29's.
typedef struct {
    gf_words *words;
    gf_words *python; // Python's own random; a sample's own stream is both
    gf_wide_size size; // of the picture, before the step and then behind it
    const gf_draw_exp *exp;
    gf_draw_result *result;
} gf_drawing;

// What others need to know of an operation.
enum {
    GF_DRAWS = 1,        // from a generator: what it does to a picture is not certain
    GF_DRAWS_PYTHON = 2, // v1: from Python's random
    GF_MOVABLE = 4,      // it does the same before and behind the change to numbers
    GF_FINISHES = 8,     // it acts on the finished sample, behind that change: random_erasing
    GF_TORCH_WORDS = 16, // its words are torch's arithmetic to the last bit: compile.go's TorchWords
};

typedef struct {
    int32_t words;          // of a record, all 0 before
    // What the first of them say, for people: names, and types where they are no int32_t: "happens:?" of 0 or 1, "order:4i",
    // a float :f or double :d, an augmentation's operation :A.
    const char *record;
    int32_t flags;          // GF_DRAWS..., several
    int32_t crops;          // so many pictures it makes of one, and is the last step then; 0: one
    const gf_field *fields; // up to a row without a name; NULL: none
    // Checks what a row cannot say, and fills in what follows from the fields. step->count is how many its own numbers are.
    // What is wrong, with the field's name, or NULL. The function may be NULL.
    const char *(*check)(gf_step *);
    // Draws them, and sets the size that the next step finds. GF_DRAW_... NULL: there is nothing to draw, and the size stays.
    int32_t (*draw)(gf_drawing *, const gf_step *, int32_t *record);
    // Does it to the geometry or the pixels. 0, or a fault's code. NULL: nothing.
    int32_t (*run)(gf_canvas *, const gf_step *, const int32_t *record);
} gf_operation;

#define GF_OPERATION(name) extern const gf_operation gf_op_##name;
GF_STEPS(GF_OPERATION)
GF_OPERATION(member)

extern const gf_operation *const gf_operations[GF_STEP_KINDS];
extern const char *const gf_step_names[GF_STEP_member]; // in a plan

// choice.c: visits a sample's steps in the order in which they happen, those of containers as the record says once the
// container itself was visited. Ends at a code that is not 0, and returns it.
typedef int32_t gf_visit(void *context, const gf_step *);
int32_t gf_walk(const gf_steps *, const int32_t *record, gf_visit *visit, void *context);

#define GF_RAISE(drawing, ...) (snprintf((drawing)->result->text, sizeof(drawing)->result->text, __VA_ARGS__), GF_DRAW_RAISES)

// resize.c: the size behind a resize, as torchvision computes it.
gf_size gf_resized(const gf_step *, int32_t width, int32_t height);

// Which fields a transform needs beside its rows, GF_FIELDS_SEEN.
const char *gf_check_seen(gf_step *);
// jitter.c: of a tensor's hue.
const char *gf_check_hue(gf_step *);

// The draw of what happens to a sample or does not. gf_draw_whether: where v1 compares doubles, and v2 float32.
int32_t gf_draw_chance(gf_drawing *, const gf_step *, int32_t *record);
int32_t gf_draw_whether(gf_drawing *, const gf_step *, int32_t *record);

// Whether an augmentation takes the other sign: v1's torch.randint(2, (1,)), v2's torch.rand(()) <= 0.5.
int32_t gf_draw_minus(gf_drawing *, const gf_step *);

// box.c: the height and width of a random box, in doubles that are whole numbers. 0, or 1 where they depend on torch's
// exp of result->ask. `wide`: it is wide where its aspect is large, as a cropped one; an erased one is high.
typedef struct {
    double height, width;
} gf_draw_box;

int32_t gf_random_box(gf_drawing *, const gf_step *, int wide, gf_draw_box *box);
double gf_round(double x); // to the nearest whole number, halves to even; below 2^51

#endif
