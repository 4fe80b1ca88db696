/* Numbers byte strings; _interner.py defines the result. */
#include "functions.h"
#include "key_hash.h"
#include "key_table.h"
#include "print_table.h"

enum { AHEAD = 64 }; /* keys that are fetched at the same time */

typedef struct {
    PyObject_HEAD
    uint64_t secret[SECRET_WORDS];
    int hashed; /* 1 if prints are kept instead of keys */
    int busy;   /* 1 while a thread is at work, perhaps without the GIL */
    KeyTable keys;
    PrintTable prints;
} Interner;

/* Returns the number of the first key with this tag, mostly the right one; -1 if there is none. */
static int64_t candidate(const KeyTable *table, uint32_t tag)
{
    int64_t mask = table->slot_count - 1, at;
    for (at = tag & mask; table->slots[at].number; at = (at + 1) & mask)
        if (table->slots[at].tag == tag)
            return (int64_t)table->slots[at].number - 1;
    return -1;
}

/* Finds the candidates of some keys, and fetches ahead what the look-ups read: slots, positions of
 * bytes, and bytes. Access to the table is random, so each key would otherwise wait for each of the
 * three. */
static INLINE void fetch_ahead(const KeyTable *table, const uint32_t *tags, int few, int64_t *found)
{
    int i;
    for (i = 0; i < few; i++)
        found[i] = -1;
    if (!table->slot_count)
        return;
    for (i = 0; i < few; i++)
        prefetch(&table->slots[tags[i] & (table->slot_count - 1)]);
    for (i = 0; i < few; i++) {
        found[i] = candidate(table, tags[i]);
        if (found[i] >= 0 && !table->stride)
            prefetch(&table->keys[found[i]]);
    }
    for (i = 0; i < few; i++)
        if (found[i] >= 0) {
            Span key = key_at(table, found[i]);
            prefetch(key.data);
            prefetch(key.data + (key.size ? key.size - 1 : 0));
        }
}

/* Numbers some spans. Returns 0, -1 for a bad span, -2 for no memory. */
static int intern_keys(Interner *self, const Spans *spans, int64_t first, int few, Array *out)
{
    KeyTable *table = &self->keys;
    Span keys[AHEAD];
    uint32_t tags[AHEAD];
    int64_t found[AHEAD];
    int i;
    for (i = 0; i < few; i++) {
        if (span_at(spans, first + i, &keys[i]) < 0)
            return -1;
        tags[i] = tag_of(self->secret, keys[i]);
    }
    fetch_ahead(table, tags, few, found);
    for (i = 0; i < few; i++) {
        int64_t number = found[i];
        if (number < 0 || !same(key_at(table, number), keys[i]))
            number = keys_add(table, keys[i], tags[i]);
        if (number < 0)
            return -2;
        array_set(out, first + i, number);
    }
    return 0;
}

/* Numbers some spans by their prints. Returns 0, -1 for a bad span, -2 for no memory. */
static int intern_prints(Interner *self, const Spans *spans, int64_t first, int few, Array *out)
{
    PrintTable *table = &self->prints;
    Print prints[AHEAD];
    int i;
    for (i = 0; i < few; i++) {
        Span key;
        if (span_at(spans, first + i, &key) < 0)
            return -1;
        prints[i] = print_of(self->secret, key);
        if (table->slot_count)
            fetch_slots(table, prints[i]);
    }
    for (i = 0; i < few; i++) {
        int64_t number = prints_add(table, prints[i]);
        if (number < 0)
            return -2;
        array_set(out, first + i, number);
    }
    return 0;
}

static int intern_spans(Interner *self, const Spans *spans, Array *out)
{
    int64_t i, count = out->count;
    for (i = 0; i < count; i += AHEAD) {
        int few = count - i < AHEAD ? (int)(count - i) : AHEAD;
        int status = self->hashed ? intern_prints(self, spans, i, few, out)
                                  : intern_keys(self, spans, i, few, out);
        if (status < 0)
            return status;
    }
    return 0;
}

/* Returns 0 if the keys are kept; -1 with an exception set if only their prints are. */
static int keys_kept(const Interner *self)
{
    if (!self->hashed)
        return 0;
    PyErr_SetString(PyExc_ValueError, "the byte strings are not kept");
    return -1;
}

