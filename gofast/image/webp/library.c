// Finds libwebp and checks that it matches libwebp.h.
#define _GNU_SOURCE
#include "libwebp.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>


static wp_library table;
static _Atomic(const wp_library *) loaded;
// Forks come first: with the default kind of lock, threads that keep decoding would delay a fork for ever.
static pthread_rwlock_t forking = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

const wp_library *wp_loaded(void) { return atomic_load_explicit(&loaded, memory_order_acquire); }

void wp_enter(void) { pthread_rwlock_rdlock(&forking); }
void wp_leave(void) { pthread_rwlock_unlock(&forking); }

static void before_fork(void) { pthread_rwlock_wrlock(&forking); }
static void after_fork(void) { pthread_rwlock_unlock(&forking); }

// The child's thread is not the one that took the lock, so it cannot give it back.
static void in_child(void) {
    static const pthread_rwlock_t fresh = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
    memcpy(&forking, &fresh, sizeof forking);
}

// An animation of 3 x 2 pixels. Its only frame is one opaque lossless pixel, 10, 20, 30, at 2, 0. This is enough to
// check the places of the fields.
static const uint8_t tiny[] = {
    'R', 'I', 'F', 'F', 86, 0, 0, 0, 'W', 'E', 'B', 'P', 'V', 'P', '8', 'X', 10, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 1, 0, 0,
    'A', 'N', 'I', 'M', 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'A', 'N', 'M', 'F', 42, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    7, 0, 0, 0, 'V', 'P', '8', 'L', 17, 0, 0, 0,
    0x2f, 0x00, 0x00, 0x00, 0x00, 0x07, 0x50, 0x8a, 0x2a, 0xd4, 0xa3, 0xff, 0x81, 0x88, 0xe8, 0x7f, 0x00, 0x00,
};

static int examine(const wp_library *l) {
    wp_data data = {tiny, sizeof tiny};
    wp_demuxer *demuxer = l->demux(&data, 0, NULL, WP_DEMUX_ABI);
    if (!demuxer) return 0;
    wp_iterator it;
    memset(&it, 0, sizeof it);
    uint8_t pixel[4] = {0};
    int fits = l->get(demuxer, WP_CANVAS_WIDTH) == 3 && l->get(demuxer, WP_CANVAS_HEIGHT) == 2 && l->frame(demuxer, 1, &it);
    if (fits) {
        fits = it.frame == 1 && it.frames == 1 && it.x == 2 && it.y == 0 && it.width == 1 && it.height == 1 && it.duration == 7 &&
               it.complete == 1 && it.fragment.bytes > tiny && it.fragment.bytes + it.fragment.size <= tiny + sizeof tiny &&
               l->decode(it.fragment.bytes, it.fragment.size, pixel, sizeof pixel, 4) && !memcmp(pixel, "\x0a\x14\x1e\xff", 4);
        l->release(&it);
    }
    l->close(demuxer);
    return fits;
}

static int complain(char *why, size_t size, const char *library, const char *text) {
    if (why && size) snprintf(why, size, "%s: %s", library, text ? text : "cannot be loaded");
    return 0;
}

int gf_libwebp_load(const char *path, char *why, size_t size) {
    if (wp_loaded()) return 1;
    const char *wanted = getenv("GOFAST_LIBWEBP");
    if (wanted && *wanted) path = wanted;
    if (!path || !*path) path = "libwebpdemux.so.2";
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return complain(why, size, path, dlerror());
    int (*version)(void) = NULL;
    struct {
        const char *name;
        void *function;
    } const names[] = {
        {"WebPGetDemuxVersion", &version},
        {"WebPDemuxInternal", &table.demux},
        {"WebPDemuxGetI", &table.get},
        {"WebPDemuxGetFrame", &table.frame},
        {"WebPDemuxReleaseIterator", &table.release},
        {"WebPDemuxDelete", &table.close},
        {"WebPDecodeRGBAInto", &table.decode}, // in libwebp: a look-up also searches the libraries that a handle needs
    };
    const char *wrong = NULL;
    for (size_t i = 0; !wrong && i < sizeof names / sizeof *names; i++) {
        void *function = dlsym(handle, names[i].name);
        memcpy(names[i].function, &function, sizeof function);
        if (!function) wrong = "it is not libwebpdemux";
    }
    if (!wrong && version() < WP_OLDEST) wrong = "older than 1.0";
    if (!wrong && !examine(&table)) wrong = "it does not decode a small picture as it should";
    if (!wrong && pthread_atfork(before_fork, after_fork, in_child)) wrong = "memory is short";
    if (wrong) {
        complain(why, size, path, wrong);
        dlclose(handle);
        return 0;
    }
    atomic_store_explicit(&loaded, &table, memory_order_release);
    return 1;
}
