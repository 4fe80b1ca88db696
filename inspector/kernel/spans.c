/* Hashes and concatenates spans; _spans.py defines it. */
#include "functions.h"

enum { SLOT = 8 }; /* bytes of a row that may be left out of its hash */

static const uint64_t P1 = 0x9E3779B185EBCA87ULL, P2 = 0xC2B2AE3D27D4EB4FULL,
                      P3 = 0x165667B19E3779F9ULL, P4 = 0x85EBCA77C2B2AE63ULL,
                      P5 = 0x27D4EB2F165667C5ULL;

static uint64_t xxh_round(uint64_t lane, uint64_t input)
{
    return rotate(lane + input * P2, 31) * P1;
}

static uint64_t xxh_stripes(const uint8_t **data, int64_t *size, uint64_t seed)
{
    uint64_t lane[4] = {seed + P1 + P2, seed + P2, seed, seed - P1}, hash;
    int i;
    for (; *size >= 32; *data += 32, *size -= 32)
        for (i = 0; i < 4; i++)
            lane[i] = xxh_round(lane[i], le64(*data + 8 * i));
    hash = rotate(lane[0], 1) + rotate(lane[1], 7) + rotate(lane[2], 12) + rotate(lane[3], 18);
    for (i = 0; i < 4; i++)
        hash = (hash ^ xxh_round(0, lane[i])) * P1 + P4;
    return hash;
}

static uint64_t xxh64(const uint8_t *data, int64_t size, uint64_t seed)
{
    uint64_t total = (uint64_t)size;
    uint64_t hash = size < 32 ? seed + P5 : xxh_stripes(&data, &size, seed);
    hash += total;
    for (; size >= 8; data += 8, size -= 8)
        hash = rotate(hash ^ xxh_round(0, le64(data)), 27) * P1 + P4;
    if (size >= 4) {
        hash = rotate(hash ^ (le32(data) * P1), 23) * P2 + P3;
        data += 4;
        size -= 4;
    }
    for (; size > 0; data++, size--)
        hash = rotate(hash ^ (*data * P5), 11) * P1;
    hash = (hash ^ hash >> 33) * P2;
    hash = (hash ^ hash >> 29) * P3;
    return hash ^ hash >> 32;
}

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
    Py_BEGIN_ALLOW_THREADS
    status = hash_spans(&spans, skip, &out);
    Py_END_ALLOW_THREADS
    if (status < 0)
        PyErr_SetString(PyExc_ValueError, OUTSIDE);
    else
        result = Py_NewRef(Py_None);
    PyBuffer_Release(&out.buffer);
no_out:
    spans_close(&spans);
    return result;
}

/* The sum of all lengths, or -1 if it is more than one object can hold. */
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
        Py_BEGIN_ALLOW_THREADS
        status = copy_spans(&spans, target, total);
        Py_END_ALLOW_THREADS
        if (status < 0) {
            PyErr_SetString(PyExc_ValueError, OUTSIDE);
            Py_CLEAR(result);
        }
    }
    spans_close(&spans);
    return result;
}
