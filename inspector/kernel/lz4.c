/* Decompresses many blocks of lz4-java's stream at once, without the GIL.
 *
 * decode/lz4block.py defines the stream and its errors. This takes the leading blocks that are
 * right in every respect, and leaves the first other one to that module.
 */
#include "functions.h"
#include "lz4_block.h"
#include "xxh32.h"

enum { HEADER = 21, STORED = 0x10, LZ4 = 0x20, LEVEL_BASE = 10 };
#define CHECKSUM_SEED 0x9747B28CU
#define CHECKSUM_BITS 0x0FFFFFFFU

/* Block of a stream. */
typedef struct {
    const uint8_t *data;
    int64_t packed, size;
    uint32_t checksum;
    int stored;
} Block;

/* Reads the header of a block with content. Returns 1 if header and content are there and right. */
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

/* Blocks that were decompressed one after the other and are not verified yet. */
typedef struct {
    Block block[XXH32_AT_ONCE];
    const uint8_t *raw[XXH32_AT_ONCE];
    int64_t raw_bytes;
    int64_t packed_bytes; /* bytes of the blocks with their headers */
    int count;
} Group;

/* Decompresses the next blocks, as many as are verified at once. */
static Group decompress_some(const uint8_t *at, int64_t remaining, int64_t most, uint8_t *out,
                             int64_t room)
{
    Group group = {.count = 0};
    while (group.count < XXH32_AT_ONCE) {
        Block *block = &group.block[group.count];
        uint8_t *to = out + group.raw_bytes;
        if (!block_at(at + group.packed_bytes, remaining - group.packed_bytes, most, block) ||
            room - group.raw_bytes < block->size)
            break;
        if (block->stored)
            memcpy(to, block->data, (size_t)block->size);
        else if (!lz4_decompress((Span){block->data, block->packed}, to, block->size, out + room))
            break;
        group.raw[group.count++] = to;
        group.raw_bytes += block->size;
        group.packed_bytes += HEADER + block->packed;
    }
    return group;
}

/* Returns how many of the first blocks of a group have the checksums of their headers. */
static int verified(const Group *group)
{
    uint32_t sums[XXH32_AT_ONCE];
    int i, alike = group->count == XXH32_AT_ONCE;
    for (i = 1; alike && i < group->count; i++)
        alike = group->block[i].size == group->block[0].size;
    if (alike)
        xxh32_of_some(group->raw, group->block[0].size, CHECKSUM_SEED, sums);
    for (i = 0; i < group->count; i++) {
        uint32_t sum =
            alike ? sums[i] : xxh32(group->raw[i], group->block[i].size, CHECKSUM_SEED);
        if ((sum & CHECKSUM_BITS) != group->block[i].checksum)
            break;
    }
    return i;
}

/* Decompresses the leading right blocks. Returns their raw bytes, and sets the bytes consumed. */
int64_t lz4_blocks_unpacked(const uint8_t *at, int64_t remaining, int64_t most, uint8_t *out,
                            int64_t room, int64_t *consumed)
{
    int64_t done = 0;
    int i, right = XXH32_AT_ONCE;
    *consumed = 0;
    while (right == XXH32_AT_ONCE) {
        Group group = decompress_some(at + *consumed, remaining - *consumed, most, out + done,
                                      room - done);
        right = verified(&group);
        for (i = 0; i < right; i++) {
            done += group.block[i].size;
            *consumed += HEADER + group.block[i].packed;
        }
    }
    return done;
}

/* Returns the raw bytes of the leading blocks: up to `room`, but at least one block. */
int64_t lz4_raw_size(const uint8_t *at, int64_t remaining, int64_t most, int64_t room)
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

/* Returns 1 if only the end mark of a stream is left. */
int lz4_is_end(const uint8_t *at, int64_t remaining)
{
    static const uint8_t nothing[HEADER - 9];
    return remaining == HEADER && !memcmp(at, "LZ4Block", 8) &&
           ((at[8] & 0xF0) == STORED || (at[8] & 0xF0) == LZ4) &&
           !memcmp(at + 9, nothing, sizeof nothing);
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
    total = lz4_raw_size(at, bytes.len - start, most, room);
    raw = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)total);
    if (raw && total) {
        uint8_t *out = (uint8_t *)PyBytes_AsString(raw);
        BEGIN_WORK(total / RECORD)
        done = lz4_blocks_unpacked(at, bytes.len - start, most, out, total, &consumed);
        END_WORK
    }
    PyBuffer_Release(&bytes);
    if (raw && done < total) { /* keeps the blocks before the first wrong one */
        PyObject *part = PyBytes_FromStringAndSize(PyBytes_AsString(raw), (Py_ssize_t)done);
        Py_DECREF(raw);
        raw = part;
    }
    if (raw)
        result = Py_BuildValue("NL", raw, (long long)consumed);
    return result;
}
