/* Decompresses, verifies and scans many small deltas at once, without the GIL.
 *
 * decode/lz4block.py and decode/records.py define a delta and its errors. This takes the leading
 * deltas that are right in every respect. It leaves the first other one, or one whose records have
 * no room, to those modules.
 */
#include "functions.h"

enum { WORD = 8 };

typedef struct {
    Span *files;
    int64_t count;
    int64_t most_block;  /* most bytes of a block */
    int64_t most_record; /* most bytes of a key or value */
    Array spans;
    Array ends; /* two rows: for each file, the records and the raw bytes up to its end */
} Deltas;

/* Returns 1 if all values are whole words, so that no bytes after them are left out. */
static int are_whole_words(const Array *spans, int64_t first, int64_t last)
{
    int64_t i, lengths = 3 * (spans->count / SPAN);
    for (i = first; i < last; i++) {
        int64_t length = array_get(spans, lengths + i);
        if (length != -1 && length % WORD)
            return 0;
    }
    return 1;
}

/* Reads the files one after the other into `raw`. Returns how many are right. */
static int64_t read_all(Deltas *deltas, uint8_t *raw, const int64_t *sizes)
{
    int64_t i, done = 0, records = 0;
    for (i = 0; i < deltas->count; i++) {
        Span file = deltas->files[i];
        int64_t consumed, end = done + sizes[i];
        Scan scan = {raw, end, done, deltas->most_record, records};
        if (lz4_blocks_unpacked(file.data, file.size, deltas->most_block, raw + done, sizes[i],
                                &consumed) != sizes[i] ||
            !lz4_is_end(file.data + consumed, file.size - consumed) ||
            scan_records(&scan, &deltas->spans) != END || scan.start != end ||
            !are_whole_words(&deltas->spans, records, scan.count))
            break;
        done = end;
        records = scan.count;
        array_set(&deltas->ends, i, records);
        array_set(&deltas->ends, deltas->ends.count / 2 + i, done);
    }
    return i;
}

/* Fills in the raw bytes of each file while their sum is at most `most`; the files after these are
 * left out. Returns the sum. */
static int64_t raw_sizes(Deltas *deltas, int64_t most, int64_t *sizes)
{
    int64_t i, total = 0;
    for (i = 0; i < deltas->count; i++) {
        Span file = deltas->files[i];
        sizes[i] = lz4_raw_size(file.data, file.size, deltas->most_block, most);
        if (!sizes[i] || most - total < sizes[i])
            break;
        total += sizes[i];
    }
    deltas->count = i;
    return total;
}

/* Returns where the bytes of each file are, which the caller frees; NULL with an exception set. */
static Span *spans_of(PyObject *files, int64_t count)
{
    Span *spans = PyMem_Malloc((size_t)(count ? count : 1) * sizeof *spans);
    int64_t i;
    if (!spans)
        return (Span *)PyErr_NoMemory();
    for (i = 0; i < count; i++) {
        char *data;
        Py_ssize_t size;
        if (PyBytes_AsStringAndSize(PyTuple_GetItem(files, (Py_ssize_t)i), &data, &size) < 0) {
            PyMem_Free(spans);
            return NULL;
        }
        spans[i] = (Span){(const uint8_t *)data, size};
    }
    return spans;
}

static PyObject *deltas_read(Deltas *deltas, int64_t most, int64_t *sizes)
{
    int64_t total = raw_sizes(deltas, most, sizes), right;
    PyObject *raw = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)total);
    if (!raw)
        return NULL;
    BEGIN_WORK(total / RECORD)
    right = read_all(deltas, (uint8_t *)PyBytes_AsString(raw), sizes);
    END_WORK
    return Py_BuildValue("NL", raw, (long long)right);
}

PyObject *kernel_small_deltas(PyObject *module, PyObject *args)
{
    PyObject *files, *spans, *ends, *result = NULL;
    long long most, most_block, most_record;
    int64_t *sizes = NULL;
    Deltas deltas;
    (void)module;
    memset(&deltas, 0, sizeof deltas);
    if (!PyArg_ParseTuple(args, "O!OOLLL:small_deltas", &PyTuple_Type, &files, &spans, &ends, &most,
                          &most_block, &most_record))
        return NULL;
    deltas.count = PyTuple_Size(files);
    deltas.most_block = most_block;
    deltas.most_record = most_record;
    if (array_open(spans, 1, "lq", &deltas.spans) < 0)
        return NULL;
    if (out_open(ends, "lq", 2 * deltas.count, &deltas.ends) == 0) {
        deltas.files = spans_of(files, deltas.count);
        sizes = PyMem_Malloc((size_t)(deltas.count + 1) * sizeof *sizes);
        if (deltas.files && sizes)
            result = deltas_read(&deltas, most, sizes);
        else if (deltas.files)
            PyErr_NoMemory();
        PyMem_Free(sizes);
        PyMem_Free(deltas.files);
        PyBuffer_Release(&deltas.ends.buffer);
    }
    PyBuffer_Release(&deltas.spans.buffer);
    return result;
}
