// The index of an image folder, as C reads it: a header, then arrays at multiples of 8 bytes, in the byte
// order of the machine that wrote it. The Go package folder writes and checks it; C only looks.
#ifndef GOFAST_FOLDER_H
#define GOFAST_FOLDER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Where an array lies, in bytes from the beginning.
typedef struct {
    int64_t at, bytes;
} gf_section;

typedef struct {
    char magic[8];       // "gofastIX"
    uint32_t version;    // 1
    uint32_t byte_order; // 0x01020304
    int64_t size;        // of the file or memory
    int64_t count, class_count, place_count;
    int64_t scan_ns;           // when the scan began, since 1970
    gf_section root;           // what to put before every path, with its slash and a zero
    gf_section class_names;    // class_count strings with their zeros, sorted
    gf_section class_samples;  // int64_t[class_count]
    gf_section path_offsets;   // uint64_t[count + 1]: of each path in paths, then the length of paths
    gf_section sample_classes; // int32_t[count]: the number of the class, or the label; -1: none
    gf_section places;         // gf_index_place[place_count]
    gf_section place_paths;    // relative to the root, with their zeros
    gf_section paths;          // count strings with their zeros
    uint8_t options_sum[32];   // SHA-256 of the options that shape the result
    uint32_t body_ieee, body_castagnoli; // CRC-32 and CRC-32C of all that follows the header
    uint8_t sum[32];                     // SHA-256 of the header up to here
} gf_index_header;

// A path that the list of samples depends on, as it was when it was read.
typedef struct {
    uint64_t path; // offset in place_paths
    int64_t kind;  // 0 a directory, 1 one that could not be read, 2 no directory
    uint64_t device, inode;
    int64_t mtime_ns, ctime_ns, size;
} gf_index_place;

_Static_assert(sizeof(gf_index_header) == 256 && offsetof(gf_index_header, options_sum) == 184, "as in layout.go");
_Static_assert(sizeof(gf_index_place) == 56, "as in layout.go");

// The samples: file i is root followed by paths + path_offsets[i]. All pointers lead into the mapping.
typedef struct {
    const char *root;
    const uint64_t *path_offsets;
    const char *paths;
    const int32_t *classes;
    int64_t count;
} gf_index;

// Makes a view of a mapped index, which the Go side has checked before it gave the descriptor away.
// Returns 0, or -1 where this is no such index.
static inline int gf_index_view(gf_index *index, const void *mapping, int64_t size) {
    const gf_index_header *h = (const gf_index_header *)mapping;
    if (size < (int64_t)sizeof *h || memcmp(h->magic, "gofastIX", 8) || h->version != 1 || h->byte_order != 0x01020304 ||
        h->size != size)
        return -1;
    const char *base = (const char *)mapping;
    index->root = base + h->root.at;
    index->path_offsets = (const uint64_t *)(base + h->path_offsets.at);
    index->paths = base + h->paths.at;
    index->classes = (const int32_t *)(base + h->sample_classes.at);
    index->count = h->count;
    return 0;
}

// Writes the whole path of file i, which must be below count, to buffer. Returns 0, or -1 where it is too long.
static inline int gf_index_path(const gf_index *index, int64_t i, char *buffer, size_t room) {
    size_t root = strlen(index->root), rest = index->path_offsets[i + 1] - index->path_offsets[i];
    if (rest > room || root > room - rest)
        return -1;
    memcpy(buffer, index->root, root);
    memcpy(buffer + root, index->paths + index->path_offsets[i], rest);
    return 0;
}

#endif
