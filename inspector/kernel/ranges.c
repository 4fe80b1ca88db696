/* Finds the keys of a range; _spans.py defines the result. */
#include "functions.h"
#include "xxh64.h"

/* Returns the hash of a key: the masked words, one by one, then the bytes after these. */
static uint64_t hash_of(Span key, const Array *masks, uint64_t seed)
{
    int64_t i;
    for (i = 0; i < masks->count && key.size >= 8; i++, key.data += 8, key.size -= 8) {
        uint64_t mask = (uint64_t)array_get(masks, i);
        if (mask)
            seed = xxh64_of_word(le64(key.data) & mask, seed);
    }
    return xxh64(key.data, key.size, seed);
}

#define RANGES_MOST INT64_C(0x80000000)

typedef struct {
    Spans keys;
    Array masks, rows;
    uint64_t seed, ranges, range;
} Ranges;

/* Fills in which keys are in the range. Returns how many, or -1 for a bad span. */
static int64_t rows_of_range(const Ranges *of, Array *rows)
{
    int64_t i, found = 0;
    for (i = 0; i < of->keys.offsets.count; i++) {
        Span key;
        uint64_t hash;
        if (span_at(&of->keys, i, &key) < 0)
            return -1;
        /* A product instead of a remainder: a division takes as long as the hash of a short key. */
        hash = hash_of(key, &of->masks, of->seed) >> 32;
        if (hash * of->ranges >> 32 == of->range)
            array_set(rows, found++, i);
    }
    return found;
}

PyObject *kernel_rows_of_range(PyObject *module, PyObject *args)
{
    PyObject *bytes, *offsets, *lengths, *masks_object, *rows_object, *result = NULL;
    long long seed, ranges, range;
    int64_t found;
    Ranges of;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOOLLLO:rows_of_range", &bytes, &offsets, &lengths,
                          &masks_object, &seed, &ranges, &range, &rows_object))
        return NULL;
    if (range < 0 || ranges <= range || RANGES_MOST < ranges) {
        PyErr_SetString(PyExc_ValueError, "no such range");
        return NULL;
    }
    of.seed = (uint64_t)seed;
    of.ranges = (uint64_t)ranges;
    of.range = (uint64_t)range;
    if (spans_open(bytes, offsets, lengths, &of.keys) < 0)
        return NULL;
    if (array_open(masks_object, 0, "lq", &of.masks) < 0)
        goto no_masks;
    if (out_open(rows_object, "lq", of.keys.offsets.count, &of.rows) < 0)
        goto no_rows;
    BEGIN_WORK(of.rows.count)
    found = rows_of_range(&of, &of.rows);
    END_WORK
    if (found < 0)
        PyErr_SetString(PyExc_ValueError, OUTSIDE);
    else
        result = PyLong_FromLongLong(found);
    PyBuffer_Release(&of.rows.buffer);
no_rows:
    PyBuffer_Release(&of.masks.buffer);
no_masks:
    spans_close(&of.keys);
    return result;
}
