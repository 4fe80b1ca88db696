/* The loops of decode, compiled. _kernel_py.py defines what each of them does; this file does the
 * same, faster, and is tested by the same list of cases.
 *
 * Rules kept throughout:
 *   - every size test is written `remaining < need`, so that no sum can overflow;
 *   - arrays are read and written by memcpy, because a buffer promises no alignment;
 *   - a span is checked where it is used, after it was copied out of its array: another thread may
 *     change the array while the GIL is released;
 *   - no error of the format is raised here, and no Python object is touched without the GIL.
 */
#include <patchlevel.h>
#if PY_VERSION_HEX >= 0x030B0000 /* the buffer protocol entered the limited API in 3.11 */
#define Py_LIMITED_API 0x030B0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if (defined(__linux__) || defined(__APPLE__)) && !defined(__SANITIZE_ADDRESS__)
#include <sys/mman.h>
#endif

enum { MORE, FULL, END, BAD_KEY_LENGTH, OVER_LIMIT };
enum { SPAN = 4, SLOT = 8 };

static const char OUTSIDE[] = "a span lies outside of the buffer";

/* --- buffers ------------------------------------------------------------------------------- */

typedef struct {
    Py_buffer buffer;
    int64_t count; /* numbers in it */
} Array;

/* Opens a contiguous array of 64-bit integers. Returns 0, or -1 with an exception set. */
static int array_open(PyObject *object, int writable, const char *formats, Array *array)
{
    int flags = PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0);
    const char *format;
    if (PyObject_GetBuffer(object, &array->buffer, flags) < 0)
        return -1;
    format = array->buffer.format ? array->buffer.format : "B";
    if (array->buffer.itemsize != 8 || strlen(format) != 1 || !strchr(formats, *format)) {
        PyBuffer_Release(&array->buffer);
        PyErr_SetString(PyExc_TypeError, "expected a contiguous array of 64-bit integers");
        return -1;
    }
    array->count = array->buffer.len / 8;
    return 0;
}

static int64_t array_get(const Array *array, int64_t index)
{
    int64_t value;
    memcpy(&value, (const char *)array->buffer.buf + index * 8, 8);
    return value;
}

static void array_set(Array *array, int64_t index, int64_t value)
{
    memcpy((char *)array->buffer.buf + index * 8, &value, 8);
}

/* A buffer and the spans in it: the arguments that most functions share. */
typedef struct {
    Py_buffer bytes;
    Array offsets, lengths;
} Spans;

typedef struct {
    const uint8_t *data;
    int64_t size;
} Span;

/* memcpy that may be given the null pointer of an empty buffer. */
static void copy(void *target, Span span)
{
    if (span.size)
        memcpy(target, span.data, (size_t)span.size);
}

static int same(Span one, Span other)
{
    return one.size == other.size && (!one.size || !memcmp(one.data, other.data, (size_t)one.size));
}

static void spans_close(Spans *spans)
{
    PyBuffer_Release(&spans->lengths.buffer);
    PyBuffer_Release(&spans->offsets.buffer);
    PyBuffer_Release(&spans->bytes);
}

/* Copies out span `index` and checks it. Returns 0, or -1 (no exception set: callable without GIL). */
static int span_at(const Spans *spans, int64_t index, Span *span)
{
    int64_t offset = array_get(&spans->offsets, index);
    int64_t size = array_get(&spans->lengths, index);
    int64_t length = spans->bytes.len;
    if (offset < 0 || size < 0 || length < offset || length - offset < size)
        return -1;
    span->data = (const uint8_t *)spans->bytes.buf + offset;
    span->size = size;
    return 0;
}

/* Checks all spans before any is used, where a bad one must not leave half-done work behind. */
static int spans_check(const Spans *spans)
{
    Span span;
    int64_t i;
    for (i = 0; i < spans->offsets.count; i++)
        if (span_at(spans, i, &span) < 0) {
            PyErr_SetString(PyExc_ValueError, OUTSIDE);
            return -1;
        }
    return 0;
}

static int spans_open(PyObject *bytes, PyObject *offsets, PyObject *lengths, Spans *spans)
{
    if (PyObject_GetBuffer(bytes, &spans->bytes, PyBUF_SIMPLE) < 0)
        return -1;
    if (array_open(offsets, 0, "lq", &spans->offsets) < 0)
        goto no_offsets;
    if (array_open(lengths, 0, "lq", &spans->lengths) < 0)
        goto no_lengths;
    if (spans->offsets.count == spans->lengths.count)
        return 0;
    PyErr_SetString(PyExc_ValueError, "arrays differ in length");
    PyBuffer_Release(&spans->lengths.buffer);
no_lengths:
    PyBuffer_Release(&spans->offsets.buffer);
no_offsets:
    PyBuffer_Release(&spans->bytes);
    return -1;
}

/* Opens the array that takes one result per span. */
static int out_open(PyObject *object, const char *formats, int64_t count, Array *out)
{
    if (array_open(object, 1, formats, out) < 0)
        return -1;
    if (out->count != count) {
        PyBuffer_Release(&out->buffer);
        PyErr_SetString(PyExc_ValueError, "arrays differ in length");
        return -1;
    }
    return 0;
}

/* --- records ------------------------------------------------------------------------------- */

static int64_t be32(const uint8_t *at)
{
    uint32_t value = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    return (int32_t)value;
}

typedef struct {
    const uint8_t *data;
    int64_t size;
    int64_t start;      /* in: the first record; out: the first byte not consumed */
    int64_t max_length; /* of a key or value */
    int64_t count;      /* records found */
} Scan;

/* Finds records from `start` on; moves it behind the last whole one, but to the value length of one
 * whose value is over the limit. */
static int scan_records(Scan *scan, Array *spans)
{
    const uint8_t *data = scan->data;
    int64_t at = scan->start, size = scan->size, max_length = scan->max_length;
    int64_t room = spans->count / SPAN, count = 0, key_length, value_length;
    char *target = spans->buffer.buf;
    int status = FULL;
    while (count < room) {
        int64_t record[SPAN];
        status = MORE;
        if (size - at < 4)
            break;
        key_length = be32(data + at);
        if (key_length < 0 || max_length < key_length) {
            at += key_length == -1 ? 4 : 0;
            status = key_length == -1 ? END : key_length < 0 ? BAD_KEY_LENGTH : OVER_LIMIT;
            break;
        }
        if (size - at - 4 < key_length || size - at - 4 - key_length < 4)
            break;
        record[0] = at + 4;
        record[1] = key_length;
        record[2] = at + 8 + key_length;
        value_length = be32(data + record[2] - 4);
        record[3] = value_length < 0 ? -1 : value_length;
        if (max_length < value_length) {
            at = record[2] - 4;
            status = OVER_LIMIT;
            break;
        }
        if (size - record[2] < value_length)
            break;
        at = record[2] + (value_length < 0 ? 0 : value_length);
        memcpy(target + count * (int64_t)sizeof record, record, sizeof record);
        count++;
        status = FULL;
    }
    scan->start = at;
    scan->count = count;
    return status;
}

