/* Applies records to a table of keys; _changes.py defines the result. */
#include "functions.h"
#include "table.h"

enum { PUTS, INSERTS, UPDATES, SAME, SAME_BYTES, REMOVALS, ABSENT, COUNTS };

typedef struct {
    Py_buffer table;
    Array ids, key_sizes, value_sizes, hashes, clocks; /* clocks.buffer.obj is NULL for none */
    Array ends;                                        /* ends.buffer.obj is NULL for one version */
    Py_buffer touched;
    Array counts;
    Version version;
    Tally tally;
    int64_t rows, first_record;
    int64_t count[COUNTS];
    int64_t touches;
} Apply;

static void apply_put(Apply *apply, int64_t i, Row *row)
{
    int64_t size = array_get(&apply->value_sizes, i), *count = apply->count;
    uint64_t hash = (uint64_t)array_get(&apply->hashes, i);
    int64_t clock = apply->clocks.buffer.obj ? array_get(&apply->clocks, i) : row->clock;
    int32_t put_step = apply->version.put_step;
    int same_value = row->live && row->value_hash == hash && row->value_size == (int32_t)size &&
                     (!apply->version.timed || row->clock == clock);
    count[PUTS]++;
    count[row->live ? UPDATES : INSERTS]++;
    count[SAME] += same_value;
    if (same_value)
        count[SAME_BYTES] = wrapped_sum(count[SAME_BYTES], wrapped_sum(row->key_size, size));
    if (!row->live)
        row->born_step = put_step;
    row->put_step = put_step;
    if (put_step != BEFORE_WINDOW && row->puts < INT32_MAX)
        row->puts++;
    row->live = 1;
    row->value_hash = hash;
    row->value_size = (int32_t)size;
    row->clock = clock;
}

static void apply_record(Apply *apply, int64_t i, int64_t ordinal, Row *row)
{
    row->key_size = (int32_t)array_get(&apply->key_sizes, i);
    row->record = (int32_t)(wrapped_sum(apply->first_record, ordinal) & INT32_MAX);
    if (array_get(&apply->value_sizes, i) >= 0) {
        apply_put(apply, i, row);
    } else {
        apply->count[REMOVALS]++;
        apply->count[ABSENT] += !row->live;
        row->live = 0;
    }
}

/* Applies the records of a version. Returns 0, or -1 for an id without a row. */
static int apply_records(Apply *apply, int64_t first, int64_t end)
{
    int64_t i, count = apply->ids.count;
    int32_t touched = (int32_t)((uint32_t)apply->version.step + 1);
    for (i = first; i < end; i++) {
        int64_t id = array_get(&apply->ids, i);
        Row row;
        if (id < 0 || apply->rows <= id)
            return -1;
        if (count - i > ROWS_AHEAD)
            fetch_row(&apply->table, apply->rows, array_get(&apply->ids, i + ROWS_AHEAD));
        row = row_get(&apply->table, id);
        if (!row.touched) {
            uint8_t mark = row.mark;
            row = FRESH;
            row.mark = mark;
        }
        if (row.touched == touched) {
            apply_record(apply, i, i - first, &row);
        } else {
            Touch was = {id, row.value_hash, row.clock, row.value_size, row.live, {0, 0, 0}};
            row.touched = touched;
            apply_record(apply, i, i - first, &row);
            tally_key(&apply->tally, apply->version, &was, &row);
            memcpy((char *)apply->touched.buf + apply->touches * (int64_t)sizeof was, &was,
                   sizeof was);
            apply->touches++;
        }
        memcpy((char *)apply->table.buf + id * (int64_t)sizeof row, &row, sizeof row);
    }
    return 0;
}

/* Applies the versions up to the first that has several records of a key. Returns NULL, or an error
 * message. */
