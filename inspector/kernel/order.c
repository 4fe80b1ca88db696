/* Compares UnsafeRows; _order.py defines the result. */
#include "functions.h"
#include "unsafe_row.h"

/* Kinds of comparison, besides the widths 1 to 8 of signed numbers. programs.py describes them. */
enum {
    BYTES = 0,
    FLOAT = 9,
    DOUBLE,
    BIG_NUMBER,
    INSTANT,
    EQUAL_BYTES,
    NOTHING,
    FIELDS,
    ELEMENTS
};

/* Results of a comparison: below 0 if the first row comes first, 0 if they are equal, above 0 if
 * the other comes first; or one of these. */
enum { UNKNOWN_ORDER = 2, NO_FIT = 3 };

/* A row, struct or array whose fields or elements are compared. */
typedef struct {
    Span data;
    int64_t nulls;  /* where its null bits start */
    int64_t values; /* where its values start */
    int64_t fixed;  /* where its variable part starts */
    int64_t budget; /* bytes of that part that no value has claimed */
} Parts;

/* Reads a span as `count` values. Returns 0 if it has no room for them. */
static int parts_open(Span data, int64_t count, int64_t nulls, int64_t width, Parts *parts)
{
    int64_t values = nulls + (count + 63) / 64 * WORD, fixed = values + count * width;
    *parts = (Parts){data, nulls, values, fixed, data.size - fixed};
    return fixed <= data.size;
}

static int is_null(const Parts *parts, int64_t i)
{
    return parts->data.data[parts->nulls + (i >> 3)] >> (i & 7) & 1;
}

static const uint8_t *value_at(const Parts *parts, int64_t i, int64_t width)
{
    return parts->data.data + parts->values + i * width;
}

/* Returns the bits of an element that may be narrow. */
static uint64_t element_bits(const Parts *parts, int64_t i, int64_t width)
{
    const uint8_t *at = value_at(parts, i, width);
    uint64_t bits = 0;
    while (width--)
        bits = bits << 8 | at[width];
    return bits;
}

static int part_of(Parts *parts, uint64_t slot, Span *part)
{
    return region_of(parts->data, slot, parts->fixed, &parts->budget, part);
}

static int64_t signed_of(uint64_t bits, int64_t width)
{
    uint64_t sign = (uint64_t)1 << (8 * width - 1);
    return (int64_t)(((bits & (sign * 2 - 1)) ^ sign) - sign);
}

static int compare_numbers(int64_t one, int64_t other)
{
    return (other < one) - (one < other);
}

/* Compares two numbers. NaN equals NaN and comes last; zeros of both signs are equal. */
static int compare_reals(double one, double other)
{
    if (one != one || other != other)
        return (one != one) - (other != other);
    return (other < one) - (one < other);
}

static double real_of(uint64_t bits, int64_t kind)
{
    uint32_t half = (uint32_t)bits;
    double wide;
    float narrow;
    if (kind == DOUBLE) {
        memcpy(&wide, &bits, sizeof wide);
        return wide;
    }
    memcpy(&narrow, &half, sizeof narrow);
    return narrow;
}

/* Compares unsigned bytes, as memcmp does; a prefix comes before what it is a prefix of. */
static int compare_bytes(Span one, Span other)
{
    int64_t size = other.size < one.size ? other.size : one.size;
    int order = size ? memcmp(one.data, other.data, (size_t)size) : 0;
    return order ? (order < 0 ? -1 : 1) : compare_numbers(one.size, other.size);
}

enum { BIG = 16, NANOS_AT = 8 };

/* Writes a big-endian signed number of up to 16 bytes as unsigned bytes in the same order. Returns
 * 0 for another size. */
static int big_number(Span part, unsigned char *out)
{
    if (part.size < 1 || BIG < part.size)
        return 0;
    memset(out, part.data[0] >> 7 ? 0xff : 0, BIG);
    memcpy(out + BIG - part.size, part.data, (size_t)part.size);
    out[0] ^= 0x80;
    return 1;
}

