/* Finds the handles in the index of RocksDB's table files; _sst.py defines the result. */
#include "functions.h"

static const int64_t MOST = (int64_t)1 << 61; /* of an offset or size, so that no sum overflows */

/* Takes an integer of up to 64 bits from a span. Returns 0, or -1 if there is none. */
static int take_varint(Span *from, uint64_t *value)
{
    int i;
    uint64_t found = 0;
    for (i = 0; i < 10 && i < from->size; i++) {
        uint8_t byte = from->data[i];
        if (i == 9 && byte > 1)
            return -1;
        found |= (uint64_t)(byte & 127) << 7 * i;
        if (byte < 128) {
            from->data += i + 1;
            from->size -= i + 1;
            *value = found;
            return 0;
        }
    }
    return -1;
}

/* Takes an integer that is a length or a part of a handle. Returns it, or -1 if there is none. */
static int64_t take_number(Span *from)
{
    uint64_t value;
    if (take_varint(from, &value) < 0 || value > (uint64_t)MOST)
        return -1;
    return (int64_t)value;
}

static int skip(Span *from, int64_t length)
{
    if (length < 0 || from->size < length)
        return -1;
    from->data += length;
    from->size -= length;
    return 0;
}

typedef struct {
    int64_t offset, size, key; /* of the previous entry: its handle, and the bytes of its key */
} Before;

/* Reads the handle of a later entry, which is only the difference in size. Returns 0, or -1. */
static int next_handle(Span *value, Before *before, int64_t trailer)
{
    uint64_t zigzag;
    int64_t more;
    if (take_varint(value, &zigzag) < 0)
        return -1;
    more = (int64_t)(zigzag >> 1) ^ -(int64_t)(zigzag & 1);
    before->offset += before->size + trailer;
    if (more > MOST || more < -before->size || MOST - before->size < more)
        return -1;
    before->size += more;
    return before->offset > MOST ? -1 : 0;
}

static int whole_handle(Span *value, Before *before)
{
    before->offset = take_number(value);
    if (before->offset < 0)
        return -1;
    before->size = take_number(value);
    return before->size < 0 ? -1 : 0;
}

/* Reads an entry and takes it from the span. Returns 0, or -1 if its lengths are impossible. */
static int take_index_entry(Span *from, Before *before, int delta, int first_keys, int64_t trailer)
{
    int64_t shared = take_number(from), rest = shared < 0 ? -1 : take_number(from), length = 0;
    Span value;
    if (rest < 0 || before->key < shared)
        return -1;
    if (!delta) {
        length = take_number(from);
        if (length < 0)
            return -1;
    }
    if (skip(from, rest) < 0)
        return -1;
    before->key = shared + rest;
    value = (Span){from->data, delta ? from->size : length};
    if (from->size < value.size)
        return -1;
    if (delta && shared ? next_handle(&value, before, trailer) < 0 : whole_handle(&value, before) < 0)
        return -1;
    if (first_keys && skip(&value, take_number(&value)) < 0)
        return -1;
    return skip(from, delta ? from->size - value.size : length);
}

/* Writes handles while there are some and room for them. Returns how many; the index is then empty
 * if these were all. */
static int64_t take_handles(Span *left, int delta, int first_keys, int64_t trailer, Array *offsets,
                            Array *sizes)
{
    Before before = {0, 0, 0};
    int64_t count = 0;
    while (left->size && count < offsets->count) {
        Span rest = *left;
        if (take_index_entry(&rest, &before, delta, first_keys, trailer) < 0)
            break;
        *left = rest;
        array_set(offsets, count, before.offset);
        array_set(sizes, count, before.size);
        count++;
    }
    return count;
}

PyObject *kernel_index_handles(PyObject *module, PyObject *args)
{
    Py_buffer bytes;
    PyObject *object, *offsets_object, *sizes_object, *result = NULL;
    Array offsets, sizes;
    long long trailer;
    int delta, first_keys;
    int64_t count;
    Span left;
    (void)module;
    if (!PyArg_ParseTuple(args, "OppLOO:index_handles", &object, &delta, &first_keys, &trailer,
                          &offsets_object, &sizes_object))
        return NULL;
    if (PyObject_GetBuffer(object, &bytes, PyBUF_SIMPLE) < 0)
        return NULL;
    if (array_open(offsets_object, 1, "lq", &offsets) < 0)
        goto no_offsets;
    if (array_open(sizes_object, 1, "lq", &sizes) < 0)
        goto no_sizes;
    if (trailer < 0 || trailer > 64) {
        PyErr_SetString(PyExc_ValueError, "the trailer lies outside of 0 to 64 bytes");
        goto done;
    }
    if (offsets.count != sizes.count) {
        PyErr_SetString(PyExc_ValueError, "arrays differ in length");
        goto done;
    }
    left = (Span){bytes.buf, bytes.len};
    Py_BEGIN_ALLOW_THREADS
    count = take_handles(&left, delta, first_keys, trailer, &offsets, &sizes);
    Py_END_ALLOW_THREADS
    result = Py_BuildValue("LO", (long long)count, left.size ? Py_False : Py_True);
done:
    PyBuffer_Release(&sizes.buffer);
no_sizes:
    PyBuffer_Release(&offsets.buffer);
no_offsets:
    PyBuffer_Release(&bytes);
    return result;
}
