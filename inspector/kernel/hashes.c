/* Computes Spark's hash of the fields of UnsafeRows; _rows.py defines the result. */
#include "functions.h"
#include "unsafe_row.h"

/* Kinds of fields; operands follow in the program. programs.py describes them. */
enum { BYTES = 0, INT8 = 1, INT16 = 2, INT32 = 4, INT64 = 8, FLOAT = 9, DOUBLE = 10, NOTHING = 14,
       FIELDS = 15, BOOLEAN = 17 };

enum { SEED = 42, MOST_BYTES = 4096 };

static inline uint32_t rotated(uint32_t value, int bits)
{
    return value << bits | value >> (32 - bits);
}

static inline uint32_t mixed(uint32_t hash, uint32_t word)
{
    return rotated(hash ^ rotated(word * 0xcc9e2d51u, 15) * 0x1b873593u, 13) * 5 + 0xe6546b64u;
}

static inline uint32_t finished(uint32_t hash, uint32_t length)
{
    hash ^= length;
    hash = (hash ^ hash >> 16) * 0x85ebca6bu;
    hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
    return hash ^ hash >> 16;
}

static inline uint32_t of_int(uint32_t value, uint32_t seed)
{
    return finished(mixed(seed, value), 4);
}

static inline uint32_t of_long(uint64_t value, uint32_t seed)
{
    return finished(mixed(mixed(seed, (uint32_t)value), (uint32_t)(value >> 32)), 8);
}

/* Returns the hash of bytes, by words; each of the last one to three bytes counts as an int. */
static uint32_t of_bytes(Span bytes, uint32_t seed)
{
    int64_t i, whole = bytes.size / 4 * 4;
    for (i = 0; i < whole; i += 4)
        seed = mixed(seed, (uint32_t)le32(bytes.data + i));
    for (; i < bytes.size; i++)
        seed = mixed(seed, (uint32_t)(int8_t)bytes.data[i]);
    return finished(seed, (uint32_t)bytes.size);
}

/* Returns the hash of a float: all NaN are one, and negative zero is zero. */
static uint32_t of_float(uint32_t bits, uint32_t seed)
{
    uint32_t size = bits & 0x7fffffffu;
    return of_int(size > 0x7f800000u ? 0x7fc00000u : size ? bits : 0, seed);
}

static uint32_t of_double(uint64_t bits, uint32_t seed)
{
    uint64_t size = bits & 0x7fffffffffffffffu;
    return of_long(size > 0x7ff0000000000000u ? 0x7ff8000000000000u : size ? bits : 0, seed);
}

static int row_hash(Span row, const Array *program, int64_t at, int depth, uint32_t *hash);

/* Adds a field that is not null to the hash. Returns 0 if the field does not fit. */
static int field_hash(int64_t kind, Span row, uint64_t slot, const Array *program, int64_t at,
                      int depth, uint32_t *hash)
{
    int64_t budget = row.size;
    Span region;
    switch (kind) {
    case NOTHING:
        return 1;
    case BOOLEAN:
        *hash = of_int((slot & 0xff) != 0, *hash);
        return 1;
    case INT8:
        *hash = of_int((uint32_t)(int8_t)slot, *hash);
        return 1;
    case INT16:
        *hash = of_int((uint32_t)(int16_t)slot, *hash);
        return 1;
    case INT32:
        *hash = of_int((uint32_t)slot, *hash);
        return 1;
    case INT64:
        *hash = of_long(slot, *hash);
        return 1;
    case FLOAT:
        *hash = of_float((uint32_t)slot, *hash);
        return 1;
    case DOUBLE:
        *hash = of_double(slot, *hash);
        return 1;
    case BYTES:
        if (!region_of(row, slot, WORD, &budget, &region) || MOST_BYTES < region.size)
            return 0;
        *hash = of_bytes(region, *hash);
        return 1;
    case FIELDS:
        return region_of(row, slot, WORD, &budget, &region) &&
               row_hash(region, program, at + 1, depth + 1, hash);
    default:
        return 0;
    }
}

/* Adds the first fields of a row or struct to the hash, by the program at `at`. Returns 0 if one
 * does not fit. */
static int row_hash(Span row, const Array *program, int64_t at, int depth, uint32_t *hash)
{
    int64_t fields = number_at(program, at++), hashed = number_at(program, at++), bits, i;
    if (fields < 0 || INT32_MAX < fields || fields < hashed || DEEPEST < depth)
        return 0;
    bits = (fields + 63) / 64 * WORD;
    if (row.size < bits + fields * WORD)
        return 0;
    for (i = 0; i < hashed; i++) {
        int64_t kind = number_at(program, at++), length;
        if (!(row.data[i >> 3] >> (i & 7) & 1) &&
            !field_hash(kind, row, le64(row.data + bits + i * WORD), program, at, depth, hash))
            return 0;
        if (kind == FIELDS) {
            length = number_at(program, at);
            at = length < 0 || program->count - 1 < length ? program->count : at + 1 + length;
        }
    }
    return 1;
}

static int row_hashes(const Spans *spans, const Array *program, Array *hashes, char *known)
{
    int64_t i;
    for (i = 0; i < spans->offsets.count; i++) {
        uint32_t hash = SEED;
        Span row;
        if (span_at(spans, i, &row) < 0)
            return -1;
        known[i] = (char)row_hash(row, program, 0, 0, &hash);
        array_set(hashes, i, known[i] ? (int32_t)hash : 0);
    }
    return 0;
}

PyObject *kernel_row_hashes(PyObject *module, PyObject *args)
{
    (void)module;
    return numbers_of_rows(args, "OOOOOO:row_hashes", row_hashes);
}