static int compare_big_numbers(Span one, Span other)
{
    unsigned char first[BIG], second[BIG];
    if (!big_number(one, first) || !big_number(other, second))
        return NO_FIT;
    return compare_bytes((Span){first, BIG}, (Span){second, BIG});
}

/* Compares microseconds, then the nanoseconds within them. */
static int compare_instants(Span one, Span other)
{
    int order;
    if (one.size != BIG || other.size != BIG)
        return NO_FIT;
    order = compare_numbers((int64_t)le64(one.data), (int64_t)le64(other.data));
    if (order)
        return order;
    return compare_numbers(signed_of(le64(one.data + NANOS_AT), 2),
                           signed_of(le64(other.data + NANOS_AT), 2));
}

/* Returns the place in a program after the field at `at`. */
static int64_t behind(int64_t kind, const Array *program, int64_t at)
{
    int64_t length;
    if (kind != FIELDS && kind != ELEMENTS)
        return at + 1;
    length = number_at(program, at + 1);
    return length < 0 || program->count < length ? program->count : at + 2 + length;
}

static int compare_structs(Span one, Span other, const Array *program, int64_t at, int depth);
static int compare_arrays(Span one, Span other, const Array *program, int64_t at, int depth);

/* Compares variable parts that are not plain bytes; `at` is the place after the kind. */
static int compare_spans(int64_t kind, Span one, Span other, const Array *program, int64_t at,
                         int depth)
{
    switch (kind) {
    case EQUAL_BYTES:
        return compare_bytes(one, other) ? UNKNOWN_ORDER : 0;
    case BIG_NUMBER:
        return compare_big_numbers(one, other);
    case INSTANT:
        return compare_instants(one, other);
    case FIELDS:
        return compare_structs(one, other, program, at + 1, depth + 1);
    default:
        return compare_arrays(one, other, program, at + 1, depth + 1);
    }
}

/* One of two values that are compared: its row, its null bit and its slot. */
typedef struct {
    Parts *parts;
    int null;
    uint64_t bits;
} Value;

/* Compares the same field or element of two rows, structs or arrays. */
static inline int compare_values(Value one, Value other, int64_t kind, const Array *program,
                                 int64_t at, int depth)
{
    Span first, second;
    if (kind == NOTHING)
        return 0;
    if (kind < 0 || ELEMENTS < kind)
        return UNKNOWN_ORDER;
    if (one.null || other.null)
        return other.null - one.null;
    if (1 <= kind && kind <= WORD)
        return compare_numbers(signed_of(one.bits, kind), signed_of(other.bits, kind));
    if (kind == FLOAT || kind == DOUBLE)
        return compare_reals(real_of(one.bits, kind), real_of(other.bits, kind));
    if (!part_of(one.parts, one.bits, &first) || !part_of(other.parts, other.bits, &second))
        return NO_FIT;
    if (kind == BYTES)
        return compare_bytes(first, second);
    return compare_spans(kind, first, second, program, at + 1, depth);
}

static inline Value field_at(Parts *parts, int64_t i)
{
    return (Value){parts, is_null(parts, i), le64(value_at(parts, i, WORD))};
}

static inline Value element_at(Parts *parts, int64_t i, int64_t width)
{
    return (Value){parts, is_null(parts, i), element_bits(parts, i, width)};
}

/* Compares a number of fields, by the program at `at`. */
static inline int compare_fields(Parts *one, Parts *other, int64_t fields, const Array *program,
                                 int64_t at, int depth)
{
    int order = 0;
    int64_t i;
    for (i = 0; i < fields && !order; i++) {
        int64_t kind = number_at(program, at);
        order = compare_values(field_at(one, i), field_at(other, i), kind, program, at, depth);
        at = behind(kind, program, at);
    }
    return order;
}

/* Compares rows or structs field by field; `at` is the place in the program after their number. */
static inline int compare_rows(Span one, Span other, int64_t fields, const Array *program,
                               int64_t at, int depth)
{
    Parts first, second;
    if (fields < 0 || INT32_MAX < fields || DEEPEST < depth)
        return UNKNOWN_ORDER;
    if (one.size % WORD || other.size % WORD || !parts_open(one, fields, 0, WORD, &first) ||
        !parts_open(other, fields, 0, WORD, &second))
        return NO_FIT;
    return compare_fields(&first, &second, fields, program, at, depth);
}

