/* Lists and adds up what a version did to the keys that it touched; _changes.py defines the
 * result. */
#include "functions.h"
#include "table.h"

/* A table and some of its touched keys; both functions take these arguments. */
typedef struct {
    Py_buffer table, touched;
    int64_t rows, count;
} Touched;

static int touched_open(PyObject *table, PyObject *touches, Touched *touched)
{
    if (PyObject_GetBuffer(table, &touched->table, PyBUF_SIMPLE) < 0 ||
        PyObject_GetBuffer(touches, &touched->touched, PyBUF_SIMPLE) < 0)
        return -1;
    touched->rows = touched->table.len / (int64_t)sizeof(Row);
    touched->count = touched->touched.len / (int64_t)sizeof(Touch);
    return 0;
}

static void touched_close(Touched *touched)
{
    PyBuffer_Release(&touched->touched);
    PyBuffer_Release(&touched->table);
}

/* Reads a touched key's previous and present state, and fetches a later one ahead. Returns 0, or -1
 * for an id without a row. */
static INLINE int touched_get(const Touched *touched, int64_t i, Touch *was, Row *now)
{
    *was = touch_get(&touched->touched, i);
    if (was->id < 0 || touched->rows <= was->id)
        return -1;
    if (touched->count - i > ROWS_AHEAD)
        fetch_row(&touched->table, touched->rows,
                  touch_get(&touched->touched, i + ROWS_AHEAD).id);
    *now = row_get(&touched->table, was->id);
    return 0;
}

/* Columns of a change; this fills a part of each. The numbers are id, key size, size before, size
 * now and clock before; then each outcome has one byte. */
enum { CHANGE_NUMBERS = 5 };

typedef struct {
    Touched touched;
    Version version;
    Array numbers;
    Py_buffer outcomes;
    int64_t first, length; /* first key of the part, and length of a column */
} Changes;

static int changes_fill(Changes *changes)
{
    int64_t i, kind, length = changes->length;
    for (i = 0; i < changes->touched.count; i++) {
        int64_t outcome[OUTCOMES], at = changes->first + i;
        Touch was;
        Row now;
        if (touched_get(&changes->touched, i, &was, &now) < 0)
            return -1;
        outcome_of(changes->version, &was, &now, outcome);
        array_set(&changes->numbers, at, was.id);
        array_set(&changes->numbers, length + at, now.key_size);
        array_set(&changes->numbers, 2 * length + at, was.size);
        array_set(&changes->numbers, 3 * length + at, now.value_size);
        array_set(&changes->numbers, 4 * length + at, was.live ? was.clock : NO_CLOCK);
        for (kind = 0; kind < OUTCOMES; kind++)
            ((char *)changes->outcomes.buf)[kind * length + at] = (char)outcome[kind];
    }
    return 0;
}

static int changes_open(PyObject *numbers, PyObject *outcomes, Changes *changes)
{
    if (PyObject_GetBuffer(outcomes, &changes->outcomes, PyBUF_WRITABLE) < 0)
        return -1;
    changes->length = changes->outcomes.len / OUTCOMES;
    if (changes->outcomes.len % OUTCOMES || changes->first < 0 ||
        changes->length < changes->first ||
        changes->length - changes->first < changes->touched.count) {
        PyErr_SetString(PyExc_ValueError, "arrays differ in length");
        return -1;
    }
    return out_open(numbers, "lq", CHANGE_NUMBERS * changes->length, &changes->numbers);
}

PyObject *kernel_change_columns(PyObject *module, PyObject *args)
{
    PyObject *table, *touched, *numbers, *outcomes, *result = NULL;
    long long step, flags, first;
    Changes changes;
    int status;
    (void)module;
    memset(&changes, 0, sizeof changes);
    if (!PyArg_ParseTuple(args, "OOLLLOO:change_columns", &table, &touched, &step, &flags, &first,
                          &numbers, &outcomes))
        return NULL;
    changes.version = version_of(step, flags);
    changes.first = first;
    if (touched_open(table, touched, &changes.touched) == 0 &&
        changes_open(numbers, outcomes, &changes) == 0) {
        BEGIN_WORK(changes.touched.count)
        status = changes_fill(&changes);
        END_WORK
        if (status < 0)
            PyErr_SetString(PyExc_ValueError, "an id without a row");
        else
            result = Py_NewRef(Py_None);
    }
    PyBuffer_Release(&changes.numbers.buffer);
    PyBuffer_Release(&changes.outcomes);
    touched_close(&changes.touched);
    return result;
}

static int tally_all(Tally *tally, const Touched *touched, Version version)
{
    int64_t i;
    for (i = 0; i < touched->count; i++) {
        Touch was;
        Row now;
        if (touched_get(touched, i, &was, &now) < 0)
            return -1;
        tally_key(tally, version, &was, &now);
    }
    tally_add(tally, 0);
    return 0;
}

PyObject *kernel_tally(PyObject *module, PyObject *args)
{
    PyObject *table, *touches, *sums, *by_size, *result = NULL;
    long long step, flags;
    Touched touched;
    Tally tally;
    int status;
    (void)module;
    memset(&touched, 0, sizeof touched);
    memset(&tally, 0, sizeof tally);
    if (!PyArg_ParseTuple(args, "OOLLOO:tally", &table, &touches, &step, &flags, &sums, &by_size))
        return NULL;
    if (touched_open(table, touches, &touched) == 0 && tally_open(sums, by_size, 1, &tally) == 0) {
        BEGIN_WORK(touched.count)
        status = tally_all(&tally, &touched, version_of(step, flags));
        END_WORK
        if (status < 0)
            PyErr_SetString(PyExc_ValueError, "an id without a row");
        else
            result = PyLong_FromLongLong(tally.largest);
    }
    tally_close(&tally);
    touched_close(&touched);
    return result;
}
