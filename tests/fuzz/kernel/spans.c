/* Spans anywhere: those outside are refused, the others are hashed and joined as they are. */
#include "harness.h"

#include "../../../inspector/kernel/spans.c"

enum { MOST_SPANS = 60 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input input = {data, size};
    int64_t skip = take_number(&input);
    Spans spans = take_spans(&input, take_below(&input, MOST_SPANS));
    int64_t total = spans_total(&spans), i, at = 0;
    Array hashes = new_array(spans.offsets.count), again = new_array(spans.offsets.count);
    if (hash_spans(&spans, skip, &hashes) == 0) {
        char *joined = exact_memory((size_t)total);
        ALWAYS(!copy_spans(&spans, joined, total));
        ALWAYS(!hash_spans(&spans, -1, &again));
        for (i = 0; i < spans.offsets.count; i++) {
            Span span;
            ALWAYS(!span_at(&spans, i, &span));
            ALWAYS(same(span, (Span){(uint8_t *)joined + at, span.size}));
            if (skip < 0 || span.size < SLOT || span.size - SLOT < skip)
                ALWAYS(array_get(&hashes, i) == array_get(&again, i));
            at += span.size;
        }
        ALWAYS(at == total);
        free(joined);
    }
    free_array(&again);
    free_array(&hashes);
    free_spans(&spans);
    return 0;
}
