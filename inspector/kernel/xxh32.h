/* XXH32, the checksum of lz4-java's blocks. */
#ifndef INSPECTOR_KERNEL_XXH32_H
#define INSPECTOR_KERNEL_XXH32_H

#include "arguments.h"

#define Q1 0x9E3779B1U
#define Q2 0x85EBCA77U
#define Q3 0xC2B2AE3DU
#define Q4 0x27D4EB2FU
#define Q5 0x165667B1U

static inline uint32_t xxh32_rotate(uint32_t value, int bits)
{
    return value << bits | value >> (32 - bits);
}

static inline uint32_t xxh32_round(uint32_t lane, const uint8_t *at)
{
    return xxh32_rotate(lane + (uint32_t)le32(at) * Q2, 13) * Q1;
}

static inline uint32_t xxh32(const uint8_t *data, int64_t size, uint32_t seed)
{
    uint32_t hash = seed + Q5, total = (uint32_t)size;
    if (size >= 16) {
        /* Four variables and no array: a compiler would use vectors, whose products are slow. */
        uint32_t one = seed + Q1 + Q2, two = seed + Q2, three = seed, four = seed - Q1;
        for (; size >= 16; data += 16, size -= 16) {
            one = xxh32_round(one, data);
            two = xxh32_round(two, data + 4);
            three = xxh32_round(three, data + 8);
            four = xxh32_round(four, data + 12);
        }
        hash = xxh32_rotate(one, 1) + xxh32_rotate(two, 7) + xxh32_rotate(three, 12) +
               xxh32_rotate(four, 18);
    }
    hash += total;
    for (; size >= 4; data += 4, size -= 4)
        hash = xxh32_rotate(hash + (uint32_t)le32(data) * Q3, 17) * Q4;
    for (; size > 0; data++, size--)
        hash = xxh32_rotate(hash + *data * Q5, 11) * Q1;
    hash = (hash ^ hash >> 15) * Q2;
    hash = (hash ^ hash >> 13) * Q3;
    return hash ^ hash >> 16;
}

#endif