static PyObject *kernel_scan(PyObject *module, PyObject *args)
{
    Py_buffer bytes;
    PyObject *object, *spans_object, *result = NULL;
    long long start, max_length;
    Array spans;
    Scan scan;
    int status;
    (void)module;
    if (!PyArg_ParseTuple(args, "OLOL:scan", &object, &start, &spans_object, &max_length))
        return NULL;
    if (PyObject_GetBuffer(object, &bytes, PyBUF_SIMPLE) < 0)
        return NULL;
    if (array_open(spans_object, 1, "lq", &spans) < 0)
        goto no_spans;
    if (start < 0 || bytes.len < start) {
        PyErr_SetString(PyExc_ValueError, "start lies outside of the buffer");
        goto done;
    }
    scan = (Scan){bytes.buf, bytes.len, start, max_length, 0};
    Py_BEGIN_ALLOW_THREADS
    status = scan_records(&scan, &spans);
    Py_END_ALLOW_THREADS
    result = Py_BuildValue("iLL", status, (long long)scan.count, (long long)scan.start);
done:
    PyBuffer_Release(&spans.buffer);
no_spans:
    PyBuffer_Release(&bytes);
    return result;
}

/* --- XXH64, as in the specification of xxHash, one shot -------------------------------------- */

static const uint64_t P1 = 0x9E3779B185EBCA87ULL, P2 = 0xC2B2AE3D27D4EB4FULL,
                      P3 = 0x165667B19E3779F9ULL, P4 = 0x85EBCA77C2B2AE63ULL,
                      P5 = 0x27D4EB2F165667C5ULL;

static uint64_t le32(const uint8_t *at)
{
    return (uint64_t)at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 | (uint64_t)at[3] << 24;
}

static uint64_t le64(const uint8_t *at)
{
    return le32(at) | le32(at + 4) << 32;
}

static uint64_t rotate(uint64_t value, int bits)
{
    return value << bits | value >> (64 - bits);
}

static uint64_t xxh_round(uint64_t lane, uint64_t input)
{
    return rotate(lane + input * P2, 31) * P1;
}

static uint64_t xxh_stripes(const uint8_t **data, int64_t *size, uint64_t seed)
{
    uint64_t lane[4] = {seed + P1 + P2, seed + P2, seed, seed - P1}, hash;
    int i;
    for (; *size >= 32; *data += 32, *size -= 32)
        for (i = 0; i < 4; i++)
            lane[i] = xxh_round(lane[i], le64(*data + 8 * i));
    hash = rotate(lane[0], 1) + rotate(lane[1], 7) + rotate(lane[2], 12) + rotate(lane[3], 18);
    for (i = 0; i < 4; i++)
        hash = (hash ^ xxh_round(0, lane[i])) * P1 + P4;
    return hash;
}

static uint64_t xxh64(const uint8_t *data, int64_t size, uint64_t seed)
{
    uint64_t total = (uint64_t)size;
    uint64_t hash = size < 32 ? seed + P5 : xxh_stripes(&data, &size, seed);
    hash += total;
    for (; size >= 8; data += 8, size -= 8)
        hash = rotate(hash ^ xxh_round(0, le64(data)), 27) * P1 + P4;
    if (size >= 4) {
        hash = rotate(hash ^ (le32(data) * P1), 23) * P2 + P3;
        data += 4;
        size -= 4;
    }
    for (; size > 0; data++, size--)
        hash = rotate(hash ^ (*data * P5), 11) * P1;
    hash = (hash ^ hash >> 33) * P2;
    hash = (hash ^ hash >> 29) * P3;
    return hash ^ hash >> 32;
}

static int hash_spans(const Spans *spans, int64_t skip, Array *out)
{
    int64_t i;
    for (i = 0; i < out->count; i++) {
        Span span;
        uint64_t hash;
        if (span_at(spans, i, &span) < 0)
            return -1;
        if (skip >= 0 && span.size >= SLOT && span.size - SLOT >= skip) {
            hash = xxh64(span.data, skip, 0);
            hash = xxh64(span.data + skip + SLOT, span.size - SLOT - skip, hash);
        } else {
            hash = xxh64(span.data, span.size, 0);
        }
        array_set(out, i, (int64_t)hash);
    }
    return 0;
}

static PyObject *kernel_hash64(PyObject *module, PyObject *args)
{
    PyObject *bytes, *offsets, *lengths, *out_object, *result = NULL;
    long long skip;
    Spans spans;
    Array out;
    int status;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOLO:hash64", &bytes, &offsets, &lengths, &skip, &out_object))
        return NULL;
    if (spans_open(bytes, offsets, lengths, &spans) < 0)
        return NULL;
    if (out_open(out_object, "LQ", spans.offsets.count, &out) < 0)
        goto no_out;
    Py_BEGIN_ALLOW_THREADS
    status = hash_spans(&spans, skip, &out);
    Py_END_ALLOW_THREADS
    if (status < 0)
        PyErr_SetString(PyExc_ValueError, OUTSIDE);
    else
        result = Py_NewRef(Py_None);
    PyBuffer_Release(&out.buffer);
no_out:
    spans_close(&spans);
    return result;
}

/* --- gather -------------------------------------------------------------------------------- */

/* The sum of all lengths, or -1 if it is more than one object can hold. */
static int64_t spans_total(const Spans *spans)
{
    int64_t i, total = 0;
    for (i = 0; i < spans->lengths.count; i++) {
        int64_t size = array_get(&spans->lengths, i);
        if (size < 0 || PY_SSIZE_T_MAX - 64 - total < size)
            return -1;
        total += size;
    }
    return total;
}

static int copy_spans(const Spans *spans, char *target, int64_t room)
{
    int64_t i;
    for (i = 0; i < spans->offsets.count; i++) {
        Span span;
        if (span_at(spans, i, &span) < 0 || room < span.size)
            return -1;
        copy(target, span);
        target += span.size;
        room -= span.size;
    }
    return room == 0 ? 0 : -1;
}

static PyObject *kernel_gather(PyObject *module, PyObject *args)
{
    PyObject *bytes, *offsets, *lengths, *result = NULL;
    Spans spans;
    int64_t total;
    char *target;
    int status;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOO:gather", &bytes, &offsets, &lengths))
        return NULL;
    if (spans_open(bytes, offsets, lengths, &spans) < 0)
        return NULL;
    if (spans_check(&spans) < 0) {
        spans_close(&spans);
        return NULL;
    }
    total = spans_total(&spans);
    if (total < 0)
        PyErr_NoMemory();
    else
        result = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)total);
    if (result) {
        target = PyBytes_AsString(result);
        Py_BEGIN_ALLOW_THREADS
        status = copy_spans(&spans, target, total);
        Py_END_ALLOW_THREADS
        if (status < 0) {
            PyErr_SetString(PyExc_ValueError, OUTSIDE);
            Py_CLEAR(result);
        }
    }
    spans_close(&spans);
    return result;
}

/* --- Interner ------------------------------------------------------------------------------ */

/* SipHash-1-3, the hash of Rust's and Python's own tables: keys come from a file that may be
 * hostile, and XXH64 has collisions that no seed removes. */
#define SIP_ROUND(v0, v1, v2, v3)                                                             \
    do {                                                                                      \
        v0 += v1; v1 = rotate(v1, 13); v1 ^= v0; v0 = rotate(v0, 32);                         \
        v2 += v3; v3 = rotate(v3, 16); v3 ^= v2;                                              \
        v0 += v3; v3 = rotate(v3, 21); v3 ^= v0;                                              \
        v2 += v1; v1 = rotate(v1, 17); v1 ^= v2; v2 = rotate(v2, 32);                         \
    } while (0)

