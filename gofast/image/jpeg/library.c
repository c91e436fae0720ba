// Finds libjpeg-turbo and checks that it matches libjpeg.h.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "state.h"

// Written once, and never freed: forked workers inherit it.
static _Atomic(const lj_library *) loaded;

const lj_library *lj_loaded(void) { return atomic_load_explicit(&loaded, memory_order_acquire); }

const char *gf_libjpeg_version(void) {
    const lj_library *library = lj_loaded();
    return library ? library->version : "";
}

int gf_libjpeg_exchanged(void) {
    const lj_library *library = lj_loaded();
    return library && library->decode_mcu;
}

typedef struct {
    lj_decompress d; // first: the library's callbacks get a pointer to it
    lj_errors errors;
    lj_source source;
    jmp_buf broken;
    char text[LJ_MESSAGE_SIZE];
} trial;

static void on_error(lj_decompress *d) {
    trial *t = (trial *)d;
    d->errors->format_message(d, t->text);
    longjmp(t->broken, 1);
}

static void on_message(lj_decompress *d, int level) {
    (void)d;
    (void)level;
}

static void nothing(lj_decompress *d) { (void)d; }

static int no_more(lj_decompress *d) {
    (void)d;
    return 0;
}

static void skip_nothing(lj_decompress *d, long bytes) {
    (void)d;
    (void)bytes;
}

// The header of a picture of 5 x 3 pixels with halved colours. This is enough to check the places of the fields.
static const uint8_t tiny[] = {
    0xff, 0xd8, 0xff, 0xc0, 0, 17, 8, 0, 3, 0, 5, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1,
    0xff, 0xda, 0, 12, 3, 1, 0, 2, 0x11, 3, 0x11, 0, 63, 0,
};

// Writes why the library cannot be used; "" if it can.
static void examine(lj_library *library, trial *t) {
    memset(t, 0, sizeof *t);
    t->d.errors = library->std_error(&t->errors);
    t->errors.error_exit = on_error;
    t->errors.emit_message = on_message;
    if (setjmp(t->broken)) {
        if (t->d.memory) library->destroy(&t->d);
        return;
    }
    library->create(&t->d, LJ_VERSION, sizeof t->d);
    t->source = (lj_source){tiny, sizeof tiny, nothing, no_more, skip_nothing, library->resync, nothing};
    t->d.source = &t->source;
    int fits = library->read_header(&t->d, 1) == LJ_HEADER_OK && t->d.width == 5 && t->d.height == 3 && t->d.components == 3 &&
               t->d.component[2].id == 3 && t->d.component[0].horizontal == 2 && !t->d.arithmetic;
    t->d.out_colours = LJ_EXT_RGBA;
    library->output_size(&t->d);
    fits = fits && t->d.out_width == 5 && t->d.out_height == 3 && t->d.out_colour_components == 4;
    library->destroy(&t->d);
    if (!fits) snprintf(t->text, sizeof t->text, "it is not libjpeg-turbo");
}

// The library has no function for its version, but its file contains it.
static void find_version(lj_library *library) {
    static const char words[] = "libjpeg-turbo version ";
    snprintf(library->version, sizeof library->version, "libjpeg-turbo, %s", library->path);
    int file = open(library->path, O_RDONLY | O_CLOEXEC);
    struct stat about;
    if (file >= 0 && !fstat(file, &about) && about.st_size > 0) {
        size_t size = (size_t)about.st_size;
        char *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
        if (bytes != MAP_FAILED) {
            const char *found = memmem(bytes, size, words, sizeof words - 1);
            size_t left = found ? (size_t)(bytes + size - found) : 0, length = strnlen(found ? found : "", left < 100 ? left : 100);
            if (found) snprintf(library->version, sizeof library->version, "%.*s, %s", (int)length, found, library->path);
            munmap(bytes, size);
        }
    }
    if (file >= 0) close(file);
}

// Tries one candidate. It refuses libraries other than libjpeg-turbo, and versions too old to skip rows: their pixels
// differ from those of Pillow's wheels.
static const lj_library *try_path(const char *path, char *why, size_t size) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *text = dlerror();
        snprintf(why, size, "%s", text ? text : path);
        return NULL;
    }
    lj_library *library = calloc(1, sizeof *library);
    trial *t = calloc(1, sizeof *t);
    const char *missing = NULL;
    if (!library || !t) missing = "memory";
    struct {
        const char *name;
        void *function;
    } const wanted[] = {
        {"jpeg_std_error", &library->std_error},
        {"jpeg_CreateDecompress", &library->create},
        {"jpeg_destroy_decompress", &library->destroy},
        {"jpeg_abort_decompress", &library->abort},
        {"jpeg_read_header", &library->read_header},
        {"jpeg_calc_output_dimensions", &library->output_size},
        {"jpeg_has_multiple_scans", &library->many_scans},
        {"jpeg_start_decompress", &library->start},
        {"jpeg_crop_scanline", &library->crop},
        {"jpeg_skip_scanlines", &library->skip},
        {"jpeg_read_scanlines", &library->read},
        {"jpeg_finish_decompress", &library->finish},
        {"jpeg_resync_to_restart", &library->resync},
    };
    for (size_t i = 0; !missing && i < sizeof wanted / sizeof *wanted; i++) {
        void *function = dlsym(handle, wanted[i].name);
        memcpy(wanted[i].function, &function, sizeof function);
        if (!function) missing = wanted[i].name;
    }
    if (!missing) {
        Dl_info place;
        int known = dladdr((void *)library->create, &place) && place.dli_fname;
        snprintf(library->path, sizeof library->path, "%s", known ? place.dli_fname : path);
        examine(library, t);
        if (!*t->text) exchange_try(library);
        find_version(library);
    }
    if (missing || *t->text) {
        snprintf(why, size, missing ? "%s: lacks %s" : "%s: %s", path, missing ? missing : t->text);
        free(library);
        library = NULL;
        dlclose(handle);
    }
    free(t);
    return library;
}

int lj_load(const char *path, char *why, size_t size) {
    char unused[1];
    if (!why || size == 0) {
        why = unused;
        size = sizeof unused;
    }
    *why = 0;
    if (lj_loaded()) return 1;
    const char *only = getenv("GOFAST_LIBJPEG");
    const lj_library *library = NULL;
    if (only && *only) {
        library = try_path(only, why, size);
    } else {
        if (path && *path) library = try_path(path, why, size);
        if (!library) library = try_path("libjpeg.so.62", why, size);
    }
    if (!library) return 0;
    const lj_library *none = NULL;
    // Another thread may have been first. Both found an equal library, and the first one stays.
    if (!atomic_compare_exchange_strong(&loaded, &none, library)) free((void *)library);
    *why = 0;
    return 1;
}
