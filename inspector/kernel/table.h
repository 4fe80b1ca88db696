/* Table of keys that a replay keeps, what a version did to each key, and the sums of that; apply.c
 * and changes.c share it. The layouts are those of record_layout.py. */
#ifndef INSPECTOR_KERNEL_TABLE_H
#define INSPECTOR_KERNEL_TABLE_H

#include "arguments.h"

enum { ROWS_AHEAD = 12 }; /* rows that are fetched at the same time */

/* A key of a map, and its previous state if a version touches it: ROW and TOUCH in
 * record_layout.py. A row is read and written as a whole, because it is one place in memory. */
typedef struct {
    uint64_t value_hash;
    int64_t clock;
    int32_t key_size, value_size, put_step, born_step;
    int32_t touched; /* one more than the step that touched it last; 0: none */
    int32_t puts, record;
    uint8_t live, put_same_state, mark, unused;
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
static const Row FRESH = {0, NO_CLOCK, 0, 0, BEFORE_WINDOW, BEFORE_WINDOW, 0, 0, -1, 0, 0, 0, 0};

enum { REBASED = 1, TIMED = 2 };

/* A version: its number, and how its records count. */
typedef struct {
    int32_t step, put_step; /* put_step: the step of its puts in the table */
    int timed;
} Version;

static inline Version version_of(long long step, long long flags)
{
    Version version = {(int32_t)step, (int32_t)step, (flags & TIMED) != 0};
    if (flags & REBASED)
        version.put_step = BEFORE_WINDOW;
    return version;
}

static inline Row row_get(const Py_buffer *table, int64_t id)
{
    Row row;
    memcpy(&row, (const char *)table->buf + id * (int64_t)sizeof row, sizeof row);
    return row;
}

static inline Touch touch_get(const Py_buffer *touched, int64_t i)
{
    Touch touch;
    memcpy(&touch, (const char *)touched->buf + i * (int64_t)sizeof touch, sizeof touch);
    return touch;
}

/* Fetches ahead a row of a table, which may be in two cache lines. */
static INLINE void fetch_row(const Py_buffer *table, int64_t rows, int64_t id)
{
    const char *row;
    if (id < 0 || rows <= id)
        return;
    row = (const char *)table->buf + id * (int64_t)sizeof(Row);
    prefetch(row);
    prefetch(row + sizeof(Row) - 1);
}

/* What a version did to a key that it touched. */
enum { WAS_LIVE, NOW_LIVE, WRITTEN, REBORN, SAME_STATE, SAME_VALUE, OUTCOMES };

static INLINE void outcome_of(Version version, const Touch *was, const Row *now,
                          int64_t outcome[OUTCOMES])
{
    outcome[WAS_LIVE] = was->live != 0;
    outcome[NOW_LIVE] = now->live != 0;
    outcome[WRITTEN] = now->live && now->put_step == version.put_step;
    outcome[REBORN] = now->live && now->born_step == version.put_step;
    outcome[SAME_STATE] = was->live && outcome[WRITTEN] && now->value_hash == was->hash &&
                       now->value_size == was->size;
    outcome[SAME_VALUE] = outcome[SAME_STATE] && (!version.timed || now->clock == was->clock);
}

/* Sums over touched keys, and changes in the number of live rows by size: tally in _changes.py. */
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
    int64_t room; /* room of each of the three counts by size */
    int64_t largest;
} Tally;

static inline int tally_open(PyObject *sums, PyObject *by_size, int64_t versions, Tally *tally)
{
    if (out_open(sums, "lq", SUMS * versions, &tally->sums) < 0 ||
        array_open(by_size, 1, "lq", &tally->by_size) < 0)
        return -1;
    tally->room = tally->by_size.count / 3;
    if (tally->by_size.count % 3) {
        PyErr_SetString(PyExc_ValueError, "arrays differ in length");
        return -1;
    }
    return 0;
}

static inline void tally_size(Tally *tally, int64_t kind, int64_t size, int64_t rows)
{
    if (tally->largest < size)
        tally->largest = size;
    if (0 <= size && size < tally->room)
        array_add(&tally->by_size, kind * tally->room + size, rows);
}

static inline void tally_row(Tally *tally, int64_t key, int64_t value, int64_t rows)
{
    tally_size(tally, 0, key, rows);
    tally_size(tally, 1, value, rows);
    tally_size(tally, 2, key + value, rows);
}

static INLINE void tally_key(Tally *tally, Version version, const Touch *was, const Row *now)
{
    int64_t outcome[OUTCOMES], *sum = tally->sum;
    int64_t key = now->key_size, before = was->size, value = now->value_size;
    outcome_of(version, was, now, outcome);
    sum[SUM_WAS_ROWS] += outcome[WAS_LIVE];
    sum[SUM_NOW_ROWS] += outcome[NOW_LIVE];
    sum[SUM_NEW] += outcome[NOW_LIVE] & !outcome[WAS_LIVE];
    sum[SUM_REMOVED] += outcome[WAS_LIVE] & !outcome[NOW_LIVE];
    sum[SUM_WRITTEN] += outcome[WRITTEN];
    sum[SUM_REBORN] += outcome[REBORN];
    sum[SUM_CHANGED] += outcome[WAS_LIVE] & outcome[WRITTEN] & !outcome[SAME_VALUE];
    sum[SUM_SAME_VALUE] += outcome[SAME_VALUE];
    sum[SUM_WAS_KEYS] += outcome[WAS_LIVE] * key;
    sum[SUM_NOW_KEYS] += outcome[NOW_LIVE] * key;
    sum[SUM_WAS_VALUES] += outcome[WAS_LIVE] * before;
    sum[SUM_NOW_VALUES] += outcome[NOW_LIVE] * value;
    sum[SUM_REBORN_KEYS] += outcome[REBORN] * key;
    sum[SUM_WRITTEN_VALUES] += outcome[WRITTEN] * value;
    if (outcome[WAS_LIVE] && outcome[NOW_LIVE] && before == value)
        return; /* the number of rows of each size is unchanged */
    if (outcome[WAS_LIVE])
        tally_row(tally, key, before, -1);
    if (outcome[NOW_LIVE])
        tally_row(tally, key, value, 1);
}

/* Adds the sums of a version to the caller's. */
static inline void tally_add(Tally *tally, int64_t version)
{
    int64_t i;
    for (i = 0; i < SUMS; i++)
        array_add(&tally->sums, version * SUMS + i, tally->sum[i]);
}

static inline void tally_close(Tally *tally)
{
    PyBuffer_Release(&tally->by_size.buffer);
    PyBuffer_Release(&tally->sums.buffer);
}

#endif