static uint64_t siphash(const uint64_t secret[2], Span span)
{
    uint64_t v0 = secret[0] ^ 0x736f6d6570736575ULL, v1 = secret[1] ^ 0x646f72616e646f6dULL;
    uint64_t v2 = secret[0] ^ 0x6c7967656e657261ULL, v3 = secret[1] ^ 0x7465646279746573ULL;
    uint64_t last = (uint64_t)span.size << 56;
    int i;
    for (; span.size >= 8; span.data += 8, span.size -= 8) {
        uint64_t word = le64(span.data);
        v3 ^= word;
        SIP_ROUND(v0, v1, v2, v3);
        v0 ^= word;
    }
    for (i = 0; i < (int)span.size; i++)
        last |= (uint64_t)span.data[i] << (8 * i);
    v3 ^= last;
    SIP_ROUND(v0, v1, v2, v3);
    v0 ^= last;
    v2 ^= 0xff;
    for (i = 0; i < 3; i++)
        SIP_ROUND(v0, v1, v2, v3);
    return v0 ^ v1 ^ v2 ^ v3;
}

enum { SHORT_KEY = 128, SIP_WORDS = 2, NH_WORDS = SHORT_KEY / 8, MIX_WORDS = 8 };
enum { SECRET_WORDS = SIP_WORDS + NH_WORDS + MIX_WORDS };

#if defined(__SIZEOF_INT128__)
typedef unsigned __int128 Wide;

static Wide wide_at(const uint64_t *words)
{
    return (Wide)words[1] << 64 | words[0];
}

/* A third of SipHash's time for the keys that most states have. NH, the sum of products of UMAC
 * (RFC 4418), and a multiply-shift (Dietzfelbinger) of it and the length: however two keys were
 * chosen, as long as the secret is not known the chance that they meet is that of random numbers. */
static uint32_t short_hash(const uint64_t *secret, Span span)
{
    const uint64_t *mix = secret + NH_WORDS;
    Wide length = (Wide)(uint64_t)span.size, sum = 0;
    for (; span.size >= 16; span.data += 16, span.size -= 16, secret += 2)
        sum += (Wide)(le64(span.data) + secret[0]) * (le64(span.data + 8) + secret[1]);
    if (span.size) {
        uint8_t rest[16] = {0};
        memcpy(rest, span.data, (size_t)span.size);
        sum += (Wide)(le64(rest) + secret[0]) * (le64(rest + 8) + secret[1]);
    }
    sum = wide_at(mix) * (uint64_t)sum + wide_at(mix + 2) * (uint64_t)(sum >> 64) +
          wide_at(mix + 4) * length + wide_at(mix + 6);
    return (uint32_t)(sum >> 96);
}
#endif

/* The hash by which a key is looked for. */
static uint32_t tag_of(const uint64_t *secret, Span key)
{
#if defined(__SIZEOF_INT128__)
    if (key.size <= SHORT_KEY)
        return short_hash(secret + SIP_WORDS, key);
#endif
    return (uint32_t)siphash(secret, key);
}

enum { CHUNK = 1 << 20, LARGE_PAGE = 1 << 21, FIRST_KEYS = 1 << 10, FIRST_SLOTS = 1 << 10 };
enum { PACKED_MOST = 64 }; /* bytes of keys that lie side by side */
enum { AHEAD = 64, ROWS_AHEAD = 12 }; /* keys and rows that are fetched at the same time */
#define MOST_KEYS INT64_C(0x7fffffff)

/* Bytes of keys that are not all of one size lie in chunks that never move. */
typedef struct Chunk {
    struct Chunk *next;
    int64_t size; /* of the whole */
    uint8_t data[];
} Chunk;

typedef struct {
    uint32_t tag;    /* hash of the key: the place in the table, and a filter */
    uint32_t number; /* of the key, plus one; 0 is an empty slot */
} Slot;

typedef struct {
    PyObject_HEAD
    uint64_t secret[SECRET_WORDS];
    int busy; /* a thread is at work, perhaps without the GIL */
    int64_t stride;  /* bytes of every key, while all are of one size: fields of fixed width; else 0 */
    uint8_t *packed; /* those keys, by number; they stay here when others come */
    int64_t packed_size;
    Span *keys;          /* by number, while they are not of one size */
    int64_t key_room;
    Chunk *chunks;
    uint8_t *end; /* of what is used in the newest shared chunk */
    int64_t room; /* behind it */
    Slot *slots; /* open addressing, linear probing, at most half full */
    int64_t slot_count;
    int64_t count;
    int64_t bytes; /* allocated */
} Interner;

/* Zeroed memory from the system itself, for what lives as long as the interner: in malloc's arena it
 * would lie between the short-lived arrays of numpy, and keep their space from being given back. In
 * large pages where there are any: keys come in any order, and each small page would be looked up. */
static void *system_allocate(int64_t size)
{
#if defined(MAP_ANONYMOUS)
    void *memory =
        mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
#if defined(MADV_HUGEPAGE)
    if (size >= LARGE_PAGE)
        (void)madvise(memory, (size_t)size, MADV_HUGEPAGE);
#endif
    return memory;
#else
    return calloc(1, (size_t)size);
#endif
}

static void system_free(void *memory, int64_t size)
{
#if defined(MAP_ANONYMOUS)
    if (memory)
        (void)munmap(memory, (size_t)size);
#else
    (void)size;
    free(memory);
#endif
}

static void *allocate(Interner *self, int64_t size)
{
    void *memory = system_allocate(size);
    if (memory)
        self->bytes += size;
    return memory;
}

static void release(Interner *self, void *memory, int64_t size)
{
    system_free(memory, size);
    self->bytes -= size;
}

/* Copies a key into the arena; NULL if there is no memory. */
static const uint8_t *arena_add(Interner *self, Span key)
{
    uint8_t *target;
    if (self->room < key.size || !self->end) {
        int64_t head = (int64_t)sizeof(Chunk);
        int alone = key.size > CHUNK / 4; /* a long key has its own chunk */
        int64_t size = alone ? head + key.size : self->chunks ? LARGE_PAGE : CHUNK;
        Chunk *chunk = allocate(self, size);
        if (!chunk)
            return NULL;
        chunk->size = size;
        chunk->next = self->chunks;
        self->chunks = chunk;
        if (alone) {
            copy(chunk->data, key);
            return chunk->data;
        }
        self->end = chunk->data;
        self->room = size - head;
    }
    target = self->end;
    copy(target, key);
    self->end += key.size;
    self->room -= key.size;
    return target;
}

static Span key_at(const Interner *self, int64_t number)
{
    if (self->stride)
        return (Span){self->packed + number * self->stride, self->stride};
    return self->keys[number];
}

/* Memory of a larger size in place of some, with what is in it; NULL if there is none. */
static void *regrow(Interner *self, void *memory, int64_t size, int64_t larger)
{
    void *grown = allocate(self, larger);
    if (!grown)
        return NULL;
    if (size)
        memcpy(grown, memory, (size_t)size);
    release(self, memory, size);
    return grown;
}

/* Doubles the room for keys of one size. */
static int packed_grow(Interner *self)
{
    int64_t size = self->packed_size ? 2 * self->packed_size : FIRST_KEYS * self->stride;
    uint8_t *packed = regrow(self, self->packed, self->packed_size, size);
    if (!packed)
        return -1;
    self->packed = packed;
    self->packed_size = size;
    return 0;
}

