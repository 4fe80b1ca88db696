/* Indexes of any bytes: handles lie where numbers can say, and are the same one by one. */
#include "harness.h"

#define take_number take_length /* the harness has a function of that name too */
#include "../../../inspector/kernel/sst_index.c"
#undef take_number

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input input = {data, size};
    int delta = take_byte(&input) & 1, first_keys = take_byte(&input) & 1;
    int64_t trailer = take_below(&input, 65), room = take_byte(&input), length, count, i;
    uint8_t *bytes;
    Span all, some;
    Array offsets = new_array(room), sizes = new_array(room), few, fewer;
    length = (int64_t)input.size;
    bytes = take_bytes(&input, input.size);
    all = some = (Span){bytes, length};
    count = take_handles(&all, delta, first_keys, trailer, &offsets, &sizes);
    ALWAYS(0 <= count && count <= room && 0 <= all.size && all.size <= length);
    ALWAYS(all.data + all.size == bytes + length);
    for (i = 0; i < count; i++) {
        ALWAYS(0 <= array_get(&offsets, i) && array_get(&offsets, i) <= MOST);
        ALWAYS(0 <= array_get(&sizes, i) && array_get(&sizes, i) <= MOST);
    }
    few = new_array(count / 2);
    fewer = new_array(count / 2);
    ALWAYS(take_handles(&some, delta, first_keys, trailer, &few, &fewer) == count / 2);
    ALWAYS(!memcmp(few.buffer.buf, offsets.buffer.buf, (size_t)count / 2 * 8));
    ALWAYS(!memcmp(fewer.buffer.buf, sizes.buffer.buf, (size_t)count / 2 * 8));
    free_array(&few);
    free_array(&fewer);
    free_array(&offsets);
    free_array(&sizes);
    free(bytes);
    return 0;
}
