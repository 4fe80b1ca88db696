/* Rows of any bytes under programs of any numbers: hashing their fields stays within each row. */
#include "harness.h"

#include "../../../inspector/kernel/hashes.c"

enum { MOST_NUMBERS = 40, MOST_ROWS = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input input = {data, size};
    Array program = take_numbers(&input, take_below(&input, MOST_NUMBERS));
    Spans spans = take_spans(&input, take_below(&input, MOST_ROWS));
    int64_t count = spans.offsets.count, i;
    Array hashes = new_array(count);
    char *known = exact_memory((size_t)count);
    if (!row_hashes(&spans, &program, &hashes, known))
        for (i = 0; i < count; i++) {
            int64_t hash = array_get(&hashes, i);
            ALWAYS(known[i] == 0 || known[i] == 1);
            ALWAYS(hash == (int32_t)hash && (known[i] || !hash));
        }
    free(known);
    free_array(&hashes);
    free_spans(&spans);
    free_array(&program);
    return 0;
}
