/* Functions of the module; each file has one job. */
#ifndef INSPECTOR_KERNEL_FUNCTIONS_H
#define INSPECTOR_KERNEL_FUNCTIONS_H

#include "arguments.h"

#if defined(__GNUC__)
#define WITHIN __attribute__((visibility("hidden"))) /* visible in this library only */
#else
#define WITHIN
#endif

/* Other threads may run while there is much to do. For less work that costs more than it brings:
 * another thread takes over, and this one waits for its turn again. */
enum { MUCH = 1 << 10, RECORD = 64 }; /* records, and the least bytes of one, roughly */
#define BEGIN_WORK(records)                                                                   \
    {                                                                                         \
        PyThreadState *others = (records) < MUCH ? NULL : PyEval_SaveThread();
#define END_WORK                                                                              \
        if (others)                                                                           \
            PyEval_RestoreThread(others);                                                     \
    }

/* Statuses at the end of a scan. */
enum { MORE, FULL, END, BAD_KEY_LENGTH, OVER_LIMIT, BAD_BLOCK, BAD_ENTRY, BAD_ORDER, BAD_KIND };

enum { ENTRY = 5 }; /* columns of the entries of a table */

/* First byte of a record of a changelog. */
enum { KIND_END = 0x00, KIND_PUT = 0x01, KIND_REMOVAL = 0x10, KIND_MERGE = 0x11 };

/* Function that fills in a number and a flag for each row, by a program. It returns 0, or -1 if a
 * row lies outside the buffer. */
typedef int (*RowNumbers)(const Spans *rows, const Array *program, Array *numbers, char *known);

/* Scan of a buffer. */
typedef struct {
    const uint8_t *data;
    int64_t size;
    int64_t start;      /* in: first record; out: first byte not consumed */
    int64_t max_length; /* most bytes of a key or value */
    int64_t count;      /* in: records already in the columns; out: with those found */
} Scan;

WITHIN int scan_records(Scan *scan, Array *spans);
WITHIN int64_t lz4_raw_size(const uint8_t *at, int64_t remaining, int64_t most, int64_t room);
WITHIN int64_t lz4_blocks_unpacked(const uint8_t *at, int64_t remaining, int64_t most, uint8_t *out,
                                   int64_t room, int64_t *consumed);
WITHIN int lz4_is_end(const uint8_t *at, int64_t remaining);
WITHIN PyObject *numbers_of_rows(PyObject *args, const char *format, RowNumbers fill);
WITHIN PyObject *kernel_scan(PyObject *module, PyObject *args);
WITHIN PyObject *kernel_hash64(PyObject *module, PyObject *args);
WITHIN PyObject *kernel_gather(PyObject *module, PyObject *args);
WITHIN PyObject *kernel_apply(PyObject *module, PyObject *args);
WITHIN PyObject *kernel_change_columns(PyObject *module, PyObject *args);
WITHIN PyObject *kernel_tally(PyObject *module, PyObject *args);
WITHIN PyObject *kernel_check_rows(PyObject *module, PyObject *args);
WITHIN PyObject *kernel_read_slots(PyObject *module, PyObject *args);
WITHIN PyObject *kernel_descents(PyObject *module, PyObject *args);
WITHIN PyObject *kernel_lz4_stream(PyObject *module, PyObject *args);
WITHIN PyObject *kernel_small_deltas(PyObject *module, PyObject *args);
WITHIN PyObject *kernel_read_files(PyObject *module, PyObject *args);
WITHIN PyObject *kernel_list_folder(PyObject *module, PyObject *args);
WITHIN PyObject *kernel_rows_of_range(PyObject *module, PyObject *args);
WITHIN PyObject *kernel_row_hashes(PyObject *module, PyObject *args);
WITHIN PyObject *kernel_index_handles(PyObject *module, PyObject *args);
WITHIN PyObject *kernel_lz4_blocks(PyObject *module, PyObject *args);
WITHIN PyObject *kernel_table_entries(PyObject *module, PyObject *args);
WITHIN PyObject *kernel_table_live(PyObject *module, PyObject *args);
WITHIN extern PyType_Spec interner_spec;

#endif
