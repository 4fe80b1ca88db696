/* Records over a table of keys, sound or of any bytes: nothing outside of it is touched, and what
 * changes.c says of the touched keys is what apply.c counted where each key had one record. */
#include "harness.h"

#include "../../../inspector/kernel/apply.c"
#include "../../../inspector/kernel/changes.c"

enum { MOST_ROWS = 24, MOST_RECORDS = 40, MOST_SIZE = 48 };

static Tally new_tally(int64_t room, int64_t versions)
{
    Tally tally;
    memset(&tally, 0, sizeof tally);
    tally.sums = new_array(SUMS * versions);
    tally.by_size = new_array(3 * room);
    tally.room = room;
    return tally;
}

static void free_tally(Tally *tally)
{
    free_array(&tally->sums);
    free_array(&tally->by_size);
}

static int distinct(const Array *ids)
{
    int64_t i, k;
    for (i = 0; i < ids->count; i++)
        for (k = 0; k < i; k++)
            if (array_get(ids, i) == array_get(ids, k))
                return 0;
    return 1;
}

/* The columns of the touched keys, and their sums once more. */
static void check_changes(const Apply *apply, int once)
{
    Touched touched = {apply->table, apply->touched, apply->rows, apply->touches};
    Tally tally = new_tally(apply->tally.room, 1);
    Changes changes;
    ALWAYS(!tally_all(&tally, &touched, apply->version));
    if (once) {
        ALWAYS(!memcmp(tally.sum, apply->tally.sum, sizeof tally.sum));
        ALWAYS(tally.largest == apply->tally.largest);
        ALWAYS(!memcmp(tally.by_size.buffer.buf, apply->tally.by_size.buffer.buf,
                       (size_t)tally.by_size.buffer.len));
    }
    memset(&changes, 0, sizeof changes);
    changes.touched = touched;
    changes.version = apply->version;
    changes.length = touched.count;
    changes.numbers = new_array(CHANGE_NUMBERS * touched.count);
    changes.outcomes = new_buffer((size_t)(OUTCOMES * touched.count));
    ALWAYS(!changes_fill(&changes));
    free_array(&changes.numbers);
    free(changes.outcomes.buf);
    free_tally(&tally);
}

static Array take_ids(Input *input, int64_t count, int64_t rows)
{
    Array ids = new_array(count);
    int64_t i;
    for (i = 0; i < count; i++) {
        uint8_t byte = take_byte(input);
        array_set(&ids, i, byte == 0xff ? take_number(input) : rows ? byte % rows : 0);
    }
    return ids;
}

/* One version, or a few that end anywhere. */
static void apply_some(Apply *apply, Input *input, int step)
{
    int64_t i, count = take_below(input, MOST_RECORDS), versions = take_below(input, 4);
    int timed = take_byte(input) & 1, flags = take_byte(input) & 3;
    const char *fault;
    apply->ends = new_array(versions);
    apply->ends.buffer.obj = versions ? (PyObject *)apply : NULL; /* that they are there */
    for (i = 0; i < versions; i++)
        array_set(&apply->ends, i, take_below(input, MOST_RECORDS));
    versions = versions ? versions : 1;
    apply->ids = take_ids(input, count, apply->rows);
    apply->key_sizes = take_numbers(input, count);
    apply->value_sizes = take_numbers(input, count);
    apply->hashes = take_numbers(input, count);
    apply->clocks = take_numbers(input, timed ? count : 0);
    apply->clocks.buffer.obj = timed ? (PyObject *)apply : NULL; /* no more than that it is there */
    apply->touched = new_buffer((size_t)count * sizeof(Touch));
    apply->first_record = take_number(input);
    apply->touches = 0;
    apply->counts = new_array(COUNTS * versions);
    apply->tally = new_tally(take_below(input, MOST_SIZE), versions);
    fault = apply_versions(apply, step, flags);
    ALWAYS(0 <= apply->touches && apply->touches <= count);
    for (i = 0; i < count && fault && !apply->ends.buffer.obj; i++)
        if (array_get(&apply->ids, i) < 0 || apply->rows <= array_get(&apply->ids, i))
            break;
    ALWAYS(!fault || i < count || apply->ends.buffer.obj);
    if (!fault && !apply->ends.buffer.obj)
        check_changes(apply, distinct(&apply->ids));
    free_tally(&apply->tally);
    free_array(&apply->counts);
    free(apply->touched.buf);
    free_array(&apply->ends);
    free_array(&apply->clocks);
    free_array(&apply->hashes);
    free_array(&apply->value_sizes);
    free_array(&apply->key_sizes);
    free_array(&apply->ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input input = {data, size};
    int64_t rows = take_below(&input, MOST_ROWS);
    int step, versions = 1 + (int)take_below(&input, 4), any = take_byte(&input) & 1;
    Apply apply;
    memset(&apply, 0, sizeof apply);
    apply.table = new_buffer((size_t)rows * sizeof(Row) + (size_t)take_below(&input, 8));
    apply.rows = rows;
    if (any) {
        uint8_t *bytes = take_bytes(&input, (size_t)rows * sizeof(Row));
        if (rows)
            memcpy(apply.table.buf, bytes, (size_t)rows * sizeof(Row));
        free(bytes);
    }
    for (step = 0; step < versions; step++)
        apply_some(&apply, &input, step);
    free(apply.table.buf);
    return 0;
}