/* Notes where each key lies, as the next is of another size. */
static int keys_spread(Interner *self)
{
    int64_t i, room = self->packed_size / self->stride;
    Span *keys = allocate(self, room * (int64_t)sizeof *keys);
    if (!keys)
        return -1;
    for (i = 0; i < self->count; i++)
        keys[i] = key_at(self, i);
    self->keys = keys;
    self->key_room = room;
    self->stride = 0;
    return 0;
}

/* Doubles the room for keys of any size. */
static int keys_grow(Interner *self)
{
    int64_t room = self->key_room ? 2 * self->key_room : FIRST_KEYS;
    int64_t each = (int64_t)sizeof *self->keys;
    Span *keys = regrow(self, self->keys, self->key_room * each, room * each);
    if (!keys)
        return -1;
    self->keys = keys;
    self->key_room = room;
    return 0;
}

/* Doubles the table. The tags say where each slot goes, so no key is read. */
static int slots_grow(Interner *self)
{
    int64_t i, at, count = self->slot_count ? 2 * self->slot_count : FIRST_SLOTS;
    Slot *slots = allocate(self, count * (int64_t)sizeof *slots);
    if (!slots)
        return -1;
    for (i = 0; i < self->slot_count; i++)
        if (self->slots[i].number) {
            for (at = self->slots[i].tag & (count - 1); slots[at].number;)
                at = (at + 1) & (count - 1);
            slots[at] = self->slots[i];
        }
    release(self, self->slots, self->slot_count * (int64_t)sizeof *slots);
    self->slots = slots;
    self->slot_count = count;
    return 0;
}

/* The slot of a key, or the empty slot where it would go. The table is never full. */
static Slot *slot_of(const Interner *self, Span key, uint32_t tag)
{
    int64_t mask = self->slot_count - 1, at;
    for (at = tag & mask; self->slots[at].number; at = (at + 1) & mask)
        if (self->slots[at].tag == tag &&
            same(key_at(self, (int64_t)self->slots[at].number - 1), key))
            break;
    return &self->slots[at];
}

/* Makes room for one more key everywhere but in the arena. Returns 0, or -1. */
static int interner_reserve(Interner *self, Span key)
{
    if (self->count >= MOST_KEYS)
        return -1;
    if (self->slot_count / 2 <= self->count && slots_grow(self) < 0)
        return -1;
    if (!self->count && !self->key_room)
        self->stride = key.size <= PACKED_MOST ? key.size : 0;
    if (self->stride && self->stride != key.size && keys_spread(self) < 0)
        return -1;
    if (self->stride)
        return self->count * self->stride == self->packed_size ? packed_grow(self) : 0;
    return self->count == self->key_room ? keys_grow(self) : 0;
}

/* The number of a key, which is new if it was not there; -1 if there is no memory. */
static int64_t interner_add(Interner *self, Span key, uint32_t tag)
{
    Slot *slot;
    const uint8_t *data;
    if (interner_reserve(self, key) < 0)
        return -1;
    slot = slot_of(self, key, tag);
    if (slot->number)
        return (int64_t)slot->number - 1;
    if (self->stride) {
        copy(self->packed + self->count * self->stride, key);
    } else {
        data = arena_add(self, key);
        if (!data)
            return -1;
        self->keys[self->count] = (Span){data, key.size};
    }
    self->count++;
    *slot = (Slot){tag, (uint32_t)self->count};
    return self->count - 1;
}

/* Asks for memory that will be read soon, so that many keys wait for it at the same time. What does
 * nothing else has to be inlined: GCC drops calls of functions that only prefetch as without effect. */
#if defined(__GNUC__)
#define prefetch(address) __builtin_prefetch(address)
#define INLINE inline __attribute__((always_inline))
#else
#define prefetch(address) ((void)(address))
#define INLINE inline
#endif

/* The number of the first key that has this tag, or -1: mostly the one that is looked for. */
static int64_t candidate(const Interner *self, uint32_t tag)
{
    int64_t mask = self->slot_count - 1, at;
    for (at = tag & mask; self->slots[at].number; at = (at + 1) & mask)
        if (self->slots[at].tag == tag)
            return (int64_t)self->slots[at].number - 1;
    return -1;
}

/* Finds the candidates of some keys, and fetches ahead what looking them up reads: their slots, where
 * their bytes are, the bytes. The table is random access, so that each of the three would otherwise
 * be waited for per key. */
static INLINE void fetch_ahead(const Interner *self, const uint32_t *tags, int few, int64_t *found)
{
    int i;
    for (i = 0; i < few; i++)
        found[i] = -1;
    if (!self->slot_count)
        return;
    for (i = 0; i < few; i++)
        prefetch(&self->slots[tags[i] & (self->slot_count - 1)]);
    for (i = 0; i < few; i++) {
        found[i] = candidate(self, tags[i]);
        if (found[i] >= 0 && !self->stride)
            prefetch(&self->keys[found[i]]);
    }
    for (i = 0; i < few; i++)
        if (found[i] >= 0) {
            Span key = key_at(self, found[i]);
            prefetch(key.data);
            prefetch(key.data + (key.size ? key.size - 1 : 0));
        }
}

/* Interns some spans. Returns 0, -1 for a bad span, -2 for no memory. */
static int intern_few(Interner *self, const Spans *spans, int64_t first, int few, Array *out)
{
    Span keys[AHEAD];
    uint32_t tags[AHEAD];
    int64_t found[AHEAD];
    int i;
    for (i = 0; i < few; i++) {
        if (span_at(spans, first + i, &keys[i]) < 0)
            return -1;
        tags[i] = tag_of(self->secret, keys[i]);
    }
    fetch_ahead(self, tags, few, found);
    for (i = 0; i < few; i++) {
        int64_t number = found[i];
        if (number < 0 || !same(key_at(self, number), keys[i]))
            number = interner_add(self, keys[i], tags[i]);
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
        int status = intern_few(self, spans, i, few, out);
        if (status < 0)
            return status;
    }
    return 0;
}

/* One thread at a time: the GIL is released while an interner changes. */
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
    Py_BEGIN_ALLOW_THREADS
    status = intern_spans(self, &spans, &out);
    Py_END_ALLOW_THREADS
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

static PyObject *interner_find(PyObject *object, PyObject *argument)
{
    Interner *self = (Interner *)object;
    Py_buffer buffer;
    Span key;
    int64_t number = -1;
    if (interner_enter(self) < 0)
        return NULL;
    if (PyObject_GetBuffer(argument, &buffer, PyBUF_SIMPLE) < 0) {
        self->busy = 0;
        return NULL;
    }
    key = (Span){buffer.buf, buffer.len};
    if (self->count)
        number = (int64_t)slot_of(self, key, tag_of(self->secret, key))->number - 1;
    PyBuffer_Release(&buffer);
    self->busy = 0;
    return PyLong_FromLongLong(number);
}

static PyObject *interner_lengths(PyObject *object, PyObject *argument)
{
    Interner *self = (Interner *)object;
    PyObject *result = NULL;
    Array out;
    int64_t i;
    if (interner_enter(self) < 0)
        return NULL;
    if (out_open(argument, "lq", self->count, &out) == 0) {
        for (i = 0; i < self->count; i++)
            array_set(&out, i, key_at(self, i).size);
        PyBuffer_Release(&out.buffer);
        result = Py_NewRef(Py_None);
    }
    self->busy = 0;
    return result;
}

