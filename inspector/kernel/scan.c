/* Finds the records of a delta or snapshot; _scan.py defines it. */
#include "functions.h"

static int64_t be32(const uint8_t *at)
{
    uint32_t value = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    return (int32_t)value;
}

typedef struct {
    const uint8_t *data;
    int64_t size;
    int64_t start;      /* in: the first record; out: the first byte not consumed */
    int64_t max_length; /* of a key or value */
    int64_t count;      /* records found */
} Scan;

/* Finds records from `start` on; moves it behind the last whole one, but to the value length of one
 * whose value is over the limit. */
static int scan_records(Scan *scan, Array *spans)
{
    const uint8_t *data = scan->data;
    int64_t at = scan->start, size = scan->size, max_length = scan->max_length;
    int64_t room = spans->count / SPAN, count = 0, key_length, value_length;
    char *target = spans->buffer.buf;
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
        memcpy(target + count * (int64_t)sizeof record, record, sizeof record);
        count++;
        status = FULL;
    }
    scan->start = at;
    scan->count = count;
    return status;
}

PyObject *kernel_scan(PyObject *module, PyObject *args)
{
    Py_buffer bytes;
    PyObject *object, *spans_object, *result = NULL;
    long long start, max_length;
    Array spans;
    Scan scan;
    int status;
    (void)module;
    if (!PyArg_ParseTuple(args, "OLOL:scan", &object, &start, &spans_object, &max_length))
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
    Py_BEGIN_ALLOW_THREADS
    status = scan_records(&scan, &spans);
    Py_END_ALLOW_THREADS
    result = Py_BuildValue("iLL", status, (long long)scan.count, (long long)scan.start);
done:
    PyBuffer_Release(&spans.buffer);
no_spans:
    PyBuffer_Release(&bytes);
    return result;
}
