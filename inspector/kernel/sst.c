/* Decompresses the blocks of RocksDB's table files and finds their entries; _sst.py defines the
 * results. */
#include "functions.h"
#include "lz4_block.h"

enum { INTERNAL = 8, HASHED_BLOCK = 1 << 16, VALUE = 1 };

/* --- LZ4 ----------------------------------------------------------------------------------- */

/* Decompresses each span into its place. Returns how many it could, or -2 if one lies outside. */
static int64_t unpack_blocks(const Spans *spans, const Py_buffer *out, const Array *places,
                             const Array *sizes)
{
    int64_t i;
    for (i = 0; i < spans->offsets.count; i++) {
        int64_t place = array_get(places, i), size = array_get(sizes, i);
        uint8_t *to;
        Span from;
        if (span_at(spans, i, &from) < 0)
            return -2;
        if (place < 0 || size < 0 || out->len < place || out->len - place < size)
            return -2;
        to = (uint8_t *)out->buf + place;
        if (!lz4_decompress(from, to, size, to + size))
            return i;
    }
    return i;
}

PyObject *kernel_lz4_blocks(PyObject *module, PyObject *args)
{
    PyObject *bytes, *offsets, *lengths, *out_object, *places_object, *sizes_object, *result = NULL;
    Spans spans;
    Py_buffer out;
    Array places, sizes;
    int64_t done;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOOOO:lz4_blocks", &bytes, &offsets, &lengths, &out_object,
                          &places_object, &sizes_object))
        return NULL;
    if (spans_open(bytes, offsets, lengths, &spans) < 0)
        return NULL;
    if (PyObject_GetBuffer(out_object, &out, PyBUF_WRITABLE) < 0)
        goto no_out;
    if (array_open(places_object, 0, "lq", &places) < 0)
        goto no_places;
    if (array_open(sizes_object, 0, "lq", &sizes) < 0)
        goto no_sizes;
    if (places.count != spans.offsets.count || sizes.count != spans.offsets.count) {
        PyErr_SetString(PyExc_ValueError, "arrays differ in length");
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    done = unpack_blocks(&spans, &out, &places, &sizes);
    Py_END_ALLOW_THREADS
    if (done < 0)
        PyErr_SetString(PyExc_ValueError, OUTSIDE);
    else
        result = PyLong_FromLongLong((long long)done);
done:
    PyBuffer_Release(&sizes.buffer);
no_sizes:
    PyBuffer_Release(&places.buffer);
no_places:
    PyBuffer_Release(&out);
no_out:
    spans_close(&spans);
    return result;
}

/* --- entries ------------------------------------------------------------------------------- */

/* Returns where the entries of a block end and its restarts begin; -1 if they have no room. */
static int64_t entries_end(Span block)
{
    int64_t left = block.size - 4, restarts;
    if (left < 0)
        return -1;
    restarts = (int64_t)le32(block.data + left);
    if (block.size <= HASHED_BLOCK && restarts >> 31) { /* a hash index follows the restarts */
        int64_t buckets;
        restarts &= 0x7FFFFFFF;
        left -= 2;
        if (left < 0)
            return -1;
        buckets = block.data[left] | block.data[left + 1] << 8;
        if (left < buckets)
            return -1;
        left -= buckets;
    }
    return left / 4 < restarts ? -1 : left - 4 * restarts;
}

/* Reads an integer of up to 32 bits. Returns how many bytes it has; 0 if there is none. */
static inline int varint32(const uint8_t *at, int64_t left, int64_t *value)
{
    int i, bits = 0;
    int64_t found = 0;
    if (left > 0 && *at < 128) {
        *value = *at;
        return 1;
    }
    for (i = 0; i < 5 && i < left; i++, bits += 7) {
        found |= (int64_t)(at[i] & 127) << bits;
        if (at[i] < 128) {
            *value = found;
            return found >> 32 ? 0 : i + 1;
        }
    }
    return 0;
}

typedef struct {
    Span previous;  /* previous internal key; no bytes at the start of a table */
    uint8_t *out;
    int64_t room;   /* bytes */
    int64_t used;
    int64_t count;  /* entries found */
    int64_t place;  /* place of the next entry in the block */
    int64_t need;   /* bytes of an entry that has no room */
    int64_t max_length;
    int plain;
} Walk;

/* Compares the user keys of two internal keys; the first `start` bytes are equal. */
static int user_order(Span before, Span now, int64_t start)
{
    int64_t one = before.size - INTERNAL, other = now.size - INTERNAL;
    int64_t both = one < other ? one : other;
    int order;
    if (start > both)
        start = both;
    order = start < both ? memcmp(now.data + start, before.data + start, (size_t)(both - start)) : 0;
    return order ? order : (other > one) - (other < one);
}

/* Copies an entry and makes it the previous one. Returns a status: BAD_ORDER if its key is not
 * above the previous key. */