/* Writes where each key will start, and returns the sum; -1 for a bad number, -2 for too much. */
static int64_t gather_offsets(const Interner *self, const Array *ids, Array *offsets)
{
    int64_t i, total = 0;
    array_set(offsets, 0, 0);
    for (i = 0; i < ids->count; i++) {
        int64_t number = array_get(ids, i), size;
        if (number < 0 || self->count <= number)
            return -1;
        size = key_at(self, number).size;
        if (PY_SSIZE_T_MAX - 64 - total < size)
            return -2;
        total += size;
        array_set(offsets, i + 1, total);
    }
    return total;
}

/* Checks again what gather_offsets checked: the caller's two arrays may overlap. */
static int copy_keys(const Interner *self, const Array *ids, char *target, int64_t room)
{
    int64_t i;
    for (i = 0; i < ids->count; i++) {
        int64_t number = array_get(ids, i);
        Span key;
        if (number < 0 || self->count <= number)
            return -1;
        key = key_at(self, number);
        if (room < key.size)
            return -1;
        copy(target, key);
        target += key.size;
        room -= key.size;
    }
    return room == 0 ? 0 : -1;
}

static PyObject *gather_keys(const Interner *self, const Array *ids, Array *offsets)
{
    int64_t total = gather_offsets(self, ids, offsets);
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
    if (copy_keys(self, ids, target, total) < 0) {
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
    if (array_open(ids_object, 0, "lq", &ids) < 0)
        goto no_ids;
    if (out_open(offsets_object, "lq", ids.count + 1, &offsets) == 0) {
        result = gather_keys(self, &ids, &offsets);
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
    Py_ssize_t count = (Py_ssize_t)self->count;
    if (interner_enter(self) < 0)
        return -1;
    count = (Py_ssize_t)self->count;
    self->busy = 0;
    return count;
}

static PyObject *interner_nbytes(PyObject *object, void *closure)
{
    (void)closure;
    return PyLong_FromLongLong(((Interner *)object)->bytes);
}

/* Takes random bytes from os.urandom, on every platform the same. */
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
    PyObject *object;
    if (PyTuple_Size(args) != 0 || (keywords && PyDict_Size(keywords) != 0)) {
        PyErr_SetString(PyExc_TypeError, "Interner() takes no arguments");
        return NULL;
    }
    object = allocate_object(type, 0); /* zeroed */
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
    while (self->chunks) {
        Chunk *chunk = self->chunks;
        self->chunks = chunk->next;
        system_free(chunk, chunk->size);
    }
    system_free(self->packed, self->packed_size);
    system_free(self->keys, self->key_room * (int64_t)sizeof *self->keys);
    system_free(self->slots, self->slot_count * (int64_t)sizeof *self->slots);
    free_object(object);
    Py_DECREF(type);
}

static PyMethodDef interner_methods[] = {
    {"intern", interner_intern, METH_VARARGS, "Give every span the number of its bytes."},
    {"find", interner_find, METH_O, "The number of a byte string, or -1."},
    {"lengths", interner_lengths, METH_O, "The length of every byte string."},
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

static PyType_Spec interner_spec = {
    .name = "inspector.kernel._kernel_c.Interner",
    .basicsize = sizeof(Interner),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = interner_slots,
};

/* --- the table of keys ------------------------------------------------------------------------ */

/* A key of a map, and what the version before held of a key that this one touches: the layouts of
 * ROW and TOUCH in _table_py.py. A row is read and written as a whole: one place in memory. */
typedef struct {
    uint64_t value_hash;
    int64_t clock;
    int32_t key_size, value_size, put_step, born_step;
    int32_t touched; /* one more than the step that touched it last; 0 if none did */
    int32_t puts, record;
    uint8_t live, same_state, unused[2];
} Row;

typedef struct {
    int64_t id;
    uint64_t hash;
    int64_t clock;
    int32_t size;
    uint8_t live, unused[3];
} Touch;

typedef char row_has_48_bytes[sizeof(Row) == 48 ? 1 : -1];
typedef char touch_has_32_bytes[sizeof(Touch) == 32 ? 1 : -1];

#define NO_CLOCK INT64_MIN
enum { BEFORE_WINDOW = -1 };
static const Row FRESH = {0, NO_CLOCK, 0, 0, BEFORE_WINDOW, BEFORE_WINDOW, 0, 0, -1, 0, 0, {0, 0}};

enum { REBASED = 1, TIMED = 2 };

/* A version: its number, and how its records are to be taken. */
typedef struct {
    int32_t step, made; /* made: the step that its puts have in the table */
    int timed;
} Version;

static Version version_of(long long step, long long flags)
{
    Version version = {(int32_t)step, (int32_t)step, (flags & TIMED) != 0};
    if (flags & REBASED)
        version.made = BEFORE_WINDOW;
    return version;
}

static Row row_get(const Py_buffer *table, int64_t id)
{
    Row row;
    memcpy(&row, (const char *)table->buf + id * (int64_t)sizeof row, sizeof row);
    return row;
}

static Touch touch_get(const Py_buffer *touched, int64_t i)
{
    Touch touch;
    memcpy(&touch, (const char *)touched->buf + i * (int64_t)sizeof touch, sizeof touch);
    return touch;
}

/* Fetches ahead a row of a table, which may lie across two lines of the cache. */
static INLINE void fetch_row(const Py_buffer *table, int64_t rows, int64_t id)
{
    const char *row;
    if (id < 0 || rows <= id)
        return;
    row = (const char *)table->buf + id * (int64_t)sizeof(Row);
    prefetch(row);
    prefetch(row + sizeof(Row) - 1);
}

/* What became of a touched key. */
enum { WAS_LIVE, NOW_LIVE, WRITTEN, REBORN, SAME_STATE, SAME_VALUE, CHANGE_FLAGS };

static INLINE void became(Version version, const Touch *was, const Row *now,
                          int64_t told[CHANGE_FLAGS])
{
    told[WAS_LIVE] = was->live != 0;
    told[NOW_LIVE] = now->live != 0;
    told[WRITTEN] = now->live && now->put_step == version.made;
    told[REBORN] = now->live && now->born_step == version.made;
    told[SAME_STATE] = was->live && told[WRITTEN] && now->value_hash == was->hash &&
                       now->value_size == was->size;
    told[SAME_VALUE] = told[SAME_STATE] && (!version.timed || now->clock == was->clock);
}

/* Sums over touched keys, and the live rows that come and go by size: see tally in _table_py. */
enum {
    SUM_WAS_ROWS,
    SUM_NOW_ROWS,
    SUM_NEW,
    SUM_REMOVED,
    SUM_WRITTEN,
    SUM_REBORN,
    SUM_CHANGED,
    SUM_SAME_VALUE,
    SUM_WAS_KEYS,
    SUM_NOW_KEYS,
    SUM_WAS_VALUES,
    SUM_NOW_VALUES,
    SUM_REBORN_KEYS,
    SUM_WRITTEN_VALUES,
    SUMS
};

typedef struct {
    Array sums, by_size;
    int64_t sum[SUMS];
    int64_t room; /* of each of the three counts by size */
    int64_t largest;
} Tally;

static int tally_open(PyObject *sums, PyObject *by_size, Tally *tally)
{
    if (out_open(sums, "lq", SUMS, &tally->sums) < 0 ||
        array_open(by_size, 1, "lq", &tally->by_size) < 0)
        return -1;
    tally->room = tally->by_size.count / 3;
    if (tally->by_size.count % 3) {
        PyErr_SetString(PyExc_ValueError, "arrays differ in length");
        return -1;
    }
    return 0;
}

static void tally_size(Tally *tally, int64_t kind, int64_t size, int64_t rows)
{
    if (tally->largest < size)
        tally->largest = size;
    if (0 <= size && size < tally->room) {
        int64_t at = kind * tally->room + size;
        array_set(&tally->by_size, at, array_get(&tally->by_size, at) + rows);
    }
}

static void tally_row(Tally *tally, int64_t key, int64_t value, int64_t rows)
{
    tally_size(tally, 0, key, rows);
    tally_size(tally, 1, value, rows);
    tally_size(tally, 2, key + value, rows);
}

static INLINE void tally_key(Tally *tally, Version version, const Touch *was, const Row *now)
{
    int64_t told[CHANGE_FLAGS], *sum = tally->sum;
    int64_t key = now->key_size, before = was->size, value = now->value_size;
    became(version, was, now, told);
    sum[SUM_WAS_ROWS] += told[WAS_LIVE];
    sum[SUM_NOW_ROWS] += told[NOW_LIVE];
    sum[SUM_NEW] += told[NOW_LIVE] & !told[WAS_LIVE];
    sum[SUM_REMOVED] += told[WAS_LIVE] & !told[NOW_LIVE];
    sum[SUM_WRITTEN] += told[WRITTEN];
    sum[SUM_REBORN] += told[REBORN];
    sum[SUM_CHANGED] += told[WAS_LIVE] & told[WRITTEN] & !told[SAME_VALUE];
    sum[SUM_SAME_VALUE] += told[SAME_VALUE];
    sum[SUM_WAS_KEYS] += told[WAS_LIVE] * key;
    sum[SUM_NOW_KEYS] += told[NOW_LIVE] * key;
    sum[SUM_WAS_VALUES] += told[WAS_LIVE] * before;
    sum[SUM_NOW_VALUES] += told[NOW_LIVE] * value;
    sum[SUM_REBORN_KEYS] += told[REBORN] * key;
    sum[SUM_WRITTEN_VALUES] += told[WRITTEN] * value;
    if (told[WAS_LIVE] && told[NOW_LIVE] && before == value)
        return; /* as many of every size as before */
    if (told[WAS_LIVE])
        tally_row(tally, key, before, -1);
    if (told[NOW_LIVE])
        tally_row(tally, key, value, 1);
}

/* Adds the sums to the caller's. They only wrap where those overflow. */
static void tally_close(Tally *tally)
{
    int64_t i;
    for (i = 0; i < tally->sums.count; i++) {
        uint64_t sum = (uint64_t)array_get(&tally->sums, i) + (uint64_t)tally->sum[i];
        array_set(&tally->sums, i, (int64_t)sum);
    }
    PyBuffer_Release(&tally->by_size.buffer);
    PyBuffer_Release(&tally->sums.buffer);
}

/* --- apply --------------------------------------------------------------------------------- */

enum { PUTS, INSERTS, UPDATES, SAME, SAME_BYTES, REMOVALS, ABSENT, COUNTS };

typedef struct {
    Py_buffer table;
    Array ids, key_sizes, value_sizes, hashes, clocks; /* clocks.buffer.obj is NULL without any */
    Py_buffer touched;
    Array counts;
    Version version;
    Tally tally;
    int64_t rows, first_record;
    int64_t count[COUNTS];
    int64_t touches;
} Apply;

static void apply_put(Apply *apply, int64_t i, Row *row)
{
    int64_t size = array_get(&apply->value_sizes, i), *count = apply->count;
    uint64_t hash = (uint64_t)array_get(&apply->hashes, i);
    int64_t clock = apply->clocks.buffer.obj ? array_get(&apply->clocks, i) : row->clock;
    int32_t made = apply->version.made;
    int same_value = row->live && row->value_hash == hash && row->value_size == (int32_t)size &&
                     (!apply->version.timed || row->clock == clock);
    count[PUTS]++;
    count[row->live ? UPDATES : INSERTS]++;
    count[SAME] += same_value;
    count[SAME_BYTES] += same_value ? row->key_size + size : 0;
    if (!row->live)
        row->born_step = made;
    row->put_step = made;
    if (made != BEFORE_WINDOW && row->puts < INT32_MAX)
        row->puts++;
    row->live = 1;
    row->value_hash = hash;
    row->value_size = (int32_t)size;
    row->clock = clock;
}

static void apply_record(Apply *apply, int64_t i, Row *row)
{
    row->key_size = (int32_t)array_get(&apply->key_sizes, i);
    row->record = (int32_t)((apply->first_record + i) & INT32_MAX);
    if (array_get(&apply->value_sizes, i) >= 0) {
        apply_put(apply, i, row);
    } else {
        apply->count[REMOVALS]++;
        apply->count[ABSENT] += !row->live;
        row->live = 0;
    }
}

static int apply_records(Apply *apply)
{
    int64_t i, count = apply->ids.count;
    int32_t touched = (int32_t)((uint32_t)apply->version.step + 1);
    for (i = 0; i < count; i++) {
        int64_t id = array_get(&apply->ids, i);
        Row row;
        if (id < 0 || apply->rows <= id)
            return -1;
        if (count - i > ROWS_AHEAD)
            fetch_row(&apply->table, apply->rows, array_get(&apply->ids, i + ROWS_AHEAD));
        row = row_get(&apply->table, id);
        if (!row.touched)
            row = FRESH;
        if (row.touched == touched) {
            apply_record(apply, i, &row);
        } else {
            Touch was = {id, row.value_hash, row.clock, row.value_size, row.live, {0, 0, 0}};
            row.touched = touched;
            apply_record(apply, i, &row);
            tally_key(&apply->tally, apply->version, &was, &row);
            memcpy((char *)apply->touched.buf + apply->touches * (int64_t)sizeof was, &was,
                   sizeof was);
            apply->touches++;
        }
        memcpy((char *)apply->table.buf + id * (int64_t)sizeof row, &row, sizeof row);
    }
    for (i = 0; i < COUNTS; i++)
        array_set(&apply->counts, i, array_get(&apply->counts, i) + apply->count[i]);
    return 0;
}

/* Opens the arrays that have one number per record. */
static int columns_open(PyObject *const objects[5], Apply *apply)
{
    Array *const arrays[5] = {&apply->ids, &apply->key_sizes, &apply->value_sizes, &apply->hashes,
                              &apply->clocks};
    int i;
    for (i = 0; i < 5; i++) {
        if (i == 4 && objects[i] == Py_None)
            break;
        if (array_open(objects[i], 0, i == 3 ? "LQ" : "lq", arrays[i]) < 0)
            return -1;
        if (arrays[i]->count != apply->ids.count) {
            PyErr_SetString(PyExc_ValueError, "arrays differ in length");
            return -1;
        }
    }
    return 0;
}

static int apply_open(PyObject *table, PyObject *const columns[5], PyObject *const results[4],
                      Apply *apply)
{
    if (PyObject_GetBuffer(table, &apply->table, PyBUF_WRITABLE) < 0 ||
        columns_open(columns, apply) < 0 ||
        PyObject_GetBuffer(results[0], &apply->touched, PyBUF_WRITABLE) < 0 ||
        out_open(results[1], "lq", COUNTS, &apply->counts) < 0 ||
        tally_open(results[2], results[3], &apply->tally) < 0)
        return -1;
    apply->rows = apply->table.len / (int64_t)sizeof(Row);
    if (apply->touched.len / (int64_t)sizeof(Touch) < apply->ids.count) {
        PyErr_SetString(PyExc_ValueError, "no room for every key that may be touched");
        return -1;
    }
    return 0;
}

static void apply_close(Apply *apply) /* releasing a buffer that was not filled does nothing */
{
    tally_close(&apply->tally);
    PyBuffer_Release(&apply->counts.buffer);
    PyBuffer_Release(&apply->touched);
    PyBuffer_Release(&apply->clocks.buffer);
    PyBuffer_Release(&apply->hashes.buffer);
    PyBuffer_Release(&apply->value_sizes.buffer);
    PyBuffer_Release(&apply->key_sizes.buffer);
    PyBuffer_Release(&apply->ids.buffer);
    PyBuffer_Release(&apply->table);
}

static PyObject *kernel_apply(PyObject *module, PyObject *args)
{
    PyObject *table, *columns[5], *results[4], *result = NULL;
    long long step, first_record, flags;
    Apply apply;
    int status;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOOOOLLLOOOO:apply", &table, &columns[0], &columns[1],
                          &columns[2], &columns[3], &columns[4], &step, &first_record, &flags,
                          &results[0], &results[1], &results[2], &results[3]))
        return NULL;
    memset(&apply, 0, sizeof apply);
    apply.version = version_of(step, flags);
    apply.first_record = first_record;
    if (apply_open(table, columns, results, &apply) == 0) {
        Py_BEGIN_ALLOW_THREADS
        status = apply_records(&apply);
        Py_END_ALLOW_THREADS
        if (status < 0)
            PyErr_SetString(PyExc_ValueError, "an id without a row");
        else
            result = Py_BuildValue("LL", (long long)apply.touches, (long long)apply.tally.largest);
    }
    apply_close(&apply);
    return result;
}

