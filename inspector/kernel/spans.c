/* Hashes and concatenates spans; _spans.py defines the results. */
#include "functions.h"
#include "xxh64.h"

enum { SLOT = 8 }; /* bytes of a row that a hash may leave out */

static int hash_spans(const Spans *spans, int64_t skip, Array *out)
{
    int64_t i;
    for (i = 0; i < out->count; i++) {
        Span span;
        uint64_t hash;
        if (span_at(spans, i, &span) < 0)
            return -1;
        if (skip >= 0 && span.size >= SLOT && span.size - SLOT >= skip) {
            hash = xxh64(span.data, skip, 0);
            hash = xxh64(span.data + skip + SLOT, span.size - SLOT - skip, hash);
        } else {
            hash = xxh64(span.data, span.size, 0);
        }
        array_set(out, i, (int64_t)hash);
    }
    return 0;
}

PyObject *kernel_hash64(PyObject *module, PyObject *args)
{
    PyObject *bytes, *offsets, *lengths, *out_object, *result = NULL;
    long long skip;
    Spans spans;
    Array out;
    int status;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOLO:hash64", &bytes, &offsets, &lengths, &skip, &out_object))
        return NULL;
    if (spans_open(bytes, offsets, lengths, &spans) < 0)
        return NULL;
    if (out_open(out_object, "LQ", spans.offsets.count, &out) < 0)
        goto no_out;
    BEGIN_WORK(spans.offsets.count)
    status = hash_spans(&spans, skip, &out);
    END_WORK
    if (status < 0)
        PyErr_SetString(PyExc_ValueError, OUTSIDE);
    else
        result = Py_NewRef(Py_None);
    PyBuffer_Release(&out.buffer);
no_out:
    spans_close(&spans);
    return result;
}

/* Returns the sum of all lengths; -1 if it is more than an object can hold. */
static int64_t spans_total(const Spans *spans)
{
    int64_t i, total = 0;
    for (i = 0; i < spans->lengths.count; i++) {
        int64_t size = array_get(&spans->lengths, i);
        if (size < 0 || PY_SSIZE_T_MAX - 64 - total < size)
            return -1;
        total += size;
    }
    return total;
}

static int copy_spans(const Spans *spans, char *target, int64_t room)
{
    int64_t i;
    for (i = 0; i < spans->offsets.count; i++) {
        Span span;
        if (span_at(spans, i, &span) < 0 || room < span.size)
            return -1;
        copy(target, span);
        target += span.size;
        room -= span.size;
    }
    return room == 0 ? 0 : -1;
}

PyObject *kernel_gather(PyObject *module, PyObject *args)
{
    PyObject *bytes, *offsets, *lengths, *result = NULL;
    Spans spans;
    int64_t total;
    char *target;
    int status;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOO:gather", &bytes, &offsets, &lengths))
        return NULL;
    if (spans_open(bytes, offsets, lengths, &spans) < 0)
        return NULL;
    if (spans_check(&spans) < 0) {
        spans_close(&spans);
        return NULL;
    }
    total = spans_total(&spans);
    if (total < 0)
        PyErr_NoMemory();
    else
        result = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)total);
    if (result) {
        target = PyBytes_AsString(result);
        BEGIN_WORK(spans.offsets.count)
        status = copy_spans(&spans, target, total);
        END_WORK
        if (status < 0) {
            PyErr_SetString(PyExc_ValueError, OUTSIDE);
            Py_CLEAR(result);
        }
    }
    spans_close(&spans);
    return result;
}
