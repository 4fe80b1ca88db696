/* Streams of any bytes, and the blocks of any bytes within sound headers: nothing outside of the
 * blocks is read or written, and as many bytes are said to be packed as belong to what was read.
 *
 * Not named lz4: that is the target that holds the whole decoder against itself. */
#include "harness.h"

#include "../../../inspector/kernel/lz4.c"

enum { MOST_BLOCKS = 4, MOST_ROOM = 1 << 16, LARGEST = 1 << 12 };

static void write_le32(uint8_t *at, uint32_t value)
{
    int i;
    for (i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

/* A header before bytes of the input, whose checksum is that of what they decompress to. */
static size_t sound_block(Input *input, uint8_t *at)
{
    int64_t packed = 1 + take_below(input, 200), raw = 1 + take_byte(input) + 16 * take_byte(input);
    int stored = take_byte(input) & 1;
    uint8_t *bytes = take_bytes(input, (size_t)packed), *out;
    if (stored || LARGEST < raw)
        raw = stored ? packed : LARGEST;
    out = exact_memory((size_t)raw);
    memcpy(at, "LZ4Block", 8);
    at[8] = (uint8_t)((stored ? STORED : LZ4) | 2); /* of 4 KiB at the most */
    write_le32(at + 9, (uint32_t)packed);
    write_le32(at + 13, (uint32_t)raw);
    write_le32(at + 17, 0);
    if (stored || lz4_decompress((Span){bytes, packed}, out, raw, out + raw))
        write_le32(at + 17, (uint32_t)xxh32(stored ? bytes : out, raw, CHECKSUM_SEED) &
                                CHECKSUM_BITS);
    memcpy(at + HEADER, bytes, (size_t)packed);
    free(out);
    free(bytes);
    return HEADER + (size_t)packed;
}

static void check_stream(const uint8_t *bytes, int64_t size, int64_t most, int64_t room)
{
    int64_t total = lz4_raw_size(bytes, size, most, room), consumed, again, done, first;
    uint8_t *out = exact_memory((size_t)total), *other;
    done = lz4_blocks_unpacked(bytes, size, most, out, total, &consumed);
    ALWAYS(0 <= done && done <= total && 0 <= consumed && consumed <= size);
    ALWAYS(!done == !consumed);
    if (done) { /* the same bytes from no more than those, in memory of no more than that */
        other = exact_memory((size_t)done);
        ALWAYS(lz4_raw_size(bytes, consumed, most, room) == done);
        first = lz4_blocks_unpacked(bytes, consumed, most, other, done, &again);
        ALWAYS(first == done && again == consumed && !memcmp(out, other, (size_t)done));
        free(other);
    }
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input input = {data, size};
    int64_t blocks = take_below(&input, MOST_BLOCKS + 1), i;
    int64_t most = 1 << (4 + take_below(&input, 13)), room = take_byte(&input) << 8;
    uint8_t *built = exact_memory(MOST_BLOCKS * (HEADER + 200)), *bytes;
    size_t length = 0;
    for (i = 0; i < blocks; i++)
        length += sound_block(&input, built + length);
    if (!blocks) {
        length = input.size;
        bytes = take_bytes(&input, length);
    } else {
        bytes = exact_memory(length);
        memcpy(bytes, built, length);
    }
    free(built);
    check_stream(bytes, (int64_t)length, most, room < MOST_ROOM ? room : MOST_ROOM);
    free(bytes);
    return 0;
}
