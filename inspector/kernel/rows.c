/* Checks UnsafeRows against a schema, and reads their slots; _rows.py defines the results. */
#include "functions.h"
#include "unsafe_row.h"

/* Conditions for a field of a row; operands follow in the program. programs.py describes them. */
enum { ANY, UNUSED, RANGE, REGION, STRUCT, DOUBT };

/* Returns how many operands a kind of field has; `at` is the place of the first. */
static int64_t operands(int64_t kind, const Array *program, int64_t at)
{
    int64_t length;
    switch (kind) {
    case UNUSED:
        return 1;
    case RANGE:
        return 2;
    case STRUCT:
        length = number_at(program, at);
        return length < 0 || program->count - 1 < length ? program->count : 1 + length;
    default:
        return 0;
    }
}

static int row_fits(Span row, const Array *program, int64_t at, int depth);

/* Checks a field that is not null by its operands. Returns 0 if it does not fit. */
static int field_fits(int64_t kind, Span row, uint64_t slot, int64_t fixed, int64_t *budget,
                      const Array *program, int64_t at, int depth)
{
    Span region;
    int64_t bits;
    switch (kind) {
    case UNUSED: /* bits above the width of a narrow value */
        bits = number_at(program, at);
        return bits < 0 || 63 < bits || slot >> bits == 0;
    case RANGE:
        return number_at(program, at) <= (int64_t)slot &&
               (int64_t)slot <= number_at(program, at + 1);
    case REGION:
        return region_of(row, slot, fixed, budget, &region);
    case STRUCT:
        return region_of(row, slot, fixed, budget, &region) &&
               row_fits(region, program, at + 1, depth + 1);
    default:
        return 0;
    }
}

/* Checks a row or struct by the program at `at`. Returns 0 if it does not fit. */
static int row_fits(Span row, const Array *program, int64_t at, int depth)
{
    int64_t fields = number_at(program, at++), bits, fixed, budget, i;
    if (fields < 0 || INT32_MAX < fields || DEEPEST < depth)
        return 0;
    bits = (fields + 63) / 64 * WORD;
    fixed = bits + fields * WORD;
    if (row.size < fixed || row.size % WORD)
        return 0;
    budget = row.size - fixed;
    for (i = 0; i < fields; i++) {
        int64_t kind = number_at(program, at++);
        if (kind == ANY)
            continue;
        if (!(row.data[i >> 3] >> (i & 7) & 1) &&
            !field_fits(kind, row, le64(row.data + bits + i * WORD), fixed, &budget, program, at,
                        depth))
            return 0;
        at += operands(kind, program, at);
    }
    return 1;
}

static int64_t check_rows(const Spans *spans, const Array *program, char *doubts)
{
    int64_t i, found = 0;
    for (i = 0; i < spans->offsets.count; i++) {
        Span row;
        if (span_at(spans, i, &row) < 0)
            return -1;
        doubts[i] = !row_fits(row, program, 0, 0);
        found += doubts[i];
    }
    return found;
}

PyObject *kernel_check_rows(PyObject *module, PyObject *args)
{
    PyObject *bytes, *offsets, *lengths, *program_object, *out_object, *result = NULL;
    Spans spans;
    Array program;
    Py_buffer out;
    int64_t found = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOOO:check_rows", &bytes, &offsets, &lengths, &program_object,
                          &out_object))
        return NULL;
    if (spans_open(bytes, offsets, lengths, &spans) < 0)
        return NULL;
    if (array_open(program_object, 0, "lq", &program) < 0)
        goto no_program;
    if (PyObject_GetBuffer(out_object, &out, PyBUF_WRITABLE) < 0)
        goto no_out;
    if (out.len != spans.offsets.count) {
        PyErr_SetString(PyExc_ValueError, "arrays differ in length");
        goto done;
    }
    BEGIN_WORK(spans.offsets.count)
    found = check_rows(&spans, &program, out.buf);
    END_WORK
    if (found < 0)
        PyErr_SetString(PyExc_ValueError, OUTSIDE);
    else
        result = PyLong_FromLongLong(found);
done:
    PyBuffer_Release(&out);
no_out:
    PyBuffer_Release(&program.buffer);
no_program:
    spans_close(&spans);
    return result;
}

/* Follows a path of (fields, ordinal) pairs through nested structs to a slot. Returns 1 if there is
 * a value; 0 if one is null or the row does not fit. */
static int slot_at(Span row, const Array *path, uint64_t *slot)
{
    int64_t i;
    for (i = 0; i + 1 < path->count; i += 2) {
        int64_t fields = array_get(path, i), ordinal = array_get(path, i + 1), bits, fixed, budget;
        if (fields < 0 || INT32_MAX < fields || ordinal < 0 || fields <= ordinal)
            return 0;
        bits = (fields + 63) / 64 * WORD;
        fixed = bits + fields * WORD;
        if (row.size < fixed || row.size % WORD || row.data[ordinal >> 3] >> (ordinal & 7) & 1)
            return 0;
        *slot = le64(row.data + bits + ordinal * WORD);
        budget = row.size;
        if (i + 3 < path->count && !region_of(row, *slot, fixed, &budget, &row))
            return 0;
    }
    return path->count > 1;
}

static int read_slots(const Spans *spans, const Array *path, Array *values, char *valid)
{
    int64_t i;
    for (i = 0; i < spans->offsets.count; i++) {
        uint64_t slot = 0;
        Span row;
        if (span_at(spans, i, &row) < 0)
            return -1;
        valid[i] = (char)slot_at(row, path, &slot);
        array_set(values, i, valid[i] ? (int64_t)slot : 0);
    }
    return 0;
}

/* Opens the arguments of a function that gives a number and a flag for each row, and calls `fill`.
 * Returns None; NULL with an exception set. */
PyObject *numbers_of_rows(PyObject *args, const char *format, RowNumbers fill)
{
    PyObject *bytes, *offsets, *lengths, *program_object, *values_object, *valid_object;
    PyObject *result = NULL;
    Spans spans;
    Array program, values;
    Py_buffer valid;
    int status;
    if (!PyArg_ParseTuple(args, format, &bytes, &offsets, &lengths, &program_object,
                          &values_object, &valid_object))
        return NULL;
    if (spans_open(bytes, offsets, lengths, &spans) < 0)
        return NULL;
    if (array_open(program_object, 0, "lq", &program) < 0)
        goto no_program;
    if (out_open(values_object, "lq", spans.offsets.count, &values) < 0)
        goto no_values;
    if (PyObject_GetBuffer(valid_object, &valid, PyBUF_WRITABLE) < 0)
        goto no_valid;
    if (valid.len != spans.offsets.count) {
        PyErr_SetString(PyExc_ValueError, "arrays differ in length");
        goto done;
    }
    BEGIN_WORK(spans.offsets.count)
    status = fill(&spans, &program, &values, valid.buf);
    END_WORK
    if (status < 0)
        PyErr_SetString(PyExc_ValueError, OUTSIDE);
    else
        result = Py_NewRef(Py_None);
done:
    PyBuffer_Release(&valid);
no_valid:
    PyBuffer_Release(&values.buffer);
no_values:
    PyBuffer_Release(&program.buffer);
no_program:
    spans_close(&spans);
    return result;
}

PyObject *kernel_read_slots(PyObject *module, PyObject *args)
{
    (void)module;
    return numbers_of_rows(args, "OOOOOO:read_slots", read_slots);
}
