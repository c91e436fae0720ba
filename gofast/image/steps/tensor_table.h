// What torchvision's functions of uint8 tensors make of each byte: tables of the three channels.
#ifndef GOFAST_TENSOR_TABLE_H
#define GOFAST_TENSOR_TABLE_H

#include <stdint.h>

// With one grey: x * ratio + grey * rest, clipped and cut off. fused: the sum rounds once, as in v2.
void gf_table_blend(float ratio, float rest, float grey, int fused, uint8_t tables[3][256]);
void gf_table_mask(uint8_t mask, uint8_t tables[3][256]);
void gf_table_solarize(int32_t first, uint8_t tables[3][256]); // from this byte on they are inverted
// Of how often each byte comes in each channel.
void gf_table_autocontrast(const uint32_t counts[3][256], int version, uint8_t tables[3][256]);
void gf_table_equalize(const uint32_t counts[3][256], uint8_t tables[3][256]);

#endif
