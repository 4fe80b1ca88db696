/* Arguments of the kernel's functions: arrays of 64-bit integers, and spans of one buffer.
 *
 * Rules kept in every file of the kernel:
 *   - every size test is written `remaining < need`, so that no sum can overflow;
 *   - arrays are read and written by memcpy, because a buffer promises no alignment;
 *   - a span is checked where it is used, after it was copied out of its array: another thread may
 *     change the array while the GIL is released;
 *   - no error of the format is raised here, and no Python object is touched without the GIL.
 */
#ifndef INSPECTOR_KERNEL_ARGUMENTS_H
#define INSPECTOR_KERNEL_ARGUMENTS_H

#include <patchlevel.h>
#if PY_VERSION_HEX >= 0x030B0000 /* the limited API has the buffer protocol since 3.11 */
#define Py_LIMITED_API 0x030B0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <string.h>

enum { SPAN = 4 }; /* numbers of a record */

#define OUTSIDE "a span lies outside of the buffer"

typedef struct {
    Py_buffer buffer;
    int64_t count; /* numbers in the buffer */
} Array;

/* Opens a contiguous array of 64-bit integers. Returns 0, or -1 with an exception set. */
static inline int array_open(PyObject *object, int writable, const char *formats, Array *array)
{
    int flags = PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0);
    const char *format;
    if (PyObject_GetBuffer(object, &array->buffer, flags) < 0)
        return -1;
    format = array->buffer.format ? array->buffer.format : "B";
    if (array->buffer.itemsize != 8 || strlen(format) != 1 || !strchr(formats, *format)) {
        PyBuffer_Release(&array->buffer);
        PyErr_SetString(PyExc_TypeError, "expected a contiguous array of 64-bit integers");
        return -1;
    }
    array->count = array->buffer.len / 8;
    return 0;
}

static inline int64_t array_get(const Array *array, int64_t index)
{
    int64_t value;
    memcpy(&value, (const char *)array->buffer.buf + index * 8, 8);
    return value;
}

static inline void array_set(Array *array, int64_t index, int64_t value)
{
    memcpy((char *)array->buffer.buf + index * 8, &value, 8);
}

/* Returns the sum of two numbers. It wraps on overflow, as numpy's does. */
static inline int64_t wrapped_sum(int64_t one, int64_t other)
{
    return (int64_t)((uint64_t)one + (uint64_t)other);
}

/* Adds a value to a number of the array. */
static inline void array_add(Array *array, int64_t index, int64_t value)
{
    array_set(array, index, wrapped_sum(array_get(array, index), value));
}

/* A buffer and the spans in it; most functions take these arguments. */
typedef struct {
    Py_buffer bytes;
    Array offsets, lengths;
} Spans;

typedef struct {
    const uint8_t *data;
    int64_t size;
} Span;

/* Does memcpy; an empty buffer may have a null pointer. */
static inline void copy(void *target, Span span)
{
    if (span.size)
        memcpy(target, span.data, (size_t)span.size);
}

static inline int same(Span one, Span other)
{
    return one.size == other.size && (!one.size || !memcmp(one.data, other.data, (size_t)one.size));
}

static inline void spans_close(Spans *spans)
{
    PyBuffer_Release(&spans->lengths.buffer);
    PyBuffer_Release(&spans->offsets.buffer);
    PyBuffer_Release(&spans->bytes);
}

/* Copies span `index` and checks it. Returns 0, or -1; it sets no exception, so it needs no GIL. */
static inline int span_at(const Spans *spans, int64_t index, Span *span)
{
    int64_t offset = array_get(&spans->offsets, index);
    int64_t size = array_get(&spans->lengths, index);
    int64_t length = spans->bytes.len;
    if (offset < 0 || size < 0 || length < offset || length - offset < size)
        return -1;
    span->data = (const uint8_t *)spans->bytes.buf + offset;
    span->size = size;
    return 0;
}

/* Checks all spans before any is used, so that a bad one leaves no half-done work. Returns 0, or -1
 * with an exception set. */
static inline int spans_check(const Spans *spans)
{
    Span span;
    int64_t i;
    for (i = 0; i < spans->offsets.count; i++)
        if (span_at(spans, i, &span) < 0) {
            PyErr_SetString(PyExc_ValueError, OUTSIDE);
            return -1;
        }
    return 0;
}

static inline int spans_open(PyObject *bytes, PyObject *offsets, PyObject *lengths, Spans *spans)
{
    if (PyObject_GetBuffer(bytes, &spans->bytes, PyBUF_SIMPLE) < 0)
        return -1;
    if (array_open(offsets, 0, "lq", &spans->offsets) < 0)
        goto no_offsets;
    if (array_open(lengths, 0, "lq", &spans->lengths) < 0)
        goto no_lengths;
    if (spans->offsets.count == spans->lengths.count)
        return 0;
    PyErr_SetString(PyExc_ValueError, "arrays differ in length");
    PyBuffer_Release(&spans->lengths.buffer);
no_lengths:
    PyBuffer_Release(&spans->offsets.buffer);
no_offsets:
    PyBuffer_Release(&spans->bytes);
    return -1;
}

/* Opens the array that takes one result per span. An array of another length is left empty, because
 * what closes it may still write as many numbers as it has. Returns 0, or -1 with an exception
 * set. */
static inline int out_open(PyObject *object, const char *formats, int64_t count, Array *out)
{
    if (array_open(object, 1, formats, out) < 0)
        return -1;
    if (out->count != count) {
        PyBuffer_Release(&out->buffer);
        out->count = 0;
        PyErr_SetString(PyExc_ValueError, "arrays differ in length");
        return -1;
    }
    return 0;
}

/* Returns a 32-bit number; those of a row are little endian. */
static inline uint64_t le32(const uint8_t *at)
{
    return (uint64_t)at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 | (uint64_t)at[3] << 24;
}

static inline uint64_t le64(const uint8_t *at)
{
    return le32(at) | le32(at + 4) << 32;
}

static inline uint64_t rotate(uint64_t value, int bits)
{
    return value << bits | value >> (64 - bits);
}

/* Fetches memory that will be read soon, so that many keys wait for it at the same time. A function
 * that does nothing else has to be inlined: GCC drops calls of it, because it sees no effect. */
#if defined(__GNUC__)
#define prefetch(address) __builtin_prefetch(address)
#define INLINE inline __attribute__((always_inline))
#else
#define prefetch(address) ((void)(address))
#define INLINE inline
#endif

#endif