/* --- settle and tally ------------------------------------------------------------------------ */

/* A table and some touched keys of it: the arguments that both share. */
typedef struct {
    Py_buffer table, touched;
    int64_t rows, count;
} Touched;

static int touched_open(PyObject *table, PyObject *touches, Touched *touched)
{
    if (PyObject_GetBuffer(table, &touched->table, PyBUF_SIMPLE) < 0 ||
        PyObject_GetBuffer(touches, &touched->touched, PyBUF_SIMPLE) < 0)
        return -1;
    touched->rows = touched->table.len / (int64_t)sizeof(Row);
    touched->count = touched->touched.len / (int64_t)sizeof(Touch);
    return 0;
}

static void touched_close(Touched *touched)
{
    PyBuffer_Release(&touched->touched);
    PyBuffer_Release(&touched->table);
}

/* Reads a touched key as it was and as it is, and fetches a later one ahead. Returns 0, or -1. */
static INLINE int touched_get(const Touched *touched, int64_t i, Touch *was, Row *now)
{
    *was = touch_get(&touched->touched, i);
    if (was->id < 0 || touched->rows <= was->id)
        return -1;
    if (touched->count - i > ROWS_AHEAD)
        fetch_row(&touched->table, touched->rows,
                  touch_get(&touched->touched, i + ROWS_AHEAD).id);
    *now = row_get(&touched->table, was->id);
    return 0;
}

