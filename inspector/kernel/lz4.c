/* Decompresses many blocks of lz4-java's stream at once, without the GIL.
 *
 * decode/lz4block.py defines the stream, and what is wrong with one: this takes the blocks that are
 * right in every respect, as far as they go, and leaves the first that is not to that module. */
#include "functions.h"
#include "xxh32.h"

enum { HEADER = 21, STORED = 0x10, LZ4 = 0x20, LEVEL_BASE = 10, NEAR_END = 64 };
#define CHECKSUM_SEED 0x9747B28CU
#define CHECKSUM_BITS 0x0FFFFFFFU

/* One block of a stream. */
typedef struct {
    const uint8_t *data;
    int64_t packed, size;
    uint32_t checksum;
    int stored;
} Block;

/* Reads the header of a block that has content. Returns whether all of it is there and right. */
static int block_at(const uint8_t *at, int64_t remaining, int64_t most, Block *block)
{
    int level;
    if (remaining < HEADER || memcmp(at, "LZ4Block", 8))
        return 0;
    block->stored = (at[8] & 0xF0) == STORED;
    level = at[8] & 0x0F;
    block->packed = (int32_t)le32(at + 9);
    block->size = (int32_t)le32(at + 13);
    block->checksum = (uint32_t)le32(at + 17);
    block->data = at + HEADER;
    if (!block->stored && (at[8] & 0xF0) != LZ4)
        return 0;
    if (block->size <= 0 || block->packed <= 0 || (int64_t)1 << (LEVEL_BASE + level) < block->size)
        return 0;
    if (most < block->size || most < block->packed || remaining - HEADER < block->packed)
        return 0;
    return !block->stored || block->size == block->packed;
}

/* A length that goes on in the bytes behind the token. Returns -1 if they end before. */
static INLINE int64_t longer_length(const uint8_t **in, const uint8_t *end, int64_t length)
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

/* Copies in steps of 16 bytes, up to 15 more than were asked for. */
static INLINE void copy_steps(uint8_t *to, const uint8_t *from, int64_t size)
{
    do {
        memcpy(to, from, 16);
        to += 16;
        from += 16;
        size -= 16;
    } while (size > 0);
}

/* Repeats what lies `offset` bytes before; the two may overlap. */
static INLINE void copy_match(uint8_t *to, int64_t offset, int64_t size, const uint8_t *last)
{
    const uint8_t *from = to - offset;
    if (offset >= 16 && last - to >= size + 16) {
        copy_steps(to, from, size);
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

/* Decompresses one block as LZ4_decompress_safe does. Returns whether it is right and of its size;
 * what is behind it, up to `last`, may be overwritten. */
static int decompress(const Block *block, uint8_t *out, const uint8_t *last)
{
    const uint8_t *in = block->data, *in_end = in + block->packed;
    uint8_t *to = out, *out_end = out + block->size;
    for (;;) {
        int64_t literals, match, offset;
        uint8_t token;
        if (in == in_end)
            return 0;
        token = *in++;
        if (in_end - in >= NEAR_END && out_end - to >= NEAR_END && token < 15 << 4) {
            /* Most are short: copied without asking how short, far from both ends. */
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
        literals = longer_length(&in, in_end, token >> 4);
        if (literals < 0 || in_end - in < literals || out_end - to < literals)
            return 0;
        if (in_end - in >= literals + 16 && last - to >= literals + 16)
            copy_steps(to, in, literals);
        else if (literals)
            memcpy(to, in, (size_t)literals);
        in += literals;
        to += literals;
        if (out_end - to < 12 || in_end - in < 8) /* the end of a block is literals */
            return in == in_end && to == out_end;
        offset = in[0] | in[1] << 8;
        in += 2;
        match = longer_length(&in, in_end, token & 15);
        if (match < 0 || !offset || to - out < offset || out_end - to < match + 4 + 5)
            return 0;
        copy_match(to, offset, match + 4, last);
        to += match + 4;
    }
}

/* Decompresses the blocks that are right; returns the raw bytes, and how many packed they were. */
static int64_t decompress_all(const uint8_t *at, int64_t remaining, int64_t most, uint8_t *out,
                              int64_t room, int64_t *consumed)
{
    int64_t done = 0;
    Block block;
    *consumed = 0;
    while (block_at(at + *consumed, remaining - *consumed, most, &block) &&
           block.size <= room - done) {
        if (block.stored)
            memcpy(out + done, block.data, (size_t)block.size);
        else if (!decompress(&block, out + done, out + room))
            break;
        if ((xxh32(out + done, block.size, CHECKSUM_SEED) & CHECKSUM_BITS) != block.checksum)
            break;
        done += block.size;
        *consumed += HEADER + block.packed;
    }
    return done;
}

/* Raw bytes of the blocks that come first: up to `room`, but of one block at least. */
static int64_t raw_size(const uint8_t *at, int64_t remaining, int64_t most, int64_t room)
{
    int64_t total = 0;
    Block block;
    while (block_at(at, remaining, most, &block) && (!total || block.size <= room - total)) {
        total += block.size;
        at += HEADER + block.packed;
        remaining -= HEADER + block.packed;
    }
    return total;
}

PyObject *kernel_lz4_stream(PyObject *module, PyObject *args)
{
    PyObject *object, *raw, *result = NULL;
    Py_buffer bytes;
    long long start, most, room;
    int64_t total, done = 0, consumed = 0;
    const uint8_t *at;
    (void)module;
    if (!PyArg_ParseTuple(args, "OLLL:lz4_stream", &object, &start, &most, &room))
        return NULL;
    if (PyObject_GetBuffer(object, &bytes, PyBUF_SIMPLE) < 0)
        return NULL;
    if (start < 0 || bytes.len < start) {
        PyErr_SetString(PyExc_ValueError, "start lies outside of the buffer");
        PyBuffer_Release(&bytes);
        return NULL;
    }
    at = (const uint8_t *)bytes.buf + start;
    total = raw_size(at, bytes.len - start, most, room);
    raw = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)total);
    if (raw && total) {
        uint8_t *out = (uint8_t *)PyBytes_AsString(raw);
        Py_BEGIN_ALLOW_THREADS
        done = decompress_all(at, bytes.len - start, most, out, total, &consumed);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&bytes);
    if (raw && done < total) { /* another block than expected: what is right of them */
        PyObject *part = PyBytes_FromStringAndSize(PyBytes_AsString(raw), (Py_ssize_t)done);
        Py_DECREF(raw);
        raw = part;
    }
    if (raw)
        result = Py_BuildValue("NL", raw, (long long)consumed);
    return result;
}
