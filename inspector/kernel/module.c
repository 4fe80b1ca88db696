/* The module inspector.kernel._kernel_c: compiled loops for decoding and replay. Each file has one
 * job and does what the Python file of that name defines, faster; the same test cases run on
 * both. */
#include "functions.h"

static PyMethodDef kernel_methods[] = {
    {"scan", kernel_scan, METH_VARARGS, "Find whole records."},
    {"hash64", kernel_hash64, METH_VARARGS, "Hash every span."},
    {"gather", kernel_gather, METH_VARARGS, "Concatenate spans."},
    {"apply", kernel_apply, METH_VARARGS, "Apply records to a table of keys."},
    {"change_columns", kernel_change_columns, METH_VARARGS,
     "List what a version did to the keys it touched."},
    {"tally", kernel_tally, METH_VARARGS, "Add up what a version did to the keys it touched."},
    {"check_rows", kernel_check_rows, METH_VARARGS, "Find the rows that may not fit a schema."},
    {"read_slots", kernel_read_slots, METH_VARARGS, "Read one 64-bit field of every row."},
    {"descents", kernel_descents, METH_VARARGS, "Find the rows that are below the one before."},
    {"lz4_stream", kernel_lz4_stream, METH_VARARGS, "Decompress the blocks that are right."},
    {"small_deltas", kernel_small_deltas, METH_VARARGS, "Read the small deltas that are right."},
    {"read_files", kernel_read_files, METH_VARARGS, "Read the files that can be read at once."},
    {"list_folder", kernel_list_folder, METH_VARARGS, "List a folder of files and folders."},
    {"rows_of_range", kernel_rows_of_range, METH_VARARGS, "Find the keys of a range."},
    {"row_hashes", kernel_row_hashes, METH_VARARGS, "Hash the fields of rows as Spark does."},
    {"index_handles", kernel_index_handles, METH_VARARGS, "Find the handles of a table's index."},
    {"lz4_blocks", kernel_lz4_blocks, METH_VARARGS, "Unpack LZ4 blocks."},
    {"table_entries", kernel_table_entries, METH_VARARGS, "Find the entries of a table's blocks."},
    {"table_live", kernel_table_live, METH_VARARGS, "Merge tables and keep what lives."},
    {NULL, NULL, 0, NULL},
};

static int kernel_exec(PyObject *module)
{
    static const struct {
        const char *name;
        long value;
    } constants[] = {
        {"MORE", MORE},           {"FULL", FULL}, {"END", END}, {"BAD_KEY_LENGTH", BAD_KEY_LENGTH},
        {"OVER_LIMIT", OVER_LIMIT}, {"BAD_KIND", BAD_KIND}, {"SPAN", SPAN},
        {"BAD_BLOCK", BAD_BLOCK}, {"BAD_ENTRY", BAD_ENTRY}, {"BAD_ORDER", BAD_ORDER}, {"ENTRY", ENTRY},
    };
    size_t i;
    PyObject *type = PyType_FromSpec(&interner_spec);
    if (!type)
        return -1;
    if (PyModule_AddObject(module, "Interner", type) < 0) { /* a success takes the reference */
        Py_DECREF(type);
        return -1;
    }
    for (i = 0; i < sizeof constants / sizeof *constants; i++)
        if (PyModule_AddIntConstant(module, constants[i].name, constants[i].value) < 0)
            return -1;
    return 0;
}

static PyModuleDef_Slot kernel_slots[] = {
    {Py_mod_exec, kernel_exec},
    {0, NULL},
};

static struct PyModuleDef kernel_module = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "inspector.kernel._kernel_c",
    .m_doc = "The loops of decode and replay, compiled; inspector.kernel._kernel_py defines them.",
    .m_methods = kernel_methods,
    .m_slots = kernel_slots,
};

PyMODINIT_FUNC PyInit__kernel_c(void)
{
    return PyModuleDef_Init(&kernel_module);
}
