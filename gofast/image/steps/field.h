// What a plan says of a step: a row for each field. By these rows Go reads it from JSON, checks it, and lays it out (fields.go).
#ifndef GOFAST_FIELD_H
#define GOFAST_FIELD_H

#include <stddef.h>

#include "step.h"

enum {
    GF_FIELD_INT32, // true is 1
    GF_FIELD_UINT8,
    GF_FIELD_FLOAT,
    GF_FIELD_DOUBLE,
    GF_FIELD_NAME,    // one of names; an int32 is its place there
    GF_FIELD_NUMBERS, // any count of doubles behind the steps: gf_step_numbers
    GF_FIELD_STEPS,   // a list of steps that are laid out behind this one
    GF_FIELD_MEMBERS, // at most so many lists
};

// How it is given; several.
enum {
    GF_OPTIONAL = 1, // it may be missing or null, and is 0 then
    GF_RANGE = 2,    // numbers are from and to, from and to
    GF_FEWER = 4,    // fewer numbers than count will do, and the others are 0
};

typedef struct {
    const char *name;
    uint16_t at; // in a gf_step
    uint8_t type, how;
    int32_t count;
    double least, most;
    const char *const *names; // the last is NULL
    int32_t given; // a bit of gf_step.given
} gf_field;

#define GF_FIELD_AS(NAME, PLACE, TYPE, COUNT, LEAST, MOST, ...) \
    {.name = NAME, .at = offsetof(gf_step, PLACE), .type = GF_FIELD_##TYPE, .count = COUNT, .least = LEAST, .most = MOST, __VA_ARGS__}
#define GF_FIELD(PLACE, TYPE, COUNT, LEAST, MOST, ...) GF_FIELD_AS(#PLACE, PLACE, TYPE, COUNT, LEAST, MOST, __VA_ARGS__)

extern const char *const gf_filter_names[], *const gf_seen_names[], *const gf_edge_names[], *const gf_version_names[];

// Fields that several operations have.
#define GF_FIELD_P GF_FIELD(p, DOUBLE, 1, 0, GF_MOST_NUMBER)
#define GF_FIELD_SIZE GF_FIELD(size, INT32, 2, 1, GF_MOST_SIDE)
#define GF_FIELD_USUAL GF_FIELD(usual, INT32, 1, 0, 1, .how = GF_OPTIONAL)
#define GF_FIELD_MAX_SIZE GF_FIELD(max_size, INT32, 1, 0, GF_MOST_SIDE, .how = GF_OPTIONAL)
#define GF_FIELD_FILTER GF_FIELD(filter, NAME, 1, 0, 0, .names = gf_filter_names)
#define GF_FIELD_SCALE(LEAST, MOST) GF_FIELD(scale, DOUBLE, 2, LEAST, MOST, .how = GF_RANGE)
#define GF_FIELD_FACTOR(NAME, WHICH, HOW) \
    GF_FIELD_AS(NAME, factors[WHICH], DOUBLE, 2, -GF_MOST_FACTOR, GF_MOST_FACTOR, .how = GF_RANGE | (HOW), .given = 1 << WHICH)
#define GF_FIELDS_FACTORS(HOW) \
    GF_FIELD_FACTOR("brightness", GF_JITTER_BRIGHTNESS, HOW), GF_FIELD_FACTOR("contrast", GF_JITTER_CONTRAST, HOW), \
    GF_FIELD_FACTOR("saturation", GF_JITTER_SATURATION, HOW), GF_FIELD_FACTOR("hue", GF_JITTER_HUE, HOW)
#define GF_FIELD_PADDING(HOW) GF_FIELD(padding, INT32, 4, 0, GF_MOST_SIDE, .how = HOW, .given = GF_GIVEN_PADDING)
#define GF_FIELD_FILL(HOW) GF_FIELD(fill, UINT8, 3, 0, 255, .how = HOW, .given = GF_GIVEN_FILL)
#define GF_FIELDS_EDGE GF_FIELD(mode, NAME, 1, 0, 0, .names = gf_edge_names), GF_FIELD_FILL(0)
// How a transform sees its source, and the colour beyond, which a tensor's may do without: gf_check_seen.
#define GF_FIELD_SEEN GF_FIELD(seen, NAME, 1, 0, 0, .names = gf_seen_names), GF_FIELD(fused, INT32, 1, 0, 1, .how = GF_OPTIONAL)
#define GF_FIELDS_SEEN GF_FIELD_SEEN, GF_FIELD_FILL(GF_OPTIONAL)
#define GF_FIELDS_BOX \
    GF_FIELD_SCALE(0, GF_MOST_NUMBER), GF_FIELD(ratio, DOUBLE, 2, 1 / GF_MOST_NUMBER, GF_MOST_NUMBER, .how = GF_RANGE), \
    GF_FIELD(log_ratio, FLOAT, 2, -40, 40, .how = GF_RANGE)
#define GF_FIELD_NUMBERS_WITHIN(LEAST, MOST) GF_FIELD(numbers, NUMBERS, 0, LEAST, MOST)
#define GF_NO_FIELD {.name = NULL}

// Those of every operation.
extern const gf_field gf_common_fields[];

#endif
