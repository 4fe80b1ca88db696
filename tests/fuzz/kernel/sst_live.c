/* Runs of entries of any order, with ranges that were deleted: every entry that is said to live is
 * one of the runs', once, and the pieces add up to them. */
#include "harness.h"

#include "../../../inspector/kernel/sst_live.c"

enum { MOST_ENTRIES = 12, MOST_RUNS = 4, MOST_RANGES = 3 };

static void check_order(const Array *order, const Array *pieces, const int64_t found[3], int64_t count)
{
    int64_t i, sum = 0;
    char *seen = exact_memory((size_t)count + 1);
    memset(seen, 0, (size_t)count + 1);
    ALWAYS(0 <= found[0] && found[0] <= pieces->count);
    ALWAYS(0 <= found[1] && found[1] <= order->count);
    for (i = 0; i < found[1]; i++) {
        int64_t entry = array_get(order, i);
        ALWAYS(0 <= entry && entry < count && !seen[entry]);
        seen[entry] = 1;
    }
    for (i = 0; i < found[0]; i++) {
        ALWAYS(array_get(pieces, i) > 0);
        sum += array_get(pieces, i);
    }
    ALWAYS(sum <= found[1]);
    free(seen);
}

/* Bounds of runs: mostly some that rise to the number of entries, sometimes any. */
static Array take_bounds(Input *input, int64_t runs, int64_t entries)
{
    Array bounds = new_array(runs + 1);
    int64_t i, at = 0, wild = take_byte(input);
    for (i = 0; i < runs; i++) {
        array_set(&bounds, i, at);
        at += take_below(input, entries - at + 1);
    }
    array_set(&bounds, runs, wild < 16 ? take_number(input) : entries);
    return bounds;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input input = {data, size};
    int64_t entries = take_below(&input, MOST_ENTRIES + 1), runs = take_below(&input, MOST_RUNS + 1);
    int64_t deleted = take_below(&input, MOST_RANGES + 1), found[3] = {0, 0, 0};
    int64_t order_room = take_below(&input, MOST_ENTRIES + 1);
    Array order = new_array(order_room);
    Array pieces = new_array(take_below(&input, MOST_ENTRIES + 1));
    Array bounds = take_bounds(&input, runs, entries), tags = take_numbers(&input, entries);
    Array sequences = take_numbers(&input, deleted);
    Spans keys = take_spans(&input, entries), ends = take_spans(&input, 2 * deleted);
    Merge merge = {&keys, &tags, calloc((size_t)runs + 1, sizeof(Run)),
                   calloc((size_t)runs + 1, sizeof(int64_t)), 0};
    Ranges ranges = {&ends, &sequences, 0};
    if (start(&merge, &bounds) == 0) {
        int status = take_keys(&merge, &ranges, &order, &pieces, found);
        ALWAYS(status == -1 || status == MORE || status == FULL || status == BAD_ORDER);
        ALWAYS(0 <= ranges.next && ranges.next <= deleted);
        ALWAYS(status != MORE || !merge.size);
        check_order(&order, &pieces, found, entries);
    }
    free(merge.runs);
    free(merge.heap);
    free_array(&order);
    free_array(&pieces);
    free_array(&bounds);
    free_array(&tags);
    free_array(&sequences);
    free_spans(&keys);
    free_spans(&ends);
    return 0;
}
