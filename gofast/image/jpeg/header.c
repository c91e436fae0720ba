// Reads the header like Pillow's JpegImagePlugin. The header decides which files are opened as JPEG at all, and the size
// that random crops are drawn for. Pillow goes on to read metadata, and some of these could make it fail or turn the
// picture into another kind. Such files are left to Pillow.
#include "header.h"

#include <string.h>


// Bytes of the file, and the parser's position. start..position is the current marker.
typedef struct {
    const uint8_t *data;
    size_t n, length;
    size_t position;
    gf_fault *fault;
} reader;

static unsigned be16(const uint8_t *p) { return (unsigned)p[0] << 8 | p[1]; }

// Whether count bytes follow. If not, *code gets a code.
static int have(const reader *r, size_t count, const char *text, int *code) {
    if (r->n - r->position >= count) return 1;
    if (r->n < r->length && r->length - r->position >= count) {
        r->fault->offset = (int64_t)(r->position + count);
        *code = GF_FORMAT_MORE;
    } else {
        *code = gf_fault_set(r->fault, GF_FAULT_FORMAT, (int64_t)r->length, "%s", text);
    }
    return 0;
}

// Photoshop's resources: Pillow raises an error if one ends after its code.
static int photoshop_ends_badly(const uint8_t *s, size_t n) {
    size_t at = 14;
    while (n - at >= 4 && !memcmp(s + at, "8BIM", 4)) {
        at += 4;
        if (n - at < 2) return 0;
        unsigned code = be16(s + at);
        at += 2;
        if (at >= n) return 1;
        at += 1 + (size_t)s[at];
        at += at & 1;
        if (at > n || n - at < 4) return 0;
        size_t size = (size_t)be16(s + at) << 16 | be16(s + at + 2);
        at += 4;
        size_t there = n - at < size ? n - at : size;
        if (code == 0x03ed && there < 14) return 0;
        at += there + ((at + size) & 1); // beyond the end, the loop ends anyway
        if (there < size || at > n) return 0;
    }
    return 0;
}

// Whether Pillow can certainly read the resolution from Exif data without an error. It does so if JFIF gives none. It
// interprets only two tags of the first directory.
static int exif_is_harmless(const uint8_t *s, size_t n, int continues) {
    for (int i = 0; i < 2 && n >= 6 && !memcmp(s, "Exif\0\0", 6); i++) s += 6, n -= 6;
    if (n < 8) return !continues;
    int little = !memcmp(s, "II*\0", 4);
    if (!little && memcmp(s, "MM\0*", 4)) return 0;
#define U16(p) (little ? (unsigned)(p)[1] << 8 | (p)[0] : be16(p))
#define U32(p) (little ? U16((p) + 2) << 16 | U16(p) : U16(p) << 16 | U16((p) + 2))
    size_t at = U32(s + 4);
    if (at > n || n - at < 2) return !continues;
    unsigned count = U16(s + at);
    at += 2;
    for (unsigned i = 0; i < count; i++, at += 12) {
        if (n - at < 12) return !continues;
        unsigned tag = U16(s + at), type = U16(s + at + 2), values = U32(s + at + 4);
        if (tag == 0x0128 && (type != 3 || values != 1)) return 0;
        if (tag == 0x011a && (type != 5 || values != 1)) return 0;
    }
    return 1;
#undef U16
#undef U32
}

// The content of the markers so far.
typedef struct {
    gf_jpeg_header *out;
    const uint8_t *exif;
    size_t exif_size;
    int exif_parts, resolution, short_profile;
} notes;

static int starts(const uint8_t *s, size_t n, const char *text, size_t size) { return n >= size && !memcmp(s, text, size); }
#define STARTS(s, n, text) starts(s, n, text, sizeof text - 1)

// One application segment. 0, or a fault's code.
static int application(notes *seen, unsigned marker, const uint8_t *s, size_t n, int64_t offset, gf_fault *fault) {
    if (marker == 0xe0 && STARTS(s, n, "JFIF")) {
        if (n < 7) return gf_fault_set(fault, GF_FAULT_FORMAT, offset, "cannot identify image file: JFIF segment too short");
        if (n >= 12 && (s[7] == 1 || s[7] == 2)) seen->resolution = 1;
    } else if (marker == 0xe1 && STARTS(s, n, "Exif\0\0")) {
        if (!seen->exif_parts++) seen->exif = s, seen->exif_size = n;
    } else if (marker == 0xe2 && STARTS(s, n, "FPXR\0")) {
        return 0;
    } else if (marker == 0xe2 && STARTS(s, n, "ICC_PROFILE\0")) {
        if (n < 14) seen->short_profile = 1;
    } else if (marker == 0xed && STARTS(s, n, "Photoshop 3.0\0")) {
        if (photoshop_ends_badly(s, n)) return gf_fault_set(fault, GF_FAULT_FORMAT, offset, "cannot identify image file: broken Photoshop segment");
    } else if (marker == 0xee && STARTS(s, n, "Adobe")) {
        if (n < 7) return gf_fault_set(fault, GF_FAULT_FORMAT, offset, "cannot identify image file: Adobe segment too short");
    } else if (marker == 0xe2 && STARTS(s, n, "MPF\0")) {
        return gf_fault_set(fault, GF_FAULT_UNSUPPORTED, offset, "a file of several pictures");
    }
    return 0;
}