/* Eleven columns, of which this fills a part: the numbers id, key size, size before, size now, clock
 * before; and one byte each of what became of the key. */
enum { CHANGE_NUMBERS = 5 };

typedef struct {
    Touched touched;
    Version version;
    Array numbers;
    Py_buffer flags;
    int64_t first, length; /* of the part, and of a column */
} Settle;

static int settle_all(Settle *settle)
{
    int64_t i, kind, length = settle->length;
    for (i = 0; i < settle->touched.count; i++) {
        int64_t told[CHANGE_FLAGS], at = settle->first + i;
        Touch was;
        Row now;
        if (touched_get(&settle->touched, i, &was, &now) < 0)
            return -1;
        became(settle->version, &was, &now, told);
        array_set(&settle->numbers, at, was.id);
        array_set(&settle->numbers, length + at, now.key_size);
        array_set(&settle->numbers, 2 * length + at, was.size);
        array_set(&settle->numbers, 3 * length + at, now.value_size);
        array_set(&settle->numbers, 4 * length + at, was.live ? was.clock : NO_CLOCK);
        for (kind = 0; kind < CHANGE_FLAGS; kind++)
            ((char *)settle->flags.buf)[kind * length + at] = (char)told[kind];
    }
    return 0;
}

static int settle_open(PyObject *numbers, PyObject *flags, Settle *settle)
{
    if (PyObject_GetBuffer(flags, &settle->flags, PyBUF_WRITABLE) < 0)
        return -1;
    settle->length = settle->flags.len / CHANGE_FLAGS;
    if (settle->flags.len % CHANGE_FLAGS || settle->first < 0 ||
        settle->length < settle->first ||
        settle->length - settle->first < settle->touched.count) {
        PyErr_SetString(PyExc_ValueError, "arrays differ in length");
        return -1;
    }
    return out_open(numbers, "lq", CHANGE_NUMBERS * settle->length, &settle->numbers);
}

static PyObject *kernel_settle(PyObject *module, PyObject *args)
{
    PyObject *table, *touched, *numbers, *flags, *result = NULL;
    long long step, taken, first;
    Settle settle;
    int status;
    (void)module;
    memset(&settle, 0, sizeof settle);
    if (!PyArg_ParseTuple(args, "OOLLLOO:settle", &table, &touched, &step, &taken, &first,
                          &numbers, &flags))
        return NULL;
    settle.version = version_of(step, taken);
    settle.first = first;
    if (touched_open(table, touched, &settle.touched) == 0 &&
        settle_open(numbers, flags, &settle) == 0) {
        Py_BEGIN_ALLOW_THREADS
        status = settle_all(&settle);
        Py_END_ALLOW_THREADS
        if (status < 0)
            PyErr_SetString(PyExc_ValueError, "an id without a row");
        else
            result = Py_NewRef(Py_None);
    }
    PyBuffer_Release(&settle.numbers.buffer);
    PyBuffer_Release(&settle.flags);
    touched_close(&settle.touched);
    return result;
}

static int tally_all(Tally *tally, const Touched *touched, Version version)
{
    int64_t i;
    for (i = 0; i < touched->count; i++) {
        Touch was;
        Row now;
        if (touched_get(touched, i, &was, &now) < 0)
            return -1;
        tally_key(tally, version, &was, &now);
    }
    return 0;
}

static PyObject *kernel_tally(PyObject *module, PyObject *args)
{
    PyObject *table, *touches, *sums, *by_size, *result = NULL;
    long long step, flags;
    Touched touched;
    Tally tally;
    int status;
    (void)module;
    memset(&touched, 0, sizeof touched);
    memset(&tally, 0, sizeof tally);
    if (!PyArg_ParseTuple(args, "OOLLOO:tally", &table, &touches, &step, &flags, &sums, &by_size))
        return NULL;
    if (touched_open(table, touches, &touched) == 0 && tally_open(sums, by_size, &tally) == 0) {
        Py_BEGIN_ALLOW_THREADS
        status = tally_all(&tally, &touched, version_of(step, flags));
        Py_END_ALLOW_THREADS
        if (status < 0)
            PyErr_SetString(PyExc_ValueError, "an id without a row");
        else
            result = PyLong_FromLongLong(tally.largest);
    }
    tally_close(&tally);
    touched_close(&touched);
    return result;
}

/* --- rows ---------------------------------------------------------------------------------- */

/* What a field of a row must be; operands follow in the program. See check_rows in _rows_py. */
enum { ANY, UNUSED, RANGE, REGION, STRUCT, DOUBT };
enum { WORD = 8, DEEPEST = 64 };

