/* Hash by which the interner finds a key. */
#ifndef INSPECTOR_KERNEL_KEY_HASH_H
#define INSPECTOR_KERNEL_KEY_HASH_H

#include "arguments.h"

/* SipHash-1-3, as in the tables of Rust and Python. Keys may come from a hostile file, and XXH64
 * has collisions for every seed. */
#define SIP_ROUND(v0, v1, v2, v3)                                                             \
    do {                                                                                      \
        v0 += v1; v1 = rotate(v1, 13); v1 ^= v0; v0 = rotate(v0, 32);                         \
        v2 += v3; v3 = rotate(v3, 16); v3 ^= v2;                                              \
        v0 += v3; v3 = rotate(v3, 21); v3 ^= v0;                                              \
        v2 += v1; v1 = rotate(v1, 17); v1 ^= v2; v2 = rotate(v2, 32);                         \
    } while (0)

static inline uint64_t siphash(const uint64_t secret[2], Span span)
{
    uint64_t v0 = secret[0] ^ 0x736f6d6570736575ULL, v1 = secret[1] ^ 0x646f72616e646f6dULL;
    uint64_t v2 = secret[0] ^ 0x6c7967656e657261ULL, v3 = secret[1] ^ 0x7465646279746573ULL;
    uint64_t last = (uint64_t)span.size << 56;
    int i;
    for (; span.size >= 8; span.data += 8, span.size -= 8) {
        uint64_t word = le64(span.data);
        v3 ^= word;
        SIP_ROUND(v0, v1, v2, v3);
        v0 ^= word;
    }
    for (i = 0; i < (int)span.size; i++)
        last |= (uint64_t)span.data[i] << (8 * i);
    v3 ^= last;
    SIP_ROUND(v0, v1, v2, v3);
    v0 ^= last;
    v2 ^= 0xff;
    for (i = 0; i < 3; i++)
        SIP_ROUND(v0, v1, v2, v3);
    return v0 ^ v1 ^ v2 ^ v3;
}

enum { SHORT_KEY = 128, SIP_WORDS = 2, NH_WORDS = SHORT_KEY / 8, MIX_WORDS = 8 };
enum { HASH_WORDS = SIP_WORDS + NH_WORDS + MIX_WORDS, SECRET_WORDS = 2 * HASH_WORDS };

#if defined(__SIZEOF_INT128__)
typedef unsigned __int128 Wide;

static inline Wide wide_at(const uint64_t *words)
{
    return (Wide)words[1] << 64 | words[0];
}

/* Returns a strongly universal hash, whose 64 bits are the upper half. It takes a third of
 * SipHash's time for the keys of most states. It is NH, the sum of products of UMAC (RFC 4418),
 * then a multiply-shift (Dietzfelbinger) of that sum and the length. While the secret is unknown,
 * two chosen keys collide with the chance of random numbers. */
static inline Wide short_hash(const uint64_t *secret, Span span)
{
    const uint64_t *mix = secret + NH_WORDS;
    Wide length = (Wide)(uint64_t)span.size, sum = 0;
    for (; span.size >= 16; span.data += 16, span.size -= 16, secret += 2)
        sum += (Wide)(le64(span.data) + secret[0]) * (le64(span.data + 8) + secret[1]);
    if (span.size) {
        uint8_t rest[16] = {0};
        memcpy(rest, span.data, (size_t)span.size);
        sum += (Wide)(le64(rest) + secret[0]) * (le64(rest + 8) + secret[1]);
    }
    sum = wide_at(mix) * (uint64_t)sum + wide_at(mix + 2) * (uint64_t)(sum >> 64) +
          wide_at(mix + 4) * length + wide_at(mix + 6);
    return sum;
}
#endif

/* Returns the hash by which a key is found. */
static inline uint32_t tag_of(const uint64_t *secret, Span key)
{
#if defined(__SIZEOF_INT128__)
    if (key.size <= SHORT_KEY)
        return (uint32_t)(short_hash(secret + SIP_WORDS, key) >> 96);
#endif
    return (uint32_t)siphash(secret, key);
}

/* Takes the place of a key that is not kept: two hashes of 64 bits, of independent secrets. Two
 * keys of up to SHORT_KEY bytes, chosen by somebody who does not know the secrets, are equal in one
 * hash with a chance of at most 2^-63: 2^-64 for equal sums, and 2^-64 for equal upper bits of the
 * result. They are equal in 32 bits of the other hash with a chance of at most 2^-32 + 2^-64. */
typedef struct {
    uint64_t high;
    uint32_t middle, low;
} Print;

static INLINE Print print_of(const uint64_t *secret, Span key)
{
    const uint64_t *other = secret + HASH_WORDS;
    uint64_t one, two;
#if defined(__SIZEOF_INT128__)
    if (key.size <= SHORT_KEY) {
        one = (uint64_t)(short_hash(secret + SIP_WORDS, key) >> 64);
        two = (uint64_t)(short_hash(other + SIP_WORDS, key) >> 64);
        return (Print){two, (uint32_t)one, (uint32_t)(one >> 32)};
    }
#endif
    one = siphash(secret, key);
    two = siphash(other, key);
    return (Print){two, (uint32_t)one, (uint32_t)(one >> 32)};
}

#endif
