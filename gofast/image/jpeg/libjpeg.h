// The part of libjpeg's documented binary interface, version 62, that is used here. It is declared again, so that the
// build needs no libjpeg header. Fields that gofast does not use are here only for the layout. The library itself checks
// the size of the structure, and lj_load checks that the fields are in their places.
#ifndef GOFAST_LIBJPEG_H
#define GOFAST_LIBJPEG_H

#include <stddef.h>
#include <stdint.h>

enum { LJ_VERSION = 62 };

// Answers of jpeg_read_header.
enum { LJ_SUSPENDED = 0, LJ_HEADER_OK = 1, LJ_TABLES_ONLY = 2 };

// Colour spaces. EXT_RGBA is libjpeg-turbo's: like RGBX, with 255 promised in the fourth byte.
enum { LJ_CMYK = 4, LJ_EXT_RGBA = 12 };

// Pools of the memory manager.
enum { LJ_POOL_PERMANENT, LJ_POOL_IMAGE };

enum { LJ_MESSAGE_SIZE = 200 };

typedef struct lj_decompress lj_decompress;

typedef struct {
    void (*error_exit)(lj_decompress *); // must not return
    void (*emit_message)(lj_decompress *, int level);
    void (*output_message)(lj_decompress *);
    void (*format_message)(lj_decompress *, char *text); // of LJ_MESSAGE_SIZE bytes
    void (*reset)(lj_decompress *);
    int code;
    union {
        int numbers[8];
        char text[80];
    } parameters;
    int trace_level;
    long warnings;
    const char *const *messages; // 0..last_message
    int last_message;
    const char *const *more_messages;
    int first_more, last_more;
} lj_errors;

typedef struct {
    const uint8_t *next;
    size_t left;
    void (*init)(lj_decompress *);
    int (*fill)(lj_decompress *); // 0: no more for now
    void (*skip)(lj_decompress *, long bytes);
    int (*resync)(lj_decompress *, int desired);
    void (*term)(lj_decompress *);
} lj_source;

// The start of the memory manager; gofast does not use the rest.
typedef struct {
    void *(*small)(lj_decompress *, int pool, size_t size);
} lj_memory;

// A table of Huffman codes as a file gives it: how many codes of 1..16 bits, and what they stand for.
typedef struct {
    uint8_t bits[17], values[256];
    int sent;
} lj_huffman;

typedef struct {
    int id, index;
    int horizontal, vertical; // sampling factors
    int quantisation, dc_table, ac_table;
    unsigned blocks_wide, blocks_high;
    int scaled;
    unsigned width, height;
    int needed;
    int mcu[6];
    void *tables[2];
} lj_component;

// The start of the library's own decoder of coefficients. It is not documented, but has not changed since 1991. The
// function is exchanged for ours only if a trial shows that this works.
typedef int lj_decode_mcu(lj_decompress *, int16_t (*const *blocks)[64]);

typedef struct {
    void (*start)(lj_decompress *);
    lj_decode_mcu *decode_mcu;
} lj_entropy;

struct lj_decompress {
    lj_errors *errors;
    lj_memory *memory;
    void *progress;
    void *client;
    int is_decompressor, state;

    lj_source *source;
    unsigned width, height;
    int components, colours;

    // What is wanted; jpeg_read_header sets the defaults.
    int out_colours;
    unsigned scale_over, scale_under;
    double gamma;
    int buffered, raw, dct, fancy_upsampling, block_smoothing;
    int quantise, dither, two_pass, colour_count, one_pass_next, external_next, two_pass_next;

    unsigned out_width, out_height;
    int out_colour_components, out_components, rows_at_once;
    int colours_used;
    void *colour_map;

    unsigned row; // the next one out
    int scan_in;
    unsigned mcu_row_in;
    int scan_out;
    unsigned mcu_row_out;
    int (*precision_of)[64]; // of each component's coefficients, as far as a progressive file has come: 0 is all

    void *quantisation[4];
    lj_huffman *dc_tables[4], *ac_tables[4];
    int precision;
    lj_component *component;
    int progressive, arithmetic;
    uint8_t arithmetic_tables[3][16];
    unsigned restart_interval;

    int saw_jfif;
    uint8_t jfif[3];
    uint16_t density[2];
    int saw_adobe;
    uint8_t adobe_transform;
    int ccir601;
    void *markers;

    int most_horizontal, most_vertical, least_scaled;
    unsigned mcu_rows;
    void *range_limit;

    int components_in_scan;
    lj_component *in_scan[4];
    unsigned mcus_per_row, mcu_rows_in_scan;
    int blocks_in_mcu, membership[10];
    int spectral[4];
    int unread_marker;

    void *modules[6];
    lj_entropy *entropy;
    void *more_modules[4];
};

// The library's functions.
typedef struct {
    lj_errors *(*std_error)(lj_errors *);
    void (*create)(lj_decompress *, int version, size_t size);
    void (*destroy)(lj_decompress *);
    void (*abort)(lj_decompress *);
    int (*read_header)(lj_decompress *, int require_image);
    void (*output_size)(lj_decompress *);
    int (*many_scans)(lj_decompress *);
    int (*start)(lj_decompress *);
    void (*crop)(lj_decompress *, unsigned *x, unsigned *width);
    unsigned (*skip)(lj_decompress *, unsigned rows);
    unsigned (*read)(lj_decompress *, uint8_t **rows, unsigned count);
    int (*finish)(lj_decompress *);
    int (*resync)(lj_decompress *, int desired);
    lj_decode_mcu *decode_mcu; // the function that ours may replace; NULL if it must not
    char path[512];
    char version[640]; // and where it is
} lj_library;

// The library, once lj_load has found it; else NULL.
const lj_library *lj_loaded(void);

#endif
