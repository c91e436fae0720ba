// Samples that are files, read with pread: a file that shrinks is a fault, not a signal.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader.h"

// Of one file: GF_VIEW_AHEAD of them must not push out of memory what is read now. The rest of a larger one comes by the
// kernel's own read-ahead. What is asked for in one call it cuts to the read-ahead of the disk, 128 KiB on most.
enum { HINT_BYTES = 1 << 20, HINT_STEP = 128 << 10 };

typedef struct {
    gf_reader reader;
    const char *paths;
    const uint64_t *offsets;
    char root[];
} files;

static int open_sample(const gf_reader *r, int64_t sample) {
    const files *f = (const files *)r;
    char path[PATH_MAX];
    int n = snprintf(path, PATH_MAX, "%s%s", f->root, f->paths + f->offsets[sample]);
    if (n >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a FIFO must not block
}

static int32_t refused(gf_fault *fault, const char *what) {
    return gf_fault_set(fault, GF_FAULT_READ, -1, "%s: %s", what, strerror(errno));
}

static int32_t read_open(const gf_reader *r, int fd, int64_t most, gf_bytes *b, gf_sample_bytes *out, gf_fault *fault) {
    struct stat st;
    if (fstat(fd, &st)) return refused(fault, "stat");
    if (S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        return refused(fault, "open");
    }
    if (!S_ISREG(st.st_mode)) return gf_fault_set(fault, GF_FAULT_UNSUPPORTED, -1, "not a regular file");
    int32_t code = gf_reader_check(r, (size_t)st.st_size, fault);
    if (code) return code;
    size_t size = (size_t)(most < st.st_size ? most : st.st_size), got = 0;
    if (!gf_bytes_reserve(b, size)) return gf_fault_set(fault, GF_FAULT_MEMORY, -1, "no memory for %zu bytes", size);
    while (got < size) {
        ssize_t n = pread(fd, b->data + got, size - got, (off_t)got);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return refused(fault, "read");
        if (n == 0) return gf_fault_set(fault, GF_FAULT_READ, (int64_t)got, "the file shrank while it was read");
        got += (size_t)n;
    }
    *out = (gf_sample_bytes){b->data, size, (size_t)st.st_size};
    return GF_FAULT_NONE;
}

static int32_t read_file(const gf_reader *r, int64_t sample, int64_t most, gf_bytes *b, gf_sample_bytes *out, gf_fault *fault) {
    int fd = open_sample(r, sample);
    if (fd < 0) return refused(fault, "open");
    int32_t code = read_open(r, fd, most, b, out, fault);
    close(fd);
    return code;
}

static void hint_file(const gf_reader *r, int64_t sample) {
    int fd = open_sample(r, sample);
    if (fd < 0) return;
    off_t size = lseek(fd, 0, SEEK_END);
    for (off_t at = 0; at < size && at < HINT_BYTES; at += HINT_STEP) posix_fadvise(fd, at, HINT_STEP, POSIX_FADV_WILLNEED);
    close(fd);
}

static void free_files(gf_reader *r) { free(r); }

gf_reader *gf_file_reader(const char *root, const char *paths, const uint64_t *offsets, size_t most) {
    size_t length = strlen(root) + 1;
    files *f = malloc(sizeof *f + length);
    if (!f) return NULL;
    *f = (files){{read_file, hint_file, free_files, most}, paths, offsets};
    memcpy(f->root, root, length);
    return &f->reader;
}
