/* Blocks of tables of any bytes: entries are the same whether there is room for all of them or for a
 * few at a time, and come in the order of a table. LZ4 blocks of any bytes fill their places. */
#include "harness.h"

#include "../../../inspector/kernel/sst.c"

enum { MOST_BLOCKS = 4, ROOM = 1 << 14, LARGEST_KEY = 600 };

typedef struct {
    uint8_t *bytes; /* of the keys and values, without the 8 bytes behind a user key */
    int64_t size, count;
    int status;
} Found;

/* Keeps the entries of a walk; each lies behind the one before. */
static void keep(Found *found, const Walk *walk, const Array *columns)
{
    int64_t room = columns->count / ENTRY, i, used = 0;
    ALWAYS(0 <= walk->count && walk->count <= room && 0 <= walk->used && walk->used <= walk->room);
    for (i = 0; i < walk->count; i++) {
        int64_t key = array_get(columns, i), key_size = array_get(columns, i + room);
        int64_t value = array_get(columns, i + 2 * room), size = array_get(columns, i + 3 * room);
        ALWAYS(key == used && 0 <= key_size && key_size <= walk->max_length);
        ALWAYS(value == key + key_size + INTERNAL && 0 <= size && size <= walk->max_length);
        ALWAYS(array_get(columns, i + 4 * room) >= 0);
        used = value + size;
    }
    ALWAYS(used == walk->used && found->size + used <= ROOM);
    memcpy(found->bytes + found->size, walk->out, (size_t)used);
    found->size += used;
    found->count += walk->count;
}

/* Walks through all blocks with room for so many bytes and entries at a time. */
static Found walk_all(const Spans *blocks, int64_t bytes, int64_t entries, int64_t max_length)
{
    Found found = {exact_memory(ROOM), 0, 0, FULL};
    Array columns = new_array(entries * ENTRY);
    uint8_t *previous = exact_memory(LARGEST_KEY);
    int64_t index = 0, place = 0, previous_size = 0;
    while (found.status == FULL && found.size + bytes <= ROOM) {
        uint8_t *out = exact_memory((size_t)bytes);
        Walk walk = {.previous = {previous, previous_size},
                     .out = out, .room = bytes, .place = place, .max_length = max_length,
                     .plain = 1};
        found.status = walk_blocks(&walk, blocks, &index, &columns);
        ALWAYS(found.status != FULL || walk.count || bytes < walk.need);
        keep(&found, &walk, &columns);
        place = walk.place;
        if (walk.count) {
            previous_size = walk.previous.size;
            ALWAYS(INTERNAL <= previous_size && previous_size <= LARGEST_KEY);
            memcpy(previous, walk.previous.data, (size_t)previous_size);
        }
        if (found.status == FULL && bytes < walk.need)
            bytes = walk.need;
        free(out);
    }
    free_array(&columns);
    free(previous);
    return found;
}

static void check_entries(const Spans *blocks, int64_t entries, int64_t max_length)
{
    Found whole = walk_all(blocks, ROOM, ROOM / INTERNAL, max_length);
    Found parts = walk_all(blocks, 1, entries, max_length);
    if (parts.status != FULL && whole.status != FULL) {
        ALWAYS(whole.status == parts.status && whole.count == parts.count);
        ALWAYS(whole.size == parts.size && !memcmp(whole.bytes, parts.bytes, (size_t)whole.size));
    }
    free(whole.bytes);
    free(parts.bytes);
}

static void check_lz4(Input *input, const Spans *blocks)
{
    Array places = take_numbers(input, blocks->offsets.count);
    Array sizes = take_numbers(input, blocks->offsets.count);
    Py_buffer out = new_buffer(take_byte(input)), again;
    int64_t done = unpack_blocks(blocks, &out, &places, &sizes);
    ALWAYS(-2 <= done && done <= blocks->offsets.count && done != -1);
    again = new_buffer((size_t)out.len);
    ALWAYS(unpack_blocks(blocks, &again, &places, &sizes) == done);
    free(out.buf);
    free(again.buf);
    free_array(&places);
    free_array(&sizes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input input = {data, size};
    int64_t entries = 1 + take_below(&input, 4), max_length = take_byte(&input) * 2;
    int lz4 = take_byte(&input) & 1;
    Spans blocks = take_spans(&input, take_below(&input, MOST_BLOCKS + 1));
    if (lz4)
        check_lz4(&input, &blocks);
    else
        check_entries(&blocks, entries, max_length);
    free_spans(&blocks);
    return 0;
}
