/* Two rows of any bytes under a program of any numbers: they stand to each other as the other way
 * round, and each is equal to itself. */
#include "harness.h"

#include "../../../inspector/kernel/order.c"

enum { MOST_NUMBERS = 40, MOST_ROWS = 6 };

static int ordered(int order)
{
    return order != UNKNOWN_ORDER && order != NO_FIT;
}

static void check_pair(Span one, Span other, const Array *program)
{
    int64_t fields = number_at(program, 0);
    int there = compare_rows(one, other, fields, program, 1, 0);
    int back = compare_rows(other, one, fields, program, 1, 0);
    int self = compare_rows(one, one, fields, program, 1, 0);
    ALWAYS(-1 <= there && there <= NO_FIT);
    ALWAYS(ordered(there) == ordered(back));
    if (ordered(there))
        ALWAYS(there == -back);
    if (ordered(self))
        ALWAYS(self == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input input = {data, size};
    Array program = take_numbers(&input, take_below(&input, MOST_NUMBERS));
    Spans spans = take_spans(&input, take_below(&input, MOST_ROWS));
    int64_t count = spans.offsets.count, i, found;
    char *below = exact_memory((size_t)count);
    found = descents(&spans, &program, below);
    ALWAYS(SPAN_OUTSIDE <= found && found <= count);
    for (i = 1; i < count; i++) {
        Span one, other;
        if (span_at(&spans, i - 1, &one) == 0 && span_at(&spans, i, &other) == 0)
            check_pair(one, other, &program);
    }
    free(below);
    free_spans(&spans);
    free_array(&program);
    return 0;
}
