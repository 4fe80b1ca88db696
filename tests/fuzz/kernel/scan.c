/* Records of any bytes: what is found lies within them, and is the same found one by one. */
#include "harness.h"

#include "../../../inspector/kernel/scan.c"

static void check_records(const Scan *scan, const Array *spans, int64_t size)
{
    int64_t i, k, end = 0;
    ALWAYS(0 <= scan->count && scan->count <= spans->count / SPAN);
    ALWAYS(0 <= scan->start && scan->start <= size);
    for (i = 0; i < scan->count; i++) {
        int64_t record[SPAN];
        for (k = 0; k < SPAN; k++)
            record[k] = array_get(spans, k * (spans->count / SPAN) + i);
        ALWAYS(end + 4 <= record[0] && 0 <= record[1] && record[1] <= scan->max_length);
        ALWAYS(record[2] == record[0] + record[1] + 4);
        ALWAYS(-1 <= record[3] && record[3] <= scan->max_length);
        end = record[2] + (record[3] < 0 ? 0 : record[3]);
        ALWAYS(end <= size);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input input = {data, size};
    int64_t limit = take_number(&input), odd = take_below(&input, SPAN);
    int64_t start = take_byte(&input), room, status, i, k;
    int64_t left = (int64_t)input.size;
    uint8_t *bytes = take_bytes(&input, input.size);
    Array all, one = new_array(SPAN + odd); /* room for one */
    Scan scan, step;
    if (start > left)
        start = left;
    room = left / 8 + 1;
    all = new_array(room * SPAN);
    scan = (Scan){bytes, left, start, limit < 0 ? INT32_MAX : limit, 0};
    step = scan;
    status = scan_records(&scan, &all);
    ALWAYS(MORE <= status && status <= OVER_LIMIT);
    check_records(&scan, &all, left);
    for (i = 0; i < scan.count; i++, step.count = 0) {
        ALWAYS(scan_records(&step, &one) == FULL && step.count == 1);
        for (k = 0; k < SPAN; k++)
            ALWAYS(array_get(&all, k * room + i) == array_get(&one, k));
    }
    if (status != FULL)
        ALWAYS(scan_records(&step, &one) == status && !step.count && step.start == scan.start);
    free_array(&all);
    free_array(&one);
    free(bytes);
    return 0;
}
