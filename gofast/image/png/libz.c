#include "libz.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static gf_libz table;
static _Atomic(const gf_libz *) loaded;

const gf_libz *gf_libz_get(void) { return atomic_load_explicit(&loaded, memory_order_acquire); }

static int complain(char *why, size_t size, const char *library, const char *text) {
    if (why && size) snprintf(why, size, "%s: %s", library, text ? text : "cannot be loaded");
    return 0;
}

int gf_libz_load(const char *path, char *why, size_t size) {
    if (gf_libz_get()) return 1;
    const char *wanted = getenv("GOFAST_LIBZ");
    if (wanted && *wanted) path = wanted;
    if (!path || !*path) path = "libz.so.1";
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return complain(why, size, path, dlerror());
    const char *(*version)(void) = (const char *(*)(void))dlsym(library, "zlibVersion");
    gf_libz found = {
        .init = (int (*)(gf_zstream *, const char *, int))dlsym(library, "inflateInit_"),
        .reset = (int (*)(gf_zstream *))dlsym(library, "inflateReset"),
        .inflate = (int (*)(gf_zstream *, int))dlsym(library, "inflate"),
        .end = (int (*)(gf_zstream *))dlsym(library, "inflateEnd"),
        .crc32 = (unsigned long (*)(unsigned long, const uint8_t *, unsigned))dlsym(library, "crc32"),
    };
    if (!version || !found.init || !found.reset || !found.inflate || !found.end || !found.crc32) {
        complain(why, size, path, "not zlib: a function is missing");
        dlclose(library);
        return 0;
    }
    found.version = version();
    // The layout of z_stream is that of zlib 1; inflateInit_ checks its size as well.
    if (found.version[0] != '1') {
        complain(why, size, path, "not version 1 of zlib");
        dlclose(library);
        return 0;
    }
    table = found;
    atomic_store_explicit(&loaded, &table, memory_order_release);
    return 1;
}
