#include "keep.h"

#include <string.h>

#include "jpeg/jpeg.h"

#include "samples.h"

// Goes on from a record's bytes.
static int go_on(gf_image_worker *w, const gf_image_program *p, const gf_record *h, const uint8_t *bytes, const int32_t *record, uint8_t *x) {
    gf_fault fault;
    gf_opened source;
    gf_sample_bytes file = {.data = bytes, .size = (size_t)h->bytes, .length = (size_t)h->bytes};
    if (gf_formats_open_record(&source, &w->decoders, &file, &fault) || gf_image_run(w, p->rest, &source, NULL, 0, (gf_size){0}, record, x, &fault)) return 0;
    if (p->output == GF_IMAGE_PICTURE) gf_made_picture_add(x, h->info);
    return 1;
}

int gf_image_of_record(gf_image_worker *w, const gf_image_program *p, int64_t sample, const int32_t *record, uint8_t *x) {
    gf_stamp now;
    gf_record h;
    const uint8_t *bytes;
    gf_extent extent = gf_image_extent(p, sample);
    if (!gf_kept_has(p->kept, sample) || !p->reader->stamp(p->reader, &extent, &now)) return 0;
    if (!gf_kept_get(p->kept, sample, &now, &w->record, &h, &bytes)) return 0;
    if ((int64_t)h.width * h.height > p->max_pixels) return 0;
    if (!gf_drawn_fits(p->steps, record, (gf_size){h.width, h.height})) return 0;
    gf_remember_size(p, sample, (gf_size){h.width, h.height});
    gf_meter *meter = gf_meter_here();
    gf_meter_to(meter, GF_STAGE_PICTURE);
    gf_meter_picture(meter);
    if (!go_on(w, p, &h, bytes, record, x)) return 0;
    meter->counters[GF_COUNT_CACHE_HITS]++;
    return 1;
}

int gf_image_keeps(const gf_image_program *p, int64_t sample, gf_stamp *stamp) {
    gf_extent extent = gf_image_extent(p, sample);
    return p->reader->stamp(p->reader, &extent, stamp) && gf_kept_takes(p->kept, sample, stamp);
}

int gf_image_by_record(gf_image_worker *w, const gf_image_program *p, int64_t sample, const gf_stamp *stamp, gf_opened *source, const int32_t *record,
                       uint8_t *x) {
    gf_fault fault;
    gf_record h = {.width = source->picture.width, .height = source->picture.height};
    memcpy(h.stamp, stamp, sizeof *stamp);
    gf_record_room room = {.memory = &w->record, .before = gf_kept_before(p->kept, sample)};
    int made, done = 0; // the record, the sample
    if (!p->certain->steps->n && source->format == &gf_jpeg_format && gf_jpeg_packs(source->state)) {
        gf_jpeg_pack(source->state, room.memory, room.before);
        if (gf_image_run(w, p, source, NULL, 0, (gf_size){0}, record, x, &fault)) return 0;
        done = 1;
        made = gf_jpeg_packed(source->state, &room.size);
    } else {
        made = !gf_image_run(w, p->certain, source, NULL, 0, (gf_size){0}, NULL, (uint8_t *)&room, &fault);
    }
    if (!made) {
        gf_kept_never(p->kept, sample);
        return done;
    }
    h.bytes = (int64_t)room.size;
    h.info = room.info;
    memcpy(w->record.data, &h, sizeof h);
    if (!done && !go_on(w, p, &h, w->record.data + room.before, record, x)) return 0;
    gf_stamp now;
    gf_extent extent = gf_image_extent(p, sample);
    if (p->reader->stamp(p->reader, &extent, &now) && !memcmp(&now, stamp, sizeof now))
        gf_meter_here()->counters[GF_COUNT_CACHE_WRITES] += gf_kept_put(p->kept, sample, (gf_record *)w->record.data);
    return 1;
}
