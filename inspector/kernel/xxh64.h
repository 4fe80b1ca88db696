/* XXH64, the hash of values, and of keys where the hash is no secret. */
#ifndef INSPECTOR_KERNEL_XXH64_H
#define INSPECTOR_KERNEL_XXH64_H

#include "arguments.h"

#define P1 0x9E3779B185EBCA87ULL
#define P2 0xC2B2AE3D27D4EB4FULL
#define P3 0x165667B19E3779F9ULL
#define P4 0x85EBCA77C2B2AE63ULL
#define P5 0x27D4EB2F165667C5ULL

static inline uint64_t xxh_round(uint64_t lane, uint64_t input)
{
    return rotate(lane + input * P2, 31) * P1;
}

static inline uint64_t xxh_stripes(const uint8_t **data, int64_t *size, uint64_t seed)
{
    uint64_t lane[4] = {seed + P1 + P2, seed + P2, seed, seed - P1}, hash;
    int i;
    for (; *size >= 32; *data += 32, *size -= 32)
        for (i = 0; i < 4; i++)
            lane[i] = xxh_round(lane[i], le64(*data + 8 * i));
    hash = rotate(lane[0], 1) + rotate(lane[1], 7) + rotate(lane[2], 12) + rotate(lane[3], 18);
    for (i = 0; i < 4; i++)
        hash = (hash ^ xxh_round(0, lane[i])) * P1 + P4;
    return hash;
}

static inline uint64_t xxh_mixed(uint64_t hash)
{
    hash = (hash ^ hash >> 33) * P2;
    hash = (hash ^ hash >> 29) * P3;
    return hash ^ hash >> 32;
}

static inline uint64_t xxh64(const uint8_t *data, int64_t size, uint64_t seed)
{
    uint64_t total = (uint64_t)size;
    uint64_t hash = size < 32 ? seed + P5 : xxh_stripes(&data, &size, seed);
    hash += total;
    for (; size >= 8; data += 8, size -= 8)
        hash = rotate(hash ^ xxh_round(0, le64(data)), 27) * P1 + P4;
    if (size >= 4) {
        hash = rotate(hash ^ (le32(data) * P1), 23) * P2 + P3;
        data += 4;
        size -= 4;
    }
    for (; size > 0; data++, size--)
        hash = rotate(hash ^ (*data * P5), 11) * P1;
    return xxh_mixed(hash);
}

/* Returns the hash of the 8 bytes of a little-endian number. */
static inline uint64_t xxh64_of_word(uint64_t word, uint64_t seed)
{
    uint64_t hash = seed + P5 + 8;
    return xxh_mixed(rotate(hash ^ xxh_round(0, word), 27) * P1 + P4);
}

#endif