/* Lets one thread in at a time, because the GIL is released while an interner changes. Returns 0,
 * or -1 with an exception set. */
static int interner_enter(Interner *self)
{
    if (self->busy) {
        PyErr_SetString(PyExc_RuntimeError, "another thread is using this interner");
        return -1;
    }
    self->busy = 1;
    return 0;
}

static PyObject *interner_intern(PyObject *object, PyObject *args)
{
    Interner *self = (Interner *)object;
    PyObject *bytes, *offsets, *lengths, *out_object, *result = NULL;
    Spans spans;
    Array out;
    int status;
    if (!PyArg_ParseTuple(args, "OOOO:intern", &bytes, &offsets, &lengths, &out_object))
        return NULL;
    if (interner_enter(self) < 0)
        return NULL;
    if (spans_open(bytes, offsets, lengths, &spans) < 0)
        goto no_spans;
    if (spans_check(&spans) < 0 || out_open(out_object, "lq", spans.offsets.count, &out) < 0)
        goto no_out;
    BEGIN_WORK(out.count)
    status = intern_spans(self, &spans, &out);
    END_WORK
    if (status == -2)
        PyErr_NoMemory();
    else if (status < 0)
        PyErr_SetString(PyExc_ValueError, OUTSIDE);
    else
        result = Py_NewRef(Py_None);
    PyBuffer_Release(&out.buffer);
no_out:
    spans_close(&spans);
no_spans:
    self->busy = 0;
    return result;
}

/* Returns the number of a key; -1 if it has none. */
static int64_t number_of(const Interner *self, Span key)
{
    if (self->hashed)
        return prints_find(&self->prints, print_of(self->secret, key));
    if (!self->keys.count)
        return -1;
    return (int64_t)slot_of(&self->keys, key, tag_of(self->secret, key))->number - 1;
}

static PyObject *interner_find(PyObject *object, PyObject *argument)
{
    Interner *self = (Interner *)object;
    Py_buffer buffer;
    int64_t number;
    if (interner_enter(self) < 0)
        return NULL;
    if (PyObject_GetBuffer(argument, &buffer, PyBUF_SIMPLE) < 0) {
        self->busy = 0;
        return NULL;
    }
    number = number_of(self, (Span){buffer.buf, buffer.len});
    PyBuffer_Release(&buffer);
    self->busy = 0;
    return PyLong_FromLongLong(number);
}

/* Fills in where each key will start. Returns the sum; -1 for a bad number, -2 if it is too
 * large. */
static int64_t gather_offsets(const KeyTable *table, const Array *ids, Array *offsets)
{
    int64_t i, total = 0;
    array_set(offsets, 0, 0);
    for (i = 0; i < ids->count; i++) {
        int64_t number = array_get(ids, i), size;
        if (number < 0 || table->count <= number)
            return -1;
        size = key_at(table, number).size;
        if (PY_SSIZE_T_MAX - 64 - total < size)
            return -2;
        total += size;
        array_set(offsets, i + 1, total);
    }
    return total;
}

/* Copies keys out, and checks the numbers again, because the caller's two arrays may overlap.
 * Returns 0, or -1. */
static int copy_keys(const KeyTable *table, const Array *ids, char *target, int64_t room)
{
    int64_t i;
    for (i = 0; i < ids->count; i++) {
        int64_t number = array_get(ids, i);
        Span key;
        if (number < 0 || table->count <= number)
            return -1;
        key = key_at(table, number);
        if (room < key.size)
            return -1;
        copy(target, key);
        target += key.size;
        room -= key.size;
    }
    return room == 0 ? 0 : -1;
}

static PyObject *gather_keys(const KeyTable *table, const Array *ids, Array *offsets)
{
    int64_t total = gather_offsets(table, ids, offsets);
    PyObject *result;
    char *target;
    if (total == -1)
        PyErr_SetString(PyExc_ValueError, "a number that was never given");
    else if (total < 0)
        PyErr_NoMemory();
    if (total < 0)
        return NULL;
    result = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)total);
    if (!result)
        return NULL;
    target = PyBytes_AsString(result);
    if (copy_keys(table, ids, target, total) < 0) {
        PyErr_SetString(PyExc_ValueError, "ids and offsets share memory");
        Py_CLEAR(result);
    }
    return result;
}

