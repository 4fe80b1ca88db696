/* Merges the entries of several tables and finds the live keys; _sst_live.py defines the result. */
#include "functions.h"

#include <stdlib.h>

enum { DELETION = 0, PUT = 1, MERGE = 2 };

/* A sorted run of entries; `at` is its next one. */
typedef struct {
    int64_t at, end;
    Span key;
    uint64_t tag;
} Run;

typedef struct {
    const Spans *keys;
    const Array *tags;
    Run *runs;
    int64_t *heap; /* numbers of runs; the run with the next entry is first */
    int64_t size;  /* runs in the heap */
} Merge;

typedef struct {
    const Spans *bounds; /* two spans for each: its first key, and the first key after it */
    const Array *sequences;
    int64_t next; /* first range that does not end before the current key */
} Ranges;

static int compare(Span one, Span other)
{
    int64_t both = one.size < other.size ? one.size : other.size;
    int order = both ? memcmp(one.data, other.data, (size_t)both) : 0;
    return order ? order : (one.size > other.size) - (one.size < other.size);
}

/* Returns 1 if a run's next entry comes before another's: by key, then the newest, then by
 * number. */
static int comes_before(const Merge *merge, int64_t one, int64_t other)
{
    const Run *a = &merge->runs[one], *b = &merge->runs[other];
    int order = compare(a->key, b->key);
    if (order)
        return order < 0;
    return a->tag != b->tag ? a->tag > b->tag : one < other;
}

static void sift_down(Merge *merge, int64_t hole)
{
    int64_t moved = merge->heap[hole];
    for (;;) {
        int64_t child = 2 * hole + 1;
        if (child >= merge->size)
            break;
        if (child + 1 < merge->size &&
            comes_before(merge, merge->heap[child + 1], merge->heap[child]))
            child++;
        if (!comes_before(merge, merge->heap[child], moved))
            break;
        merge->heap[hole] = merge->heap[child];
        hole = child;
    }
    merge->heap[hole] = moved;
}

/* Loads the entry that a run is at. Returns 1, 0 at its end, -1 if the key lies outside. */
static int load(const Merge *merge, Run *run)
{
    if (run->at >= run->end)
        return 0;
    if (span_at(merge->keys, run->at, &run->key) < 0)
        return -1;
    run->tag = (uint64_t)array_get(merge->tags, run->at);
    return 1;
}

/* Moves to the next entry of all runs. Returns 0, or -1 if a key lies outside. */
static int advance(Merge *merge)
{
    Run *run = &merge->runs[merge->heap[0]];
    int found;
    run->at++;
    found = load(merge, run);
    if (found < 0)
        return -1;
    if (!found)
        merge->heap[0] = merge->heap[--merge->size];
    if (merge->size > 1)
        sift_down(merge, 0);
    return 0;
}

static int start(Merge *merge, const Array *bounds)
{
    int64_t i, before = 0;
    for (i = 0; i + 1 < bounds->count; i++) {
        Run *run = &merge->runs[i];
        int found;
        run->at = array_get(bounds, i);
        run->end = array_get(bounds, i + 1);
        if (run->at < before || run->end < run->at || merge->tags->count < run->end)
            return -1;
        before = run->end;
        found = load(merge, run);
        if (found < 0)
            return -1;
        if (found)
            merge->heap[merge->size++] = i;
    }
    for (i = merge->size / 2 - 1; i >= 0; i--)
        sift_down(merge, i);
    return 0;
}

/* Finds the newest sequence number with which a range that has a key was deleted; 0 if none has it.
 * Returns -1 if a bound lies outside. */
static int covered(Ranges *ranges, Span key, uint64_t *sequence)
{
    *sequence = 0;
    for (; ranges->next < ranges->sequences->count; ranges->next++) {
        Span from, until;
        if (span_at(ranges->bounds, 2 * ranges->next, &from) < 0 ||
            span_at(ranges->bounds, 2 * ranges->next + 1, &until) < 0)
            return -1;
        if (compare(key, until) < 0) {
            if (compare(key, from) >= 0)
                *sequence = (uint64_t)array_get(ranges->sequences, ranges->next);
            return 0;
        }
    }
    return 0;
}

static void reverse(Array *array, int64_t first, int64_t end)
{
    for (end--; first < end; first++, end--) {
        int64_t one = array_get(array, first);
        array_set(array, first, array_get(array, end));
        array_set(array, end, one);
    }
}

/* Takes all entries of the next key, and writes those that make its value, the oldest first.
 * Returns a status, or -1 if a span lies outside. */
