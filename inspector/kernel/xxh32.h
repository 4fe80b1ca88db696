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

/* Returns the hash of the result of four lanes and the bytes after those that they read. */
static inline uint32_t xxh32_end(uint32_t hash, const uint8_t *data, int64_t size)
{
    for (; size >= 4; data += 4, size -= 4)
        hash = xxh32_rotate(hash + (uint32_t)le32(data) * Q3, 17) * Q4;
    for (; size > 0; data++, size--)
        hash = xxh32_rotate(hash + *data * Q5, 11) * Q1;
    hash = (hash ^ hash >> 15) * Q2;
    hash = (hash ^ hash >> 13) * Q3;
    return hash ^ hash >> 16;
}

static inline uint32_t xxh32_joined(uint32_t one, uint32_t two, uint32_t three, uint32_t four)
{
    return xxh32_rotate(one, 1) + xxh32_rotate(two, 7) + xxh32_rotate(three, 12) +
           xxh32_rotate(four, 18);
}

static inline uint32_t xxh32(const uint8_t *data, int64_t size, uint32_t seed)
{
    uint32_t hash = seed + Q5, total = (uint32_t)size;
    if (size >= 16) {
        /* Four variables instead of an array: a compiler would use vectors, whose products are
         * slow. */
        uint32_t one = seed + Q1 + Q2, two = seed + Q2, three = seed, four = seed - Q1;
        for (; size >= 16; data += 16, size -= 16) {
            one = xxh32_round(one, data);
            two = xxh32_round(two, data + 4);
            three = xxh32_round(three, data + 8);
            four = xxh32_round(four, data + 12);
        }
        hash = xxh32_joined(one, two, three, four);
    }
    return xxh32_end(hash + total, data, size);
}

/* Number of strings of one size that are hashed at the same time. The steps of one string wait for
 * each other, and its products for the one unit that makes them; so four lanes of each string are
 * one vector. */
enum { XXH32_AT_ONCE = 4 };

#if defined(__GNUC__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && \
    (defined(__x86_64__) || defined(__aarch64__))
#define XXH32_LANES
typedef uint32_t Lanes __attribute__((vector_size(16)));

#if defined(__x86_64__)
#define XXH32_TARGET __attribute__((target("sse4.1"))) /* sse4.1 has products of vectors */
#define xxh32_has_lanes() __builtin_cpu_supports("sse4.1")
#else
#define XXH32_TARGET
#define xxh32_has_lanes() 1
#endif

static XXH32_TARGET void xxh32_lanes(const uint8_t *const data[XXH32_AT_ONCE], int64_t size,
                                     Lanes lanes[XXH32_AT_ONCE])
{
    Lanes one = lanes[0], two = lanes[1], three = lanes[2], four = lanes[3], word;
    int64_t at;
    for (at = 0; size - at >= 16; at += 16) {
        memcpy(&word, data[0] + at, sizeof word);
        one += word * Q2;
        memcpy(&word, data[1] + at, sizeof word);
        two += word * Q2;
        memcpy(&word, data[2] + at, sizeof word);
        three += word * Q2;
        memcpy(&word, data[3] + at, sizeof word);
        four += word * Q2;
        one = (one << 13 | one >> 19) * Q1;
        two = (two << 13 | two >> 19) * Q1;
        three = (three << 13 | three >> 19) * Q1;
        four = (four << 13 | four >> 19) * Q1;
    }
    lanes[0] = one;
    lanes[1] = two;
    lanes[2] = three;
    lanes[3] = four;
}
#endif

static inline void xxh32_of_some(const uint8_t *const data[XXH32_AT_ONCE], int64_t size,
                                 uint32_t seed, uint32_t hashes[XXH32_AT_ONCE])
{
    int i;
#if defined(XXH32_LANES)
    if (size >= 16 && xxh32_has_lanes()) {
        const Lanes start = {seed + Q1 + Q2, seed + Q2, seed, seed - Q1};
        Lanes lanes[XXH32_AT_ONCE] = {start, start, start, start};
        xxh32_lanes(data, size, lanes);
        for (i = 0; i < XXH32_AT_ONCE; i++) {
            uint32_t hash = xxh32_joined(lanes[i][0], lanes[i][1], lanes[i][2], lanes[i][3]);
            hashes[i] = xxh32_end(hash + (uint32_t)size, data[i] + (size & -16), size & 15);
        }
        return;
    }
#endif
    for (i = 0; i < XXH32_AT_ONCE; i++)
        hashes[i] = xxh32(data[i], size, seed);
}

#endif