static PyObject *interner_gather(PyObject *object, PyObject *args)
{
    Interner *self = (Interner *)object;
    PyObject *ids_object, *offsets_object, *result = NULL;
    Array ids, offsets;
    if (!PyArg_ParseTuple(args, "OO:gather", &ids_object, &offsets_object))
        return NULL;
    if (interner_enter(self) < 0)
        return NULL;
    if (keys_kept(self) < 0 || array_open(ids_object, 0, "lq", &ids) < 0)
        goto no_ids;
    if (out_open(offsets_object, "lq", ids.count + 1, &offsets) == 0) {
        result = gather_keys(&self->keys, &ids, &offsets);
        PyBuffer_Release(&offsets.buffer);
    }
    PyBuffer_Release(&ids.buffer);
no_ids:
    self->busy = 0;
    return result;
}

static Py_ssize_t interner_length(PyObject *object)
{
    Interner *self = (Interner *)object;
    Py_ssize_t count;
    if (interner_enter(self) < 0)
        return -1;
    count = (Py_ssize_t)(self->hashed ? self->prints.count : self->keys.count);
    self->busy = 0;
    return count;
}

static PyObject *interner_nbytes(PyObject *object, void *closure)
{
    const Interner *self = (Interner *)object;
    (void)closure;
    return PyLong_FromLongLong(self->hashed ? prints_memory(&self->prints)
                                            : keys_memory(&self->keys));
}

/* Takes random bytes from os.urandom, which every platform has. Returns 0, or -1 with an exception
 * set. */
static int secret_fill(uint64_t secret[SECRET_WORDS])
{
    const int size = SECRET_WORDS * (int)sizeof *secret;
    PyObject *os = PyImport_ImportModule("os"), *bytes = NULL;
    int status = -1;
    if (os)
        bytes = PyObject_CallMethod(os, "urandom", "i", size);
    if (bytes && PyBytes_Check(bytes) && PyBytes_Size(bytes) == size) {
        memcpy(secret, PyBytes_AsString(bytes), (size_t)size);
        status = 0;
    }
    Py_XDECREF(bytes);
    Py_XDECREF(os);
    return status;
}

static PyObject *interner_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    allocfunc allocate_object = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    static char hashed_name[] = "hashed";
    char *names[] = {hashed_name, NULL};
    PyObject *object;
    int hashed = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|p:Interner", names, &hashed))
        return NULL;
    object = allocate_object(type, 0); /* filled with zeros */
    if (object)
        ((Interner *)object)->hashed = hashed;
    if (object && secret_fill(((Interner *)object)->secret) < 0) {
        Py_DECREF(object);
        return NULL;
    }
    return object;
}

static void interner_dealloc(PyObject *object)
{
    Interner *self = (Interner *)object;
    PyTypeObject *type = Py_TYPE(object);
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);
    keys_free(&self->keys);
    prints_free(&self->prints);
    free_object(object);
    Py_DECREF(type);
}

static PyMethodDef interner_methods[] = {
    {"intern", interner_intern, METH_VARARGS, "Number the bytes of every span."},
    {"find", interner_find, METH_O, "The number of a byte string, or -1."},
    {"gather", interner_gather, METH_VARARGS, "The byte strings of some numbers."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef interner_properties[] = {
    {"nbytes", interner_nbytes, NULL, "Memory held, in bytes.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot interner_slots[] = {
    {Py_tp_doc, "Numbers byte strings in order of first appearance."},
    {Py_tp_new, interner_new},
    {Py_tp_dealloc, interner_dealloc},
    {Py_tp_methods, interner_methods},
    {Py_tp_getset, interner_properties},
    {Py_sq_length, interner_length},
    {0, NULL},
};

PyType_Spec interner_spec = {
    .name = "inspector.kernel._kernel_c.Interner",
    .basicsize = sizeof(Interner),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = interner_slots,
};