static const char *apply_versions(Apply *apply, int64_t step, int64_t flags)
{
    int64_t version, versions = apply->ends.buffer.obj ? apply->ends.count : 1;
    int64_t kind, first = 0, end = apply->ids.count;
    for (version = 0; version < versions && apply->touches == first; version++, first = end) {
        if (apply->ends.buffer.obj)
            end = array_get(&apply->ends, version);
        if (end < first || apply->ids.count < end)
            return "a version ends outside of the records";
        apply->version = version_of(wrapped_sum(step, version), flags);
        memset(apply->count, 0, sizeof apply->count);
        memset(apply->tally.sum, 0, sizeof apply->tally.sum);
        if (apply_records(apply, first, end) < 0)
            return "an id without a row";
        for (kind = 0; kind < COUNTS; kind++)
            array_add(&apply->counts, version * COUNTS + kind, apply->count[kind]);
        tally_add(&apply->tally, version);
    }
    return NULL;
}

/* Opens the arrays that have one number per record. Returns 0, or -1 with an exception set. */
static int columns_open(PyObject *const objects[5], Apply *apply)
{
    Array *const arrays[5] = {&apply->ids, &apply->key_sizes, &apply->value_sizes, &apply->hashes,
                              &apply->clocks};
    int i;
    for (i = 0; i < 5; i++) {
        if (i == 4 && objects[i] == Py_None)
            break;
        if (array_open(objects[i], 0, i == 3 ? "LQ" : "lq", arrays[i]) < 0)
            return -1;
        if (arrays[i]->count != apply->ids.count) {
            PyErr_SetString(PyExc_ValueError, "arrays differ in length");
            return -1;
        }
    }
    return 0;
}

static int apply_open(PyObject *table, PyObject *const columns[5], PyObject *const results[4],
                      PyObject *ends, Apply *apply)
{
    int64_t versions = 1;
    if (ends != Py_None) {
        if (array_open(ends, 0, "lq", &apply->ends) < 0)
            return -1;
        versions = apply->ends.count;
    }
    if (PyObject_GetBuffer(table, &apply->table, PyBUF_WRITABLE) < 0 ||
        columns_open(columns, apply) < 0 ||
        PyObject_GetBuffer(results[0], &apply->touched, PyBUF_WRITABLE) < 0 ||
        out_open(results[1], "lq", COUNTS * versions, &apply->counts) < 0 ||
        tally_open(results[2], results[3], versions, &apply->tally) < 0)
        return -1;
    apply->rows = apply->table.len / (int64_t)sizeof(Row);
    if (apply->touched.len / (int64_t)sizeof(Touch) < apply->ids.count) {
        PyErr_SetString(PyExc_ValueError, "no room for every key that may be touched");
        return -1;
    }
    return 0;
}

static void apply_close(Apply *apply) /* a buffer that was not filled is left alone */
{
    tally_close(&apply->tally);
    PyBuffer_Release(&apply->counts.buffer);
    PyBuffer_Release(&apply->touched);
    PyBuffer_Release(&apply->ends.buffer);
    PyBuffer_Release(&apply->clocks.buffer);
    PyBuffer_Release(&apply->hashes.buffer);
    PyBuffer_Release(&apply->value_sizes.buffer);
    PyBuffer_Release(&apply->key_sizes.buffer);
    PyBuffer_Release(&apply->ids.buffer);
    PyBuffer_Release(&apply->table);
}

PyObject *kernel_apply(PyObject *module, PyObject *args)
{
    PyObject *table, *columns[5], *results[4], *ends = Py_None, *result = NULL;
    long long step, first_record, flags;
    Apply apply;
    const char *fault;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOOOOLLLOOOO|O:apply", &table, &columns[0], &columns[1],
                          &columns[2], &columns[3], &columns[4], &step, &first_record, &flags,
                          &results[0], &results[1], &results[2], &results[3], &ends))
        return NULL;
    memset(&apply, 0, sizeof apply);
    apply.first_record = first_record;
    if (apply_open(table, columns, results, ends, &apply) == 0) {
        BEGIN_WORK(apply.ids.count)
        fault = apply_versions(&apply, step, flags);
        END_WORK
        if (fault)
            PyErr_SetString(PyExc_ValueError, fault);
        else
            result = Py_BuildValue("LL", (long long)apply.touches, (long long)apply.tally.largest);
    }
    apply_close(&apply);
    return result;
}
