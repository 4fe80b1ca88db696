/* What the harnesses of the kernel share. Each of them includes one file of the kernel, calls its
 * functions below the arguments of Python, and is a program of libFuzzer: see tests/fuzz/run.py.
 *
 * Every array is a piece of memory of its own, of exactly the size that the kernel is told, so that
 * the address sanitizer sees the first byte read or written outside of it. */
#ifndef INSPECTOR_FUZZ_HARNESS_H
#define INSPECTOR_FUZZ_HARNESS_H

#include "arguments.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What has to be true of every input. */
#define ALWAYS(truth)                                                                              \
    do {                                                                                           \
        if (!(truth)) {                                                                            \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #truth);                  \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* The bytes of an input that are still to be used; behind its end there are zeros. */
typedef struct {
    const uint8_t *data;
    size_t size;
} Input;

static inline uint8_t take_byte(Input *input)
{
    if (!input->size)
        return 0;
    input->size--;
    return *input->data++;
}

/* A number from 0 to one less than `end`. */
static inline int64_t take_below(Input *input, int64_t end)
{
    return take_byte(input) % end;
}

static inline void *exact_memory(size_t size)
{
    void *memory = malloc(size);
    ALWAYS(memory);
    return memory;
}

/* Some bytes, as many as asked for. */
static inline uint8_t *take_bytes(Input *input, size_t size)
{
    uint8_t *bytes = exact_memory(size);
    size_t i;
    for (i = 0; i < size; i++)
        bytes[i] = take_byte(input);
    return bytes;
}

/* A number: mostly a small one, sometimes any. */
static inline int64_t take_number(Input *input)
{
    uint8_t byte = take_byte(input);
    uint64_t number = 0;
    int i;
    if (byte < 0xf0)
        return byte < 0xe0 ? byte : (int64_t)byte - 0xf0;
    for (i = 0; i < 8; i++)
        number = number << 8 | take_byte(input);
    return (int64_t)number;
}

static inline Array new_array(int64_t count)
{
    Array array;
    memset(&array, 0, sizeof array);
    array.buffer.len = count * 8;
    array.buffer.buf = exact_memory((size_t)count * 8);
    memset(array.buffer.buf, 0, (size_t)count * 8);
    array.count = count;
    return array;
}

static inline Array take_numbers(Input *input, int64_t count)
{
    Array array = new_array(count);
    int64_t i;
    for (i = 0; i < count; i++)
        array_set(&array, i, take_number(input));
    return array;
}

static inline void free_array(Array *array)
{
    free(array->buffer.buf);
}

static inline Py_buffer new_buffer(size_t size)
{
    Py_buffer buffer;
    memset(&buffer, 0, sizeof buffer);
    buffer.len = (Py_ssize_t)size;
    buffer.buf = exact_memory(size);
    memset(buffer.buf, 0, size);
    return buffer;
}

/* The rest of an input, cut into so many spans; one of them may lie anywhere. */
static inline Spans take_spans(Input *input, int64_t count)
{
    Spans spans;
    int64_t i, at = 0, wild = take_byte(input);
    memset(&spans, 0, sizeof spans);
    spans.offsets = new_array(count);
    spans.lengths = new_array(count);
    for (i = 0; i < count; i++) {
        int64_t size = take_byte(input);
        array_set(&spans.offsets, i, at);
        array_set(&spans.lengths, i, size);
        at += size;
    }
    if (wild < count) {
        array_set(&spans.offsets, wild, take_number(input));
        array_set(&spans.lengths, wild, take_number(input));
    }
    spans.bytes = new_buffer((size_t)at);
    for (i = 0; i < at; i++)
        ((uint8_t *)spans.bytes.buf)[i] = take_byte(input);
    return spans;
}

static inline void free_spans(Spans *spans)
{
    free_array(&spans->offsets);
    free_array(&spans->lengths);
    free(spans->bytes.buf);
}

#endif
