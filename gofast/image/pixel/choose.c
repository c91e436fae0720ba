#include "warp.h"

#define TABLE_plain GF_PIXEL_PLAIN
#define TABLE_avx2 GF_PIXEL_AVX2
#define TABLE_avx512 GF_PIXEL_AVX512
#define TABLE(LEVEL, TARGET)                                                                                   \
    {TABLE_##LEVEL, gf_split_##LEVEL, gf_join_##LEVEL, gf_hflip_##LEVEL, gf_vflip, gf_window, gf_grey_##LEVEL, \
     gf_brightness_##LEVEL, gf_contrast_##LEVEL, gf_saturation_##LEVEL, gf_hue_##LEVEL,                             \
     gf_histogram, gf_look_up_##LEVEL, gf_sharpen_##LEVEL, gf_turn, gf_warp_##LEVEL,                                \
     gf_blur_##LEVEL, gf_blur_room, gf_box_blur_##LEVEL, gf_box_blur_room,                                        \
     gf_grid_##LEVEL, gf_tensor_grey_sum_##LEVEL, gf_tensor_saturate_##LEVEL, gf_tensor_sharpen_##LEVEL,        \
     gf_tensor_hue_##LEVEL, gf_mix_##LEVEL},

static const gf_pixel_ops tables[] = {LEVELS(TABLE)};

const gf_pixel_ops *gf_pixel_choose(int level) {
    int best = gf_pixel_level(), most = (int)(sizeof tables / sizeof tables[0]) - 1;
    if (best > most) best = most;
    return &tables[level < best ? level : best];
}
