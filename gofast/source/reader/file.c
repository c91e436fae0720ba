// Objects that are files, read with pread: a file that shrinks is a fault, not a signal.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pixels.h"
#include "reader.h"
#include "snappy.h"

// The most that is asked for of one file: GF_VIEW_AHEAD of them must not push out of memory what is read now. The rest of a
// larger one comes by the kernel's own read-ahead. The kernel cuts what is asked for in one call to the read-ahead of the disk, 128 KiB on most.
enum { HINT_BYTES = 1 << 20, HINT_STEP = 128 << 10 };

typedef struct {
    gf_reader reader;
    const char *paths;
    const uint64_t *offsets;
    const gf_stamp *stamps; // what the files were when they were opened first; NULL: not known
    char root[];
} files;

static int path_of(const files *f, uint32_t object, char path[PATH_MAX]) {
    if (snprintf(path, PATH_MAX, "%s%s", f->root, f->paths + f->offsets[object]) < PATH_MAX) return 1;
    errno = ENAMETOOLONG;
    return 0;
}

static int open_object(const files *f, uint32_t object) {
    char path[PATH_MAX];
    return path_of(f, object, path) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1; // a FIFO must not block
}

static int32_t refused(gf_fault *fault, const char *what) {
    return gf_fault_set(fault, GF_FAULT_READ, -1, "%s: %s", what, strerror(errno));
}

static int64_t nanoseconds(struct timespec t) { return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec; }

static int changed(const gf_stamp *was, const struct stat *now) {
    return was->size != now->st_size || was->mtime_ns != nanoseconds(now->st_mtim) || was->ctime_ns != nanoseconds(now->st_ctim) ||
           was->id != now->st_ino;
}

static int stamp_of(const gf_reader *r, const gf_extent *e, gf_stamp *stamp) {
    const files *f = (const files *)r;
    char path[PATH_MAX];
    struct stat st;
    if (!path_of(f, e->object, path) || stat(path, &st) || (f->stamps && changed(&f->stamps[e->object], &st))) return 0;
    *stamp = (gf_stamp){st.st_size, nanoseconds(st.st_mtim), nanoseconds(st.st_ctim), st.st_ino};
    return 1;
}

static int32_t read_range(int fd, int64_t offset, uint8_t *to, size_t size, gf_fault *fault) {
    for (size_t got = 0; got < size;) {
        ssize_t n = pread(fd, to + got, size - got, (off_t)offset + (off_t)got);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return refused(fault, "read");
        if (n == 0) return gf_fault_set(fault, GF_FAULT_READ, (int64_t)got, "the file shrank while it was read");
        got += (size_t)n;
    }
    return GF_FAULT_NONE;
}

static int32_t read_open(const files *f, const gf_extent *e, int fd, int64_t most, gf_bytes *b, gf_sample_bytes *out, gf_fault *fault) {
    struct stat st;
    if (fstat(fd, &st)) return refused(fault, "stat");
    if (S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        return refused(fault, "open");
    }
    if (!S_ISREG(st.st_mode)) return gf_fault_set(fault, GF_FAULT_UNSUPPORTED, -1, "not a regular file");
    if (f->stamps && changed(&f->stamps[e->object], &st)) return gf_fault_set(fault, GF_FAULT_CHANGED, -1, "the file changed since it was opened");
    size_t length = 0;
    int32_t code = gf_reader_length(&f->reader, e, e->packed && e->packed != GF_PIXELS ? INT64_MAX : st.st_size, &length, fault);
    if (code) return code;
    if (e->packed == GF_PIXELS) {
        size_t there = gf_reader_pixels(length, most);
        if (!gf_bytes_reserve(b, GF_PIXELS_ROOM + there)) return gf_fault_set(fault, GF_FAULT_MEMORY, -1, "no memory for %zu bytes", there);
        if ((code = read_range(fd, e->offset, b->data + GF_PIXELS_ROOM, there, fault))) return code;
        return gf_reader_pixels_file(b->data + GF_PIXELS_ROOM, there, length, most, out, fault);
    }
    size_t size = (uint64_t)most < length ? (size_t)most : length;
    if (!e->packed) {
        if (!gf_bytes_reserve(b, size)) return gf_fault_set(fault, GF_FAULT_MEMORY, -1, "no memory for %zu bytes", size);
        if ((code = read_range(fd, e->offset, b->data, size, fault))) return code;
        *out = (gf_sample_bytes){.data = b->data, .size = size, .length = length};
        return GF_FAULT_NONE;
    }
    // What is packed lies behind what it becomes.
    size_t before = e->packed - 1, plain = before + size, room = (plain + 2 * GF_BYTES_SLACK) & ~(size_t)(GF_BYTES_SLACK - 1);
    if (e->offset < 0 || e->offset >= st.st_size || before > f->reader.most)
        return gf_fault_set(fault, GF_FAULT_READ, -1, "no packed bytes are at %lld", (long long)e->offset);
    size_t left = (size_t)(st.st_size - e->offset);
    for (size_t packed = gf_snappy_usual(plain);; packed = gf_snappy_most(plain)) {
        size_t there = packed < left ? packed : left;
        if (!gf_bytes_reserve(b, room + there)) return gf_fault_set(fault, GF_FAULT_MEMORY, -1, "no memory for %zu bytes", room + there);
        if ((code = read_range(fd, e->offset, b->data + room, there, fault))) return code;
        if (gf_snappy_part(b->data + room, there, b->data, plain) >= 0) break;
        if (there == left || packed == gf_snappy_most(plain)) return gf_fault_set(fault, GF_FAULT_READ, -1, "the bytes cannot be unpacked (snappy)");
    }
    *out = (gf_sample_bytes){.data = b->data + before, .size = size, .length = length};
    return GF_FAULT_NONE;
}

static int32_t read_file(const gf_reader *r, const gf_extent *e, int64_t most, gf_bytes *b, gf_sample_bytes *out, gf_fault *fault) {
    const files *f = (const files *)r;
    int fd = open_object(f, e->object);
    if (fd < 0) return refused(fault, "open");
    int32_t code = read_open(f, e, fd, most, b, out, fault);
    close(fd);
    return code;
}

static void hint_file(const gf_reader *r, const gf_extent *e) {
    int fd = open_object((const files *)r, e->object);
    if (fd < 0) return;
    int64_t left = e->length < 0 ? lseek(fd, 0, SEEK_END) - e->offset : e->length;
    for (int64_t at = 0; at < left && at < HINT_BYTES; at += HINT_STEP)
        posix_fadvise(fd, (off_t)(e->offset + at), left - at < HINT_STEP ? left - at : HINT_STEP, POSIX_FADV_WILLNEED);
    close(fd);
}

static void free_files(gf_reader *r) { free(r); }

gf_reader *gf_file_reader(const char *root, const char *paths, const uint64_t *offsets, const gf_stamp *stamps, size_t most) {
    size_t length = strlen(root) + 1;
    files *f = malloc(sizeof *f + length);
    if (!f) return NULL;
    *f = (files){{read_file, hint_file, stamp_of, free_files, most}, paths, offsets, stamps};
    memcpy(f->root, root, length);
    return &f->reader;
}
