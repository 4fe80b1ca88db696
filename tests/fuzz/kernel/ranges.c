/* Keys anywhere, and masks of any bits: each key is of one range of them all, and of the same one
 * whatever a mask hides of it. */
#include "harness.h"

#include "../../../inspector/kernel/ranges.c"

enum { MOST_SPANS = 60, MOST_MASKS = 6, MOST_RANGES = 9 };

/* Counts the keys of all ranges. Returns -1 if a span was refused. */
static int64_t rows_of_all(Ranges *of, Array *rows, uint8_t *range_of)
{
    int64_t total = 0, found, i;
    for (of->range = 0; of->range < of->ranges; of->range++) {
        found = rows_of_range(of, rows);
        if (found < 0)
            return -1;
        ALWAYS(found <= rows->count);
        for (i = 0; i < found; i++) {
            int64_t row = array_get(rows, i);
            ALWAYS(0 <= row && row < rows->count);
            ALWAYS(!i || array_get(rows, i - 1) < row);
            range_of[row] = (uint8_t)of->range;
        }
        total += found;
    }
    return total;
}

/* Inverts what the masks hide of the keys. The spans lie one behind the other. */
static void change_hidden(Ranges *of)
{
    int64_t i, k;
    for (i = 0; i < of->keys.offsets.count; i++) {
        Span key;
        ALWAYS(!span_at(&of->keys, i, &key));
        for (k = 0; k < of->masks.count && 8 * k + 8 <= key.size; k++) {
            uint64_t mask = (uint64_t)array_get(&of->masks, k);
            int byte;
            for (byte = 0; byte < 8; byte++)
                ((uint8_t *)key.data)[8 * k + byte] ^= (uint8_t)~(mask >> 8 * byte);
        }
    }
}

static int lie_apart(const Spans *keys)
{
    int64_t i, end = 0;
    for (i = 0; i < keys->offsets.count; i++) {
        if (array_get(&keys->offsets, i) < end)
            return 0;
        end = array_get(&keys->offsets, i) + array_get(&keys->lengths, i);
    }
    return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input input = {data, size};
    int64_t count = take_below(&input, MOST_SPANS), total;
    uint8_t *before = exact_memory((size_t)count), *after = exact_memory((size_t)count);
    Ranges of;
    Array rows = new_array(count);
    memset(&of, 0, sizeof of);
    of.ranges = 1 + (uint64_t)take_below(&input, MOST_RANGES);
    of.seed = (uint64_t)take_number(&input);
    of.masks = take_numbers(&input, take_below(&input, MOST_MASKS));
    of.keys = take_spans(&input, count);
    total = rows_of_all(&of, &rows, before);
    ALWAYS(total < 0 || total == count);
    if (total == count && lie_apart(&of.keys)) {
        change_hidden(&of);
        ALWAYS(rows_of_all(&of, &rows, after) == count);
        ALWAYS(!count || !memcmp(before, after, (size_t)count));
    }
    free_spans(&of.keys);
    free_array(&of.masks);
    free_array(&rows);
    free(after);
    free(before);
    return 0;
}
