/* Files of any bytes, and of any records within sound blocks: those that are said to be right are
 * right alone too, and all that is found lies within them. */
#include "harness.h"

#include "../../../inspector/kernel/lz4.c"
#include "../../../inspector/kernel/scan.c"
#include "../../../inspector/kernel/small_deltas.c"

enum { MOST_FILES = 4, MOST_BYTES = 200, MOST_RAW = 1 << 16 };

/* A stream of one stored block of some bytes, or these bytes alone. */
static Span new_file(Input *input)
{
    int64_t size = 1 + take_below(input, MOST_BYTES), length = size + 2 * HEADER;
    int sound = take_byte(input) & 3;
    uint8_t *bytes = take_bytes(input, (size_t)size), *file;
    uint32_t sum = (uint32_t)xxh32(bytes, size, CHECKSUM_SEED) & CHECKSUM_BITS;
    int i;
    if (!sound)
        return (Span){bytes, size};
    file = exact_memory((size_t)length);
    memset(file, 0, (size_t)length);
    memcpy(file, "LZ4Block", 8);
    file[8] = STORED;
    file[9] = file[13] = (uint8_t)size;
    for (i = 0; i < 4; i++)
        file[17 + i] = (uint8_t)(sum >> 8 * i);
    memcpy(file + HEADER, bytes, (size_t)size);
    memcpy(file + HEADER + size, "LZ4Block", 8);
    file[HEADER + size + 8] = STORED;
    free(bytes);
    return (Span){file, length};
}

/* Reads some files; returns how many are right. */
static int64_t read_some(Deltas *deltas, int64_t most)
{
    int64_t *sizes = exact_memory((size_t)(deltas->count + 1) * sizeof *sizes), right;
    int64_t total = raw_sizes(deltas, most, sizes), i, k, end = 0, raw_end = 0;
    uint8_t *raw = exact_memory((size_t)total);
    ALWAYS(0 <= total && total <= most);
    right = read_all(deltas, raw, sizes);
    ALWAYS(0 <= right && right <= deltas->count);
    for (i = 0; i < right; i++) {
        int64_t room = deltas->spans.count / SPAN, last = array_get(&deltas->ends, i);
        ALWAYS(end <= last && last <= room);
        for (k = end; k < last; k++) {
            ALWAYS(raw_end <= array_get(&deltas->spans, k));
            ALWAYS(array_get(&deltas->spans, 3 * room + k) % WORD == 0 ||
                   array_get(&deltas->spans, 3 * room + k) == -1);
        }
        end = last;
        raw_end = array_get(&deltas->ends, deltas->ends.count / 2 + i);
        ALWAYS(raw_end <= total);
    }
    free(raw);
    free(sizes);
    return right;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input input = {data, size};
    int64_t count = take_below(&input, MOST_FILES + 1), room = take_byte(&input), i, right;
    int64_t most = take_byte(&input) << 4;
    Span *files = exact_memory(MOST_FILES * sizeof *files);
    Deltas deltas = {files, count, MOST_RAW, take_number(&input), new_array(room * SPAN),
                     new_array(2 * count)};
    for (i = 0; i < count; i++)
        files[i] = new_file(&input);
    right = read_some(&deltas, most);
    for (i = 0; i < right; i++) {
        Deltas alone = {files + i, 1, MOST_RAW, deltas.most_record, new_array(room * SPAN),
                        new_array(2)};
        ALWAYS(read_some(&alone, most) == 1);
        ALWAYS(array_get(&alone.ends, 0) ==
               array_get(&deltas.ends, i) - (i ? array_get(&deltas.ends, i - 1) : 0));
        free_array(&alone.spans);
        free_array(&alone.ends);
    }
    for (i = 0; i < count; i++)
        free((void *)(uintptr_t)files[i].data);
    free_array(&deltas.spans);
    free_array(&deltas.ends);
    free(files);
    return 0;
}
