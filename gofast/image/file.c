#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SLACK = 64 };

// Of one file: GF_VIEW_AHEAD of them must not push out of memory what is read now. The rest of a larger one comes by the
// kernel's own read-ahead. What is asked for in one call it cuts to the read-ahead of the disk, 128 KiB on most.
enum { HINT_BYTES = 1 << 20, HINT_STEP = 128 << 10 };

int gf_bytes_reserve(gf_bytes *b, size_t size) {
    if (size + SLACK <= b->room) return 1;
    // What was there is not kept, and steps of a half again keep an ever larger file from reallocating each time.
    size_t room = size + size / 2 + SLACK;
    free(b->data);
    b->data = aligned_alloc(64, (room + 63) / 64 * 64);
    b->room = b->data ? room : 0;
    return b->data != NULL;
}

static int open_sample(const gf_image_program *p, int64_t sample, char *path) {
    int n = snprintf(path, PATH_MAX, "%s%s", p->root, p->paths + p->offsets[sample]);
    if (n >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a FIFO must not block
}

static int32_t refused(gf_fault *fault, const char *what) {
    return gf_fault_set(fault, GF_FAULT_READ, -1, "%s: %s", what, strerror(errno));
}

static int32_t read_open(const gf_image_program *p, int fd, int64_t most, gf_bytes *b, gf_fault *fault) {
    struct stat st;
    if (fstat(fd, &st)) return refused(fault, "stat");
    if (S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        return refused(fault, "open");
    }
    if (!S_ISREG(st.st_mode)) return gf_fault_set(fault, GF_FAULT_UNSUPPORTED, -1, "not a regular file");
    if (st.st_size > p->max_file_bytes)
        return gf_fault_set(fault, GF_FAULT_UNSUPPORTED, -1, "%lld bytes are more than the limit of %lld", (long long)st.st_size, (long long)p->max_file_bytes);
    size_t size = (size_t)(most < st.st_size ? most : st.st_size), got = 0;
    if (!gf_bytes_reserve(b, size)) return gf_fault_set(fault, GF_FAULT_MEMORY, -1, "no memory for %zu bytes", size);
    while (got < size) {
        ssize_t n = pread(fd, b->data + got, size - got, (off_t)got);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return refused(fault, "read");
        if (n == 0) return gf_fault_set(fault, GF_FAULT_READ, (int64_t)got, "the file shrank while it was read");
        got += (size_t)n;
    }
    b->size = size;
    b->length = (size_t)st.st_size;
    memset(b->data + size, 0, SLACK);
    return GF_FAULT_NONE;
}

int32_t gf_file_read(const gf_image_program *p, int64_t sample, int64_t most, gf_bytes *b, gf_fault *fault) {
    char path[PATH_MAX];
    int fd = open_sample(p, sample, path);
    if (fd < 0) return refused(fault, "open");
    int32_t code = read_open(p, fd, most, b, fault);
    close(fd);
    return code;
}

void gf_file_hint(const gf_image_program *p, int64_t sample) {
    char path[PATH_MAX];
    int fd = open_sample(p, sample, path);
    if (fd < 0) return;
    off_t size = lseek(fd, 0, SEEK_END);
    for (off_t at = 0; at < size && at < HINT_BYTES; at += HINT_STEP) posix_fadvise(fd, at, HINT_STEP, POSIX_FADV_WILLNEED);
    close(fd);
}