// A frame header. 0, or a fault's code.
static int frame(notes *seen, unsigned marker, const uint8_t *s, size_t n, int64_t offset, gf_fault *fault) {
    gf_jpeg_header *out = seen->out;
    if (n < 6) return gf_fault_set(fault, GF_FAULT_FORMAT, offset, "cannot identify image file: frame header too short");
    if (s[0] != 8) return gf_fault_set(fault, GF_FAULT_FORMAT, offset, "cannot handle layers of other than 8 bits");
    out->height = (int32_t)be16(s + 1);
    out->width = (int32_t)be16(s + 3);
    out->components = s[5];
    out->frame = (uint8_t)marker;
    if (s[5] != 1 && s[5] != 3 && s[5] != 4) return gf_fault_set(fault, GF_FAULT_FORMAT, offset, "cannot handle images of other than 1, 3 or 4 layers");
    if (n % 3) return gf_fault_set(fault, GF_FAULT_FORMAT, offset, "cannot identify image file: frame header of a wrong size");
    if (seen->short_profile) return gf_fault_set(fault, GF_FAULT_UNSUPPORTED, offset, "a colour profile too short");
    return 0;
}

// Quantisation tables. 0, or a fault's code.
static int tables(const uint8_t *s, size_t n, int64_t offset, gf_fault *fault) {
    for (size_t at = 0; at < n;) {
        size_t size = s[at] < 16 ? 65 : 129;
        if (n - at < size) return gf_fault_set(fault, GF_FAULT_FORMAT, offset, "bad quantization table marker");
        at += size;
    }
    return 0;
}

// Runs after the last marker before the scan.
static int finish(const notes *seen, gf_fault *fault) {
    const gf_jpeg_header *out = seen->out;
    if (out->width <= 0 || out->height <= 0) return gf_fault_set(fault, GF_FAULT_FORMAT, -1, "cannot identify image file: no frame header, or a size of 0");
    seen->out->asks_exif = seen->exif_parts && !seen->resolution;
    if (out->asks_exif && !exif_is_harmless(seen->exif, seen->exif_size, seen->exif_parts > 1))
        return gf_fault_set(fault, GF_FAULT_UNSUPPORTED, -1, "unusual Exif data");
    return 0;
}

int gf_jpeg_header_read(const uint8_t *data, size_t n, size_t length, gf_jpeg_header *out, gf_fault *fault) {
    *out = (gf_jpeg_header){0};
    reader r = {data, n, length, 0, fault};
    notes seen = {.out = out};
    int code = 0;
    if (n < 3 && n < length) return have(&r, length < 3 ? length : 3, "", &code), code;
    if (n < 3 || data[0] != 0xff || data[1] != 0xd8 || data[2] != 0xff) return gf_fault_set(fault, GF_FAULT_UNSUPPORTED, 0, "not a JPEG file");
    for (r.position = 2;;) {
        if (!have(&r, 1, "cannot identify image file: no scan", &code)) return code;
        if (data[r.position++] != 0xff) continue; // junk
        unsigned marker = 0xff;
        for (; marker == 0xff; r.position++) {
            if (!have(&r, 1, "cannot identify image file: no scan", &code)) return code;
            marker = data[r.position];
        }
        if (marker == 0) continue;
        int64_t offset = (int64_t)r.position - 2;
        if (marker < 0xc0) return gf_fault_set(fault, GF_FAULT_FORMAT, offset, "no marker found");
        if ((marker >= 0xd0 && marker <= 0xd9) || marker == 0xc8 || (marker >= 0xf0 && marker != 0xfe)) continue; // without a segment
        if (!have(&r, 2, "cannot identify image file: truncated", &code)) return code;
        size_t size = be16(data + r.position);
        r.position += 2;
        size = size < 2 ? 0 : size - 2;
        if (!have(&r, size, "truncated file read", &code)) return code;
        const uint8_t *s = data + r.position;
        r.position += size;
        out->end = r.position;
        if (marker == 0xda) return finish(&seen, fault);
        if (marker >= 0xe0 && marker <= 0xef) code = application(&seen, marker, s, size, offset, fault);
        else if (marker == 0xdb) code = tables(s, size, offset, fault);
        else if ((marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xcc) || marker == 0xde) code = frame(&seen, marker, s, size, offset, fault);
        if (code) return code;
    }
}

