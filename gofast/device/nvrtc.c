#include "nvrtc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct program *program;

struct gf_nvrtc {
    int (*version)(int *, int *);
    int (*create)(program *, const char *source, const char *name, int n_headers, const char *const *headers, const char *const *names);
    int (*compile)(program, int n, const char *const *options);
    int (*destroy)(program *);
    int (*n_architectures)(int *);
    int (*architectures)(int *);
    int (*image_size)(program, size_t *);
    int (*image)(program, char *);
    int (*ptx_size)(program, size_t *);
    int (*ptx)(program, char *);
    int (*log_size)(program, size_t *);
    int (*log)(program, char *);
    const char *(*words)(int code);
};

static struct gf_nvrtc found; // stays loaded

static int find_all(void *handle, struct gf_nvrtc *n) {
    const struct {
        void **place;
        const char *symbol;
    } calls[] = {
        {(void **)&n->version, "nvrtcVersion"},
        {(void **)&n->create, "nvrtcCreateProgram"},
        {(void **)&n->compile, "nvrtcCompileProgram"},
        {(void **)&n->destroy, "nvrtcDestroyProgram"},
        {(void **)&n->n_architectures, "nvrtcGetNumSupportedArchs"},
        {(void **)&n->architectures, "nvrtcGetSupportedArchs"},
        {(void **)&n->image_size, "nvrtcGetCUBINSize"},
        {(void **)&n->image, "nvrtcGetCUBIN"},
        {(void **)&n->ptx_size, "nvrtcGetPTXSize"},
        {(void **)&n->ptx, "nvrtcGetPTX"},
        {(void **)&n->log_size, "nvrtcGetProgramLogSize"},
        {(void **)&n->log, "nvrtcGetProgramLog"},
        {(void **)&n->words, "nvrtcGetErrorString"},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (!(*calls[i].place = dlsym(handle, calls[i].symbol))) return 0;
    return 1;
}

const gf_nvrtc *gf_nvrtc_load(const char *const *libraries, int n, char *text, size_t text_bytes) {
    if (found.words) return &found;
    snprintf(text, text_bytes, "no library of NVRTC is here");
    for (int i = 0; i < n; i++) {
        void *handle = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
        struct gf_nvrtc loaded;
        if (!handle) continue;
        if (find_all(handle, &loaded)) {
            found = loaded;
            return &found;
        }
        snprintf(text, text_bytes, "%s is no NVRTC, or older than CUDA 11.2", libraries[i]);
        dlclose(handle);
    }
    return NULL;
}

void gf_nvrtc_version(const gf_nvrtc *n, int *major, int *minor) {
    *major = *minor = 0;
    n->version(major, minor);
}

int gf_nvrtc_architectures(const gf_nvrtc *n, int *architectures, int room) {
    int count = 0;
    if (n->n_architectures(&count) || count < 1) return 0;
    int *all = malloc((size_t)count * sizeof *all);
    if (!all || n->architectures(all)) count = 0;
    if (count > room) count = room;
    if (count) memcpy(architectures, all, (size_t)count * sizeof *all);
    free(all);
    return count;
}

static int is_virtual(const char *const *options, int n) {
    for (int i = 0; i < n; i++)
        if (!strncmp(options[i], "--gpu-architecture=compute_", 27)) return 1;
    return 0;
}

int gf_nvrtc_compile(const gf_nvrtc *n, const gf_nvrtc_source *source, const char *const *options, int count, void **image, size_t *bytes, char *text, size_t text_bytes) {
    program made = NULL;
    int code = n->create(&made, source->text, "kernels.cu", source->n_headers, source->headers, source->names);
    *image = NULL;
    if (!code) {
        code = n->compile(made, count, options);
        int ptx = is_virtual(options, count);
        if (!code) code = ptx ? n->ptx_size(made, bytes) : n->image_size(made, bytes);
        if (!code && !(*image = malloc(*bytes + 1))) code = -1;
        if (!code) code = ptx ? n->ptx(made, *image) : n->image(made, *image);
    }
    size_t size = 0;
    char *log = NULL;
    if (made && !n->log_size(made, &size) && size > 1 && (log = malloc(size))) n->log(made, log);
    if (code) {
        snprintf(text, text_bytes, "%s: %s", code < 0 ? "no memory" : n->words(code), log ? log : "no words");
        free(*image);
        *image = NULL;
    } else {
        snprintf(text, text_bytes, "%s", log ? log : "");
    }
    free(log);
    if (made) n->destroy(&made);
    return code;
}
