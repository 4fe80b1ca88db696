/* Reads many small files at once, without the GIL.
 *
 * checkpoint/local_files.py defines how one is read; it reads the first that is not taken here: one
 * that is no regular file, that cannot be read, or for which no room is left. */
#include "functions.h"

#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads a file to its end; returns how many bytes it has, or -1. */
static int64_t file_read(const char *path, uint8_t *out, int64_t room)
{
    struct stat status;
    int64_t size = -1;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return -1;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size < room) {
        size = (int64_t)read(file, out, (size_t)status.st_size + 1); /* one more: there is none */
        if (size != (int64_t)status.st_size)
            size = -1;
    }
    (void)close(file);
    return size;
}
#else
static int64_t file_read(const char *path, uint8_t *out, int64_t room)
{
    (void)path;
    (void)out;
    (void)room;
    return -1;
}
#endif

/* Reads the files one after the other; returns how many. */
static int64_t files_read(const char *const *paths, int64_t count, uint8_t *out, int64_t room,
                          int64_t *sizes)
{
    int64_t i;
    for (i = 0; i < count; i++) {
        sizes[i] = file_read(paths[i], out, room);
        if (sizes[i] < 0)
            break;
        out += sizes[i];
        room -= sizes[i];
    }
    return i;
}

/* The contents as a list. */
static PyObject *contents_of(const uint8_t *data, const int64_t *sizes, int64_t count)
{
    PyObject *result = PyList_New((Py_ssize_t)count);
    int64_t i;
    for (i = 0; result && i < count; i++) {
        PyObject *content = PyBytes_FromStringAndSize((const char *)data, (Py_ssize_t)sizes[i]);
        if (!content || PyList_SetItem(result, (Py_ssize_t)i, content) < 0) {
            Py_DECREF(result);
            return NULL;
        }
        data += sizes[i];
    }
    return result;
}

/* Where the paths begin, up to one that none can be; returns how many, or -1 with an exception set. */
static int64_t paths_open(PyObject *objects, int64_t count, const char **paths)
{
    int64_t i;
    for (i = 0; i < count; i++) {
        char *path;
        Py_ssize_t size;
        if (PyBytes_AsStringAndSize(PyTuple_GetItem(objects, (Py_ssize_t)i), &path, &size) < 0)
            return -1;
        if (strlen(path) != (size_t)size)
            break;
        paths[i] = path;
    }
    return i;
}

PyObject *kernel_read_files(PyObject *module, PyObject *args)
{
    PyObject *objects, *result = NULL;
    long long room;
    int64_t count, *sizes;
    const char **paths;
    uint8_t *data;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!L:read_files", &PyTuple_Type, &objects, &room))
        return NULL;
    count = PyTuple_Size(objects);
    paths = PyMem_Malloc((size_t)(count + 1) * sizeof *paths);
    sizes = PyMem_Malloc((size_t)(count + 1) * sizeof *sizes);
    data = PyMem_Malloc(room < 0 ? 1 : (size_t)room);
    if (!paths || !sizes || !data) {
        PyErr_NoMemory();
    } else if ((count = paths_open(objects, count, paths)) >= 0) {
        PyThreadState *others = PyEval_SaveThread();
        count = files_read(paths, count, data, room, sizes);
        PyEval_RestoreThread(others);
        result = contents_of(data, sizes, count);
    }
    PyMem_Free(data);
    PyMem_Free(sizes);
    PyMem_Free(paths);
    return result;
}