/* A number of a program, which ends in zeros (ANY): nothing is read behind it. */
static int64_t number_at(const Array *program, int64_t at)
{
    return at < program->count ? array_get(program, at) : 0;
}

/* How many operands a field of some kind has; `at` is the place of the first. */
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

/* Whether the variable part that a slot refers to lies within its row; takes it off the budget. */
static int region_of(Span row, uint64_t slot, int64_t fixed, int64_t *budget, Span *region)
{
    int64_t offset = (int64_t)(slot >> 32), size = (int64_t)(slot & 0xffffffff);
    if (offset < fixed || row.size < offset || row.size - offset < size || *budget < size)
        return 0;
    *budget -= size;
    *region = (Span){row.data + offset, size};
    return 1;
}

/* Holds one field that is not null against its operands. */
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

/* Holds a row or struct against what stands in a program from a place on. */
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

static PyObject *kernel_check_rows(PyObject *module, PyObject *args)
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
    Py_BEGIN_ALLOW_THREADS
    found = check_rows(&spans, &program, out.buf);
    Py_END_ALLOW_THREADS
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

/* Follows a path of (fields, ordinal) pairs through nested structs to a slot. Returns 1 if there
 * is a value, 0 if there is none: null, or the row does not fit. */
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

static PyObject *kernel_read_slots(PyObject *module, PyObject *args)
{
    PyObject *bytes, *offsets, *lengths, *path_object, *values_object, *valid_object, *result = NULL;
    Spans spans;
    Array path, values;
    Py_buffer valid;
    int status;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOOOO:read_slots", &bytes, &offsets, &lengths, &path_object,
                          &values_object, &valid_object))
        return NULL;
    if (spans_open(bytes, offsets, lengths, &spans) < 0)
        return NULL;
    if (array_open(path_object, 0, "lq", &path) < 0)
        goto no_path;
    if (out_open(values_object, "lq", spans.offsets.count, &values) < 0)
        goto no_values;
    if (PyObject_GetBuffer(valid_object, &valid, PyBUF_WRITABLE) < 0)
        goto no_valid;
    if (valid.len != spans.offsets.count) {
        PyErr_SetString(PyExc_ValueError, "arrays differ in length");
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    status = read_slots(&spans, &path, &values, valid.buf);
    Py_END_ALLOW_THREADS
    if (status < 0)
        PyErr_SetString(PyExc_ValueError, OUTSIDE);
    else
        result = Py_NewRef(Py_None);
done:
    PyBuffer_Release(&valid);
no_valid:
    PyBuffer_Release(&values.buffer);
no_values:
    PyBuffer_Release(&path.buffer);
no_path:
    spans_close(&spans);
    return result;
}

/* --- order of rows ------------------------------------------------------------------------- */

/* What a field is compared by, beside the widths 1 to 8 of signed numbers. See _order_py. */
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

/* How one row stands to another: below 0 if it comes first, 0 if they are equal, above 0 if the
 * other comes first; or one of these. */
enum { UNKNOWN_ORDER = 2, NO_FIT = 3 };

/* A row, struct or array whose fields or elements are compared. */
typedef struct {
    Span data;
    int64_t nulls;  /* where its null bits start */
    int64_t values; /* where its values start */
    int64_t fixed;  /* where its variable part starts */
    int64_t budget; /* bytes of it that no value has claimed */
} Parts;

/* Looks at a span as so many values. Returns whether it has room for them. */
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

/* The bits of an element that may be narrow. */
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

/* NaN equals NaN and comes last; zeros of both signs are equal. */
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

/* As memcmp of unsigned bytes; a beginning comes before what it begins. */
static int compare_bytes(Span one, Span other)
{
    int64_t size = other.size < one.size ? other.size : one.size;
    int order = size ? memcmp(one.data, other.data, (size_t)size) : 0;
    return order ? (order < 0 ? -1 : 1) : compare_numbers(one.size, other.size);
}

enum { BIG = 16, NANOS_AT = 8 };

/* A big-endian signed number of up to 16 bytes, made so that unsigned bytes compare as it does. */
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

/* Microseconds, and the nanoseconds within. */
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

/* The place in a program behind the field at another. */
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

/* Compares variable parts that are not mere bytes; `at` is the place behind the kind. */
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

/* One of two values that are compared: where it lies, whether it is null, its bits. */
typedef struct {
    Parts *parts;
    int null;
    uint64_t bits;
} Value;

/* Compares the same field, or element, of two rows, structs or arrays. */
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

/* Compares so many fields, from a place in the program on. */
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

/* Compares rows or structs field by field; `at` is the place in the program behind their number. */
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

/* Looks at a span as an array of values of some width. */
static int elements_open(Span data, int64_t width, Parts *parts, int64_t *count)
{
    if (data.size < WORD)
        return 0;
    *count = (int64_t)le64(data.data);
    return 0 <= *count && *count <= data.size && parts_open(data, *count, WORD, width, parts);
}

/* Bytes of an array's element. */
static int64_t element_width(int64_t kind)
{
    return 1 <= kind && kind <= WORD ? kind : kind == FLOAT ? 4 : WORD;
}

/* Compares arrays element by element; a beginning comes before what it begins. */
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
            return NOT_COMPARED;
        below[i] = order == 1;
        found += below[i];
    }
    return found;
}

static PyObject *kernel_descents(PyObject *module, PyObject *args)
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
    Py_BEGIN_ALLOW_THREADS
    found = descents(&spans, &program, below.buf);
    Py_END_ALLOW_THREADS
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

/* --- module -------------------------------------------------------------------------------- */

static PyMethodDef kernel_methods[] = {
    {"scan", kernel_scan, METH_VARARGS, "Find whole records."},
    {"hash64", kernel_hash64, METH_VARARGS, "Hash every span."},
    {"gather", kernel_gather, METH_VARARGS, "Concatenate spans."},
    {"apply", kernel_apply, METH_VARARGS, "Apply records to a table of keys."},
    {"settle", kernel_settle, METH_VARARGS, "Tell what became of touched keys."},
    {"tally", kernel_tally, METH_VARARGS, "Add up what became of touched keys."},
    {"check_rows", kernel_check_rows, METH_VARARGS, "Find the rows that may not fit a schema."},
    {"read_slots", kernel_read_slots, METH_VARARGS, "Read one 64-bit field of every row."},
    {"descents", kernel_descents, METH_VARARGS, "Find the rows that are below the one before."},
    {NULL, NULL, 0, NULL},
};

static int kernel_exec(PyObject *module)
{
    static const struct {
        const char *name;
        long value;
    } constants[] = {
        {"MORE", MORE},           {"FULL", FULL}, {"END", END}, {"BAD_KEY_LENGTH", BAD_KEY_LENGTH},
        {"OVER_LIMIT", OVER_LIMIT}, {"SPAN", SPAN},
    };
    size_t i;
    PyObject *type = PyType_FromSpec(&interner_spec);
    if (!type)
        return -1;
    if (PyModule_AddObject(module, "Interner", type) < 0) { /* takes the reference if it succeeds */
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
    .m_doc = "The loops of decode, compiled; inspector.kernel._kernel_py defines them.",
    .m_methods = kernel_methods,
    .m_slots = kernel_slots,
};

PyMODINIT_FUNC PyInit__kernel_c(void)
{
    return PyModuleDef_Init(&kernel_module);
}