static int take_entry(Walk *walk, Span shared, Span rest, Span value, Array *columns)
{
    int64_t room = columns->count / ENTRY, at = walk->count;
    uint8_t *out = walk->out + walk->used;
    Span key = {out, shared.size + rest.size};
    uint64_t tag;
    copy(out, shared);
    copy(out + shared.size, rest);
    copy(out + key.size, value);
    tag = le64(out + key.size - INTERNAL);
    if (tag >> 63)
        return BAD_ENTRY;
    if (walk->previous.size) {
        int order = user_order(walk->previous, key, shared.size);
        uint64_t before = le64(walk->previous.data + walk->previous.size - INTERNAL);
        if (order < 0 || (!order && tag >= before))
            return BAD_ORDER;
        walk->plain &= order > 0;
    }
    walk->plain &= (tag & 255) == VALUE;
    array_set(columns, at, walk->used);
    array_set(columns, at + room, key.size - INTERNAL);
    array_set(columns, at + 2 * room, walk->used + key.size);
    array_set(columns, at + 3 * room, value.size);
    array_set(columns, at + 4 * room, (int64_t)tag);
    walk->used += key.size + value.size;
    walk->count++;
    walk->previous = key;
    return MORE;
}

/* Reads the entries of a block from `place` on. Returns a status: MORE at its end. */
static int walk_block(Walk *walk, Span block, Array *columns)
{
    int64_t end = entries_end(block);
    if (end < walk->place)
        return BAD_BLOCK;
    while (walk->place < end) {
        const uint8_t *at = block.data + walk->place;
        int64_t left = end - walk->place, lengths[3];
        Span shared = {walk->previous.data, 0};
        int i, status;
        walk->need = 0;
        if (walk->count >= columns->count / ENTRY)
            return FULL;
        for (i = 0; i < 3; i++) {
            int taken = varint32(at, left, &lengths[i]);
            if (!taken)
                return BAD_ENTRY;
            at += taken;
            left -= taken;
        }
        if (left < lengths[1] || left - lengths[1] < lengths[2])
            return BAD_ENTRY;
        if (lengths[0] + lengths[1] < INTERNAL || (walk->place ? walk->previous.size : 0) < lengths[0])
            return BAD_ENTRY;
        walk->need = lengths[0] + lengths[1] + lengths[2];
        if (walk->max_length < lengths[0] + lengths[1] - INTERNAL || walk->max_length < lengths[2])
            return OVER_LIMIT;
        if (walk->room - walk->used < walk->need)
            return FULL;
        shared.size = lengths[0];
        status = take_entry(walk, shared, (Span){at, lengths[1]},
                            (Span){at + lengths[1], lengths[2]}, columns);
        if (status != MORE)
            return status;
        walk->place = at + lengths[1] + lengths[2] - block.data;
    }
    walk->place = 0;
    return MORE;
}

/* Reads blocks from `*index` on. Returns a status, or -1 if a block lies outside. */
static int walk_blocks(Walk *walk, const Spans *blocks, int64_t *index, Array *columns)
{
    for (; *index < blocks->offsets.count; ++*index) {
        Span block;
        int status;
        if (span_at(blocks, *index, &block) < 0)
            return -1;
        status = walk_block(walk, block, columns);
        if (status != MORE)
            return status;
    }
    return MORE;
}

typedef struct {
    Spans blocks;
    Array state, columns;
    Py_buffer previous, out;
} EntryArguments;

static PyObject *entries_of(EntryArguments *arguments, int64_t max_length)
{
    int64_t index = array_get(&arguments->state, 0);
    Walk walk = {.previous = {arguments->previous.buf, arguments->previous.len},
                 .out = arguments->out.buf,
                 .room = arguments->out.len,
                 .place = array_get(&arguments->state, 1),
                 .max_length = max_length,
                 .plain = 1};
    int status;
    if (index < 0 || walk.place < 0 || (walk.previous.size && walk.previous.size < INTERNAL)) {
        PyErr_SetString(PyExc_ValueError, OUTSIDE);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    status = walk_blocks(&walk, &arguments->blocks, &index, &arguments->columns);
    Py_END_ALLOW_THREADS
    if (status < 0) {
        PyErr_SetString(PyExc_ValueError, OUTSIDE);
        return NULL;
    }
    array_set(&arguments->state, 0, index);
    array_set(&arguments->state, 1, walk.place);
    array_set(&arguments->state, 2, status == FULL ? walk.need : 0);
    return Py_BuildValue("iLLi", status, (long long)walk.count, (long long)walk.used, walk.plain);
}

PyObject *kernel_table_entries(PyObject *module, PyObject *args)
{
    PyObject *bytes, *offsets, *lengths, *state, *previous, *out, *columns, *result = NULL;
    EntryArguments arguments;
    long long max_length;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOOOOOL:table_entries", &bytes, &offsets, &lengths, &state,
                          &previous, &out, &columns, &max_length))
        return NULL;
    if (spans_open(bytes, offsets, lengths, &arguments.blocks) < 0)
        return NULL;
    if (out_open(state, "lq", 3, &arguments.state) < 0)
        goto no_state;
    if (PyObject_GetBuffer(previous, &arguments.previous, PyBUF_SIMPLE) < 0)
        goto no_previous;
    if (PyObject_GetBuffer(out, &arguments.out, PyBUF_WRITABLE) < 0)
        goto no_out;
    if (array_open(columns, 1, "lq", &arguments.columns) < 0)
        goto no_columns;
    result = entries_of(&arguments, max_length);
    PyBuffer_Release(&arguments.columns.buffer);
no_columns:
    PyBuffer_Release(&arguments.out);
no_out:
    PyBuffer_Release(&arguments.previous);
no_previous:
    PyBuffer_Release(&arguments.state.buffer);
no_state:
    spans_close(&arguments.blocks);
    return result;
}