static int compare_structs(Span one, Span other, const Array *program, int64_t at, int depth)
{
    return compare_rows(one, other, number_at(program, at), program, at + 1, depth);
}

/* Reads a span as an array of values of a width. Returns 0 if it has no room for them. */
static int elements_open(Span data, int64_t width, Parts *parts, int64_t *count)
{
    if (data.size < WORD)
        return 0;
    *count = (int64_t)le64(data.data);
    return 0 <= *count && *count <= data.size && parts_open(data, *count, WORD, width, parts);
}

/* Returns the bytes of an array's element. */
static int64_t element_width(int64_t kind)
{
    return 1 <= kind && kind <= WORD ? kind : kind == FLOAT ? 4 : WORD;
}

/* Compares arrays element by element; a prefix comes before what it is a prefix of. */
static int compare_arrays(Span one, Span other, const Array *program, int64_t at, int depth)
{
    int64_t kind = number_at(program, at), width = element_width(kind), ones, others, i;
    Parts first, second;
    int order = 0;
    if (DEEPEST < depth)
        return UNKNOWN_ORDER;
    if (!elements_open(one, width, &first, &ones) || !elements_open(other, width, &second, &others))
        return NO_FIT;
    for (i = 0; i < ones && i < others && !order; i++)
        order = compare_values(element_at(&first, i, width), element_at(&second, i, width), kind,
                               program, at, depth);
    return order ? order : compare_numbers(ones, others);
}

enum { NOT_COMPARED = -1, SPAN_OUTSIDE = -2 };

/* Returns 1 if a span from number `i` on is outside the buffer; one such span makes the call
 * fail. */
static int spans_outside(const Spans *spans, int64_t i)
{
    Span span;
    for (; i < spans->offsets.count; i++)
        if (span_at(spans, i, &span) < 0)
            return 1;
    return 0;
}

static int64_t descents(const Spans *spans, const Array *program, char *below)
{
    int64_t fields = number_at(program, 0), i, found = 0;
    Span row, before = {NULL, 0};
    for (i = 0; i < spans->offsets.count; i++, before = row) {
        int order = 0;
        if (span_at(spans, i, &row) < 0)
            return SPAN_OUTSIDE;
        if (i)
            order = compare_rows(before, row, fields, program, 1, 0);
        if (order == NO_FIT)
            return spans_outside(spans, i + 1) ? SPAN_OUTSIDE : NOT_COMPARED;
        below[i] = order == 1;
        found += below[i];
    }
    return found;
}

PyObject *kernel_descents(PyObject *module, PyObject *args)
{
    PyObject *bytes, *offsets, *lengths, *program_object, *below_object, *result = NULL;
    Spans spans;
    Array program;
    Py_buffer below;
    int64_t found = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOOO:descents", &bytes, &offsets, &lengths, &program_object,
                          &below_object))
        return NULL;
    if (spans_open(bytes, offsets, lengths, &spans) < 0)
        return NULL;
    if (array_open(program_object, 0, "lq", &program) < 0)
        goto no_program;
    if (PyObject_GetBuffer(below_object, &below, PyBUF_WRITABLE) < 0)
        goto no_below;
    if (below.len != spans.offsets.count) {
        PyErr_SetString(PyExc_ValueError, "arrays differ in length");
        goto done;
    }
    BEGIN_WORK(spans.offsets.count)
    found = descents(&spans, &program, below.buf);
    END_WORK
    if (found == SPAN_OUTSIDE)
        PyErr_SetString(PyExc_ValueError, OUTSIDE);
    else
        result = PyLong_FromLongLong(found);
done:
    PyBuffer_Release(&below);
no_below:
    PyBuffer_Release(&program.buffer);
no_program:
    spans_close(&spans);
    return result;
}
