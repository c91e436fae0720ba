#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>

// The oldest driver whose calls are all as driver.h says, and which torch still runs on.
static const int OLDEST = 11000;

static gf_driver driver; // one a process: cuInit starts what nothing ends

const gf_driver *gf_driver_load(const char *library, char *text, size_t text_bytes) {
    if (driver.init) return &driver;
    gf_driver found = {0};
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        snprintf(text, text_bytes, "the driver of a GPU is not here: %s", dlerror());
        return NULL;
    }
#define FIND(name, symbol, arguments)                                                                  \
    *(void **)&found.name = dlsym(handle, symbol);                                                     \
    if (!found.name) {                                                                                 \
        snprintf(text, text_bytes, "the driver %s has no %s: it is too old", library, symbol);         \
        dlclose(handle);                                                                               \
        return NULL;                                                                                   \
    }
    GF_DRIVER_CALLS(FIND)
#undef FIND
    const char *call = "cuInit";
    gf_cu_result result = found.init(0);
    if (!result) {
        call = "cuDriverGetVersion";
        result = found.driver_version(&found.version);
    }
    if (result) {
        const char *name = NULL, *words = NULL;
        found.error_name(result, &name);
        found.error_string(result, &words);
        snprintf(text, text_bytes, "%s: %s (%s)", call, name ? name : "unknown error", words ? words : "no words");
        return NULL; // the library stays: a driver that was started cannot be unloaded
    }
    if (found.version < OLDEST) {
        snprintf(text, text_bytes, "the driver is of CUDA %d.%d, and 11.0 is the oldest that works", found.version / 1000, found.version % 1000 / 10);
        return NULL;
    }
    driver = found;
    return &driver;
}
