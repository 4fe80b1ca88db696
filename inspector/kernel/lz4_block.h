/* One LZ4 block, of any stream or file. */
#ifndef INSPECTOR_KERNEL_LZ4_BLOCK_H
#define INSPECTOR_KERNEL_LZ4_BLOCK_H

#include "arguments.h"

enum { LZ4_NEAR_END = 64 };

/* Returns a length that continues in the bytes after the token; -1 if they end before it. */
static INLINE int64_t lz4_length(const uint8_t **in, const uint8_t *end, int64_t length)
{
    uint8_t more = 255;
    if (length < 15)
        return length;
    while (more == 255) {
        if (*in == end)
            return -1;
        more = *(*in)++;
        length += more;
    }
    return length;
}

/* Copies in steps of 16 bytes, up to 15 bytes more than asked for. */
static INLINE void lz4_copy_steps(uint8_t *to, const uint8_t *from, int64_t size)
{
    do {
        memcpy(to, from, 16);
        to += 16;
        from += 16;
        size -= 16;
    } while (size > 0);
}

/* Repeats the bytes that begin `offset` bytes before; the two may overlap. */
static INLINE void lz4_copy_match(uint8_t *to, int64_t offset, int64_t size, const uint8_t *last)
{
    const uint8_t *from = to - offset;
    if (offset >= 16 && last - to >= size + 16) {
        lz4_copy_steps(to, from, size);
        return;
    }
    if (offset >= 8 && last - to >= size + 16) {
        for (; size > 0; size -= 8, to += 8, from += 8)
            memcpy(to, from, 8);
        return;
    }
    for (; size > 0; size--)
        *to++ = *from++;
}

/* Decompresses a block as LZ4_decompress_safe does. Returns 1 if it is right and of `size` bytes.
 * Bytes after these, up to `last`, may be overwritten. */
static inline int lz4_decompress(Span block, uint8_t *out, int64_t size, const uint8_t *last)
{
    const uint8_t *in = block.data, *in_end = in + block.size;
    uint8_t *to = out, *out_end = out + size;
    for (;;) {
        int64_t literals, match, offset;
        uint8_t token;
        if (in == in_end)
            return 0;
        token = *in++;
        if (in_end - in >= LZ4_NEAR_END && out_end - to >= LZ4_NEAR_END && token < 15 << 4) {
            /* Most are short; far from both ends, 16 bytes are copied whatever the length. */
            memcpy(to, in, 16);
            literals = token >> 4;
            offset = in[literals] | in[literals + 1] << 8;
            match = token & 15;
            if (match < 15 && offset >= 8 && to + literals - out >= offset) {
                in += literals + 2;
                to += literals;
                memcpy(to, to - offset, 8);
                memcpy(to + 8, to + 8 - offset, 8);
                memcpy(to + 16, to + 16 - offset, 2);
                to += match + 4;
                continue;
            }
        }
        literals = lz4_length(&in, in_end, token >> 4);
        if (literals < 0 || in_end - in < literals || out_end - to < literals)
            return 0;
        if (in_end - in >= literals + 16 && last - to >= literals + 16)
            lz4_copy_steps(to, in, literals);
        else if (literals)
            memcpy(to, in, (size_t)literals);
        in += literals;
        to += literals;
        if (out_end - to < 12 || in_end - in < 8) /* a block ends with literals */
            return in == in_end && to == out_end;
        offset = in[0] | in[1] << 8;
        in += 2;
        match = lz4_length(&in, in_end, token & 15);
        if (match < 0 || !offset || to - out < offset || out_end - to < match + 4 + 5)
            return 0;
        lz4_copy_match(to, offset, match + 4, last);
        to += match + 4;
    }
}

#endif
