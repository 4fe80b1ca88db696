/* Lists a folder, and reads many small files at once, without the GIL.
 *
 * checkpoint/local_files.py defines both. That module reads the first file that this one leaves:
 * one that is no regular file, that cannot be read, or for which there is no room. It also lists
 * the folders that have anything but regular files and folders, or times outside the range of 64
 * bits.
 */
#include "functions.h"

#include <stdlib.h>

#if defined(__unix__) || defined(__APPLE__)
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads a file to its end. Returns its size in bytes, or -1. */
static int64_t file_read(const char *path, uint8_t *out, int64_t room)
{
    struct stat status;
    int64_t size = -1;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return -1;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size < room) {
        size = (int64_t)read(file, out, (size_t)status.st_size + 1); /* one more: must not exist */
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

/* Content of a folder: the names, one after the other, and a status for each. */
typedef struct {
    char *names;
    size_t size, room; /* bytes of the names, and room for them */
    struct status {
        size_t name; /* where the name begins */
        int is_dir;
        int64_t size, modified_ns, changed_ns;
        uint64_t inode;
    } * items;
    size_t count, most;
} Listing;

#if defined(__unix__) || defined(__APPLE__)
#ifdef __APPLE__
#define st_mtim st_mtimespec
#define st_ctim st_ctimespec
#endif

static int64_t nanoseconds(struct timespec time)
{
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Returns 1 if a time in nanoseconds exceeds 64 bits (before 1678, after 2261); Python can hold
 * it. */
static int is_far(struct timespec time)
{
    return (int64_t)time.tv_sec >= INT64_MAX / 1000000000 ||
           (int64_t)time.tv_sec <= INT64_MIN / 1000000000;
}

/* Adds a name with its status. Returns 0, or -1 if Python must list it or there is no memory. */
static int listing_add(Listing *listing, const char *name, const struct stat *status)
{
    size_t length = strlen(name) + 1;
    struct status *item;
    if (!S_ISREG(status->st_mode) && !S_ISDIR(status->st_mode))
        return -1;
    if (is_far(status->st_mtim) || is_far(status->st_ctim))
        return -1;
    if (listing->room - listing->size < length) {
        size_t room = 2 * listing->room + length;
        char *names = realloc(listing->names, room);
        if (!names)
            return -1;
        listing->names = names;
        listing->room = room;
    }
    if (listing->count == listing->most) {
        size_t most = 2 * listing->most + 64;
        struct status *items = realloc(listing->items, most * sizeof *items);
        if (!items)
            return -1;
        listing->items = items;
        listing->most = most;
    }
    item = listing->items + listing->count++;
    item->name = listing->size;
    item->is_dir = S_ISDIR(status->st_mode);
    item->size = item->is_dir ? 0 : (int64_t)status->st_size;
    item->modified_ns = nanoseconds(status->st_mtim);
    item->changed_ns = nanoseconds(status->st_ctim);
    item->inode = (uint64_t)status->st_ino;
    memcpy(listing->names + listing->size, name, length);
    listing->size += length;
    return 0;
}

/* Lists a folder. Returns 0, or -1 if Python must list it. */
static int folder_list(const char *path, Listing *listing)
{
    struct dirent *entry;
    struct stat status;
    int result = 0;
    DIR *folder = opendir(path);
    if (!folder)
        return -1;
    /* The open folder is searched for each name, so that the path is not resolved again. */
    while (result == 0 && (errno = 0, entry = readdir(folder)) != NULL) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        result = fstatat(dirfd(folder), name, &status, 0);
        if (result == 0)
            result = listing_add(listing, name, &status);
    }
    if (result == 0 && errno != 0)
        result = -1;
    (void)closedir(folder);
    return result;
}
#else
static int folder_list(const char *path, Listing *listing)
{
    (void)path;
    (void)listing;
    return -1;
}
#endif

/* Returns an item as the tuple that trees.Entry is; NULL with an exception set. */
static PyObject *item_of(const Listing *listing, const struct status *item, PyObject *start)
{
    PyObject *name = PyUnicode_DecodeFSDefault(listing->names + item->name), *path, *result;
    int64_t ms = item->modified_ns / 1000000;
    ms -= item->modified_ns % 1000000 < 0; /* rounds down, as Python does */
    path = name ? PyUnicode_Concat(start, name) : NULL;
    result = path ? Py_BuildValue("(OOOLLO(LLK))", name, path, item->is_dir ? Py_True : Py_False,
                                  (long long)item->size, (long long)ms, Py_False,
                                  (long long)item->modified_ns, (long long)item->changed_ns,
                                  (unsigned long long)item->inode)
                  : NULL;
    Py_XDECREF(path);
    Py_XDECREF(name);
    return result;
}

PyObject *kernel_list_folder(PyObject *module, PyObject *args)
{
    Listing listing = {NULL, 0, 0, NULL, 0, 0};
    PyObject *folder, *start, *result = NULL;
    PyThreadState *others;
    size_t i;
    int status;
    (void)module;
    if (!PyArg_ParseTuple(args, "O&U:list_folder", PyUnicode_FSConverter, &folder, &start))
        return NULL;
    others = PyEval_SaveThread();
    status = folder_list(PyBytes_AsString(folder), &listing);
    PyEval_RestoreThread(others);
    result = status == 0 ? PyList_New((Py_ssize_t)listing.count) : Py_NewRef(Py_None);
    for (i = 0; status == 0 && result && i < listing.count; i++) {
        PyObject *item = item_of(&listing, listing.items + i, start);
        if (!item || PyList_SetItem(result, (Py_ssize_t)i, item) < 0)
            Py_CLEAR(result);
    }
    free(listing.items);
    free(listing.names);
    Py_DECREF(folder);
    return result;
}

/* Reads the files one after the other. Returns how many were read. */
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

/* Returns the contents as a list of bytes; NULL with an exception set. */
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

/* Fills in the paths, up to the first that cannot be one. Returns how many, or -1 with an exception
 * set. */
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
