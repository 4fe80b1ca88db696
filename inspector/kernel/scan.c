/* Finds the records of a delta, snapshot or changelog; _scan.py defines the result. */
#include "functions.h"

static int64_t be32(const uint8_t *at)
{
    uint32_t value = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    return (int32_t)value;
}

static int is_kind(uint8_t kind)
{
    return kind == KIND_PUT || kind == KIND_REMOVAL || kind == KIND_MERGE;
}

/* Puts the numbers of a record into their columns. */
static inline void set_record(Array *spans, int64_t room, int64_t index, const int64_t record[SPAN])
{
    int column;
    for (column = 0; column < SPAN; column++)
        array_set(spans, column * room + index, record[column]);
}

/* Finds records that begin with their kind, and fills in the kinds; otherwise as scan_records. */
static int scan_kinds(Scan *scan, Array *spans, uint8_t *kinds)
{
    const uint8_t *data = scan->data;
    int64_t at = scan->start, size = scan->size, max_length = scan->max_length;
    int64_t room = spans->count / SPAN, count = 0, key_length, value_length;
    int status = FULL;
    while (count < room) {
        int64_t record[SPAN];
        status = MORE;
        if (size - at < 1)
            break;
        if (!is_kind(data[at])) {
            status = data[at] == KIND_END ? END : BAD_KIND;
            at += status == END;
            break;
        }
        if (size - at < 5)
            break;
        key_length = be32(data + at + 1);
        if (key_length < 0 || max_length < key_length) {
            at += 1;
            status = key_length < 0 ? BAD_KEY_LENGTH : OVER_LIMIT;
            break;
        }
        if (size - at - 5 < key_length || size - at - 5 - key_length < 4)
            break;
        record[0] = at + 5;
        record[1] = key_length;
        record[2] = at + 9 + key_length;
        value_length = be32(data + record[2] - 4);
        record[3] = value_length < 0 ? -1 : value_length;
        if ((data[at] == KIND_REMOVAL) != (value_length < 0)) {
            status = BAD_KIND;
            break;
        }
        if (max_length < value_length) {
            at = record[2] - 4;
            status = OVER_LIMIT;
            break;
        }
        if (size - record[2] < value_length)
            break;
        kinds[count] = data[at];
        at = record[2] + (value_length < 0 ? 0 : value_length);
        set_record(spans, room, count++, record);
        status = FULL;
    }
    scan->start = at;
    scan->count = count;
    return status;
}

/* Finds records from `start` on, and sets `start` after the last whole one. If a value is over the
 * limit, `start` is at its length. */
int scan_records(Scan *scan, Array *spans)
{
    const uint8_t *data = scan->data;
    int64_t at = scan->start, size = scan->size, max_length = scan->max_length;
    int64_t room = spans->count / SPAN, count = scan->count, key_length, value_length;
    int status = FULL;
    while (count < room) {
        int64_t record[SPAN];
        status = MORE;
        if (size - at < 4)
            break;
        key_length = be32(data + at);
        if (key_length < 0 || max_length < key_length) {
            at += key_length == -1 ? 4 : 0;
            status = key_length == -1 ? END : key_length < 0 ? BAD_KEY_LENGTH : OVER_LIMIT;
            break;
        }
        if (size - at - 4 < key_length || size - at - 4 - key_length < 4)
            break;
        record[0] = at + 4;
        record[1] = key_length;
        record[2] = at + 8 + key_length;
        value_length = be32(data + record[2] - 4);
        record[3] = value_length < 0 ? -1 : value_length;
        if (max_length < value_length) {
            at = record[2] - 4;
            status = OVER_LIMIT;
            break;
        }
        if (size - record[2] < value_length)
            break;
        at = record[2] + (value_length < 0 ? 0 : value_length);
        set_record(spans, room, count++, record);
        status = FULL;
    }
    scan->start = at;
    scan->count = count;
    return status;
}

/* Calls scan_kinds if there is an array for the kinds, otherwise scan_records. */
static PyObject *scanned(Scan *scan, Array *spans, PyObject *kinds_object)
{
    Py_buffer kinds;
    int status, with_kinds = kinds_object != Py_None;
    if (with_kinds) {
        if (PyObject_GetBuffer(kinds_object, &kinds, PyBUF_WRITABLE) < 0)
            return NULL;
        if (kinds.len < spans->count / SPAN) {
            PyBuffer_Release(&kinds);
            PyErr_SetString(PyExc_ValueError, "arrays differ in length");
            return NULL;
        }
    }
    BEGIN_WORK(scan->size / RECORD)
    status = with_kinds ? scan_kinds(scan, spans, kinds.buf) : scan_records(scan, spans);
    END_WORK
    if (with_kinds)
        PyBuffer_Release(&kinds);
    return Py_BuildValue("iLL", status, (long long)scan->count, (long long)scan->start);
}

PyObject *kernel_scan(PyObject *module, PyObject *args)
{
    Py_buffer bytes;
    PyObject *object, *spans_object, *kinds_object = Py_None, *result = NULL;
    long long start, max_length;
    Array spans;
    Scan scan;
    (void)module;
    if (!PyArg_ParseTuple(args, "OLOL|O:scan", &object, &start, &spans_object, &max_length,
                          &kinds_object))
        return NULL;
    if (PyObject_GetBuffer(object, &bytes, PyBUF_SIMPLE) < 0)
        return NULL;
    if (array_open(spans_object, 1, "lq", &spans) < 0)
        goto no_spans;
    if (start < 0 || bytes.len < start) {
        PyErr_SetString(PyExc_ValueError, "start lies outside of the buffer");
        goto done;
    }
    scan = (Scan){bytes.buf, bytes.len, start, max_length, 0};
    result = scanned(&scan, &spans, kinds_object);
done:
    PyBuffer_Release(&spans.buffer);
no_spans:
    PyBuffer_Release(&bytes);
    return result;
}