static int take_key(Merge *merge, Ranges *ranges, Array *order, int64_t *used, int64_t *bad)
{
    Span key = merge->runs[merge->heap[0]].key;
    uint64_t deleted, last = UINT64_MAX;
    int64_t first = *used;
    int open = 1;
    if (covered(ranges, key, &deleted) < 0)
        return -1;
    while (merge->size) {
        const Run *run = &merge->runs[merge->heap[0]];
        uint64_t sequence = run->tag >> 8;
        int type = (int)(run->tag & 255);
        if (compare(run->key, key))
            break;
        *bad = run->at;
        if (sequence == last)
            return BAD_ORDER; /* it is unknown which of two entries is newer */
        last = sequence;
        open = open && sequence >= deleted;
        if (open && (type == PUT || type == MERGE)) {
            if (order->count <= *used)
                return FULL;
            array_set(order, (*used)++, run->at);
        }
        open = open && type == MERGE;
        if (advance(merge) < 0)
            return -1;
    }
    reverse(order, first, *used);
    return MORE;
}

static int take_keys(Merge *merge, Ranges *ranges, Array *order, Array *pieces, int64_t found[3])
{
    while (merge->size) {
        int64_t before = found[1];
        int status = take_key(merge, ranges, order, &found[1], &found[2]);
        if (status != MORE) {
            found[1] = before; /* drops what was found of an unfinished key */
            return status;
        }
        if (found[1] > before) {
            if (pieces->count <= found[0])
                return FULL;
            array_set(pieces, found[0]++, found[1] - before);
        }
    }
    return MORE;
}

enum { KEYS, BOUNDS, SPANS };              /* buffers with spans */
enum { TAGS, RUNS, SEQUENCES, READ };      /* arrays that are read */
enum { STATE, ORDER, PIECES, WRITTEN };    /* arrays that are written */

typedef struct {
    Spans spans[SPANS];
    Array read[READ], written[WRITTEN];
} LiveArguments;

static PyObject *live_of(LiveArguments *arguments)
{
    const Array *runs = &arguments->read[RUNS];
    int64_t count = runs->count ? runs->count - 1 : 0, found[3] = {0, 0, 0};
    Merge merge = {&arguments->spans[KEYS], &arguments->read[TAGS], NULL, NULL, 0};
    Ranges ranges = {&arguments->spans[BOUNDS], &arguments->read[SEQUENCES], 0};
    int status = -1;
    ranges.next = array_get(&arguments->written[STATE], 0);
    if (merge.tags->count != merge.keys->offsets.count || ranges.next < 0 ||
        ranges.bounds->offsets.count / 2 != ranges.sequences->count ||
        ranges.bounds->offsets.count % 2) {
        PyErr_SetString(PyExc_ValueError, "arrays differ in length");
        return NULL;
    }
    merge.runs = calloc((size_t)count + 1, sizeof *merge.runs);
    merge.heap = calloc((size_t)count + 1, sizeof *merge.heap);
    if (!merge.runs || !merge.heap) {
        free(merge.runs);
        free(merge.heap);
        return PyErr_NoMemory();
    }
    Py_BEGIN_ALLOW_THREADS
    if (start(&merge, runs) == 0)
        status = take_keys(&merge, &ranges, &arguments->written[ORDER],
                           &arguments->written[PIECES], found);
    Py_END_ALLOW_THREADS
    free(merge.runs);
    free(merge.heap);
    if (status < 0) {
        PyErr_SetString(PyExc_ValueError, OUTSIDE);
        return NULL;
    }
    array_set(&arguments->written[STATE], 0, ranges.next);
    array_set(&arguments->written[STATE], 1, status == MORE ? 0 : found[2]);
    return Py_BuildValue("iLL", status, (long long)found[0], (long long)found[1]);
}

PyObject *kernel_table_live(PyObject *module, PyObject *args)
{
    PyObject *spans[SPANS][3], *read[READ], *written[WRITTEN], *result = NULL;
    LiveArguments arguments;
    int opened_spans = 0, opened_read = 0, opened_written = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOOOOOOOOOO:table_live", &spans[KEYS][0], &spans[KEYS][1],
                          &spans[KEYS][2], &read[TAGS], &read[RUNS], &spans[BOUNDS][0],
                          &spans[BOUNDS][1], &spans[BOUNDS][2], &read[SEQUENCES], &written[STATE],
                          &written[ORDER], &written[PIECES]))
        return NULL;
    for (; opened_spans < SPANS; opened_spans++) {
        PyObject **three = spans[opened_spans];
        if (spans_open(three[0], three[1], three[2], &arguments.spans[opened_spans]) < 0)
            goto done;
    }
    for (; opened_read < READ; opened_read++)
        if (array_open(read[opened_read], 0, "lq", &arguments.read[opened_read]) < 0)
            goto done;
    for (; opened_written < WRITTEN; opened_written++)
        if (array_open(written[opened_written], 1, "lq", &arguments.written[opened_written]) < 0)
            goto done;
    if (arguments.written[STATE].count != 2)
        PyErr_SetString(PyExc_ValueError, "arrays differ in length");
    else
        result = live_of(&arguments);
done:
    while (opened_written)
        PyBuffer_Release(&arguments.written[--opened_written].buffer);
    while (opened_read)
        PyBuffer_Release(&arguments.read[--opened_read].buffer);
    while (opened_spans)
        spans_close(&arguments.spans[--opened_spans]);
    return result;
}
