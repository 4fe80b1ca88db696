/* Byte strings of all sizes: equal ones get one number, different ones get different numbers, and
 * each is given back as it was, unless prints stand for them. */
#include "harness.h"

#include "../../../inspector/kernel/interner.c"

enum { MOST = 200, MANY = 3000 };

/* Whether every span is within its buffer: the Python function refuses the others before it. */
static int all_within(const Spans *spans)
{
    Span span;
    int64_t i;
    for (i = 0; i < spans->offsets.count; i++)
        if (span_at(spans, i, &span) < 0)
            return 0;
    return 1;
}

static void check_numbers(Interner *self, const Spans *spans, const Array *numbers)
{
    int64_t i, k;
    for (i = 0; i < numbers->count; i++) {
        int64_t number = array_get(numbers, i);
        Span key, other;
        ALWAYS(0 <= number && number < (self->hashed ? self->prints.count : self->keys.count));
        ALWAYS(!span_at(spans, i, &key) && number_of(self, key) == number);
        ALWAYS(self->hashed || same(key_at(&self->keys, number), key));
        for (k = 0; k < i; k++) {
            ALWAYS(!span_at(spans, k, &other));
            ALWAYS(same(key, other) == (number == array_get(numbers, k)));
        }
    }
}

/* Many keys of the size of one of the spans, so that every table grows. */
static void add_many(Interner *self, Input *input)
{
    uint8_t key[300] = {0};
    int64_t i, size = 2 + take_byte(input);
    for (i = 0; i < MANY; i++) {
        Span span = {key, size};
        int64_t number;
        memcpy(key, &i, 2);
        if (self->hashed)
            number = prints_add(&self->prints, print_of(self->secret, span));
        else
            number = keys_add(&self->keys, span, tag_of(self->secret, span));
        ALWAYS(number >= 0 && number_of(self, span) == number);
        ALWAYS(self->hashed || same(key_at(&self->keys, number), span));
    }
}

static void check_gathered(Interner *self, const Array *numbers)
{
    Array offsets = new_array(numbers->count + 1);
    int64_t total = gather_offsets(&self->keys, numbers, &offsets);
    char *target;
    ALWAYS(total >= 0);
    target = exact_memory((size_t)total);
    ALWAYS(!copy_keys(&self->keys, numbers, target, total));
    free(target);
    free_array(&offsets);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input input = {data, size};
    Interner self;
    int i, batches = 1 + (int)take_below(&input, 3), many = take_byte(&input) == 0xee;
    memset(&self, 0, sizeof self);
    self.hashed = take_byte(&input) & 1;
    for (i = 0; i < SECRET_WORDS; i++)
        self.secret[i] = 0x9e3779b97f4a7c15u * (uint64_t)(i + 1) | 1;
    for (i = 0; i < batches; i++) {
        Spans spans = take_spans(&input, take_below(&input, MOST));
        Array numbers = new_array(spans.offsets.count);
        int status = intern_spans(&self, &spans, &numbers);
        ALWAYS(status == (all_within(&spans) ? 0 : -1));
        if (status == 0) {
            check_numbers(&self, &spans, &numbers);
            if (!self.hashed)
                check_gathered(&self, &numbers);
        }
        if (many)
            add_many(&self, &input);
        free_array(&numbers);
        free_spans(&spans);
    }
    ALWAYS(keys_memory(&self.keys) >= 0 && prints_memory(&self.prints) >= 0);
    keys_free(&self.keys);
    prints_free(&self.prints);
    return 0;
}
