/* Rows of any bytes under programs of any numbers: checks and slots stay within each row. */
#include "harness.h"

#include "../../../inspector/kernel/rows.c"

enum { MOST_NUMBERS = 40, MOST_ROWS = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input input = {data, size};
    Array program = take_numbers(&input, take_below(&input, MOST_NUMBERS));
    Spans spans = take_spans(&input, take_below(&input, MOST_ROWS));
    int64_t count = spans.offsets.count, i, found = 0, doubted;
    Array values = new_array(count);
    char *known = exact_memory((size_t)count);
    doubted = check_rows(&spans, &program, known);
    for (i = 0; i < count && doubted >= 0; i++) {
        ALWAYS(known[i] == 0 || known[i] == 1);
        found += known[i];
    }
    ALWAYS(doubted < 0 || doubted == found);
    ALWAYS((read_slots(&spans, &program, &values, known) < 0) == (doubted < 0));
    free(known);
    free_array(&values);
    free_spans(&spans);
    free_array(&program);
    return 0;
}
