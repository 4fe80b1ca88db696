/* Hash table of prints, with the number of each; prints take the place of keys that are not kept.
 *
 * Of the 128 bits of a print 96 are compared, and 32 are its home in the table. The table is in the
 * order of these 32 bits, except for prints that moved on to the next free slot. A comparison of
 * these bits too would wait for one more place in memory, half of the time of a look-up. A table in
 * order grows by one walk over the old table and one over the new, and may have any size.
 */
#ifndef INSPECTOR_KERNEL_PRINT_TABLE_H
#define INSPECTOR_KERNEL_PRINT_TABLE_H

#include "key_hash.h"
#include "memory.h"

enum { FIRST_PRINTS = 1 << 10, SOME_PRINTS = 1 << 20, MANY_PRINTS = 1 << 22 };
enum { MOVED_AHEAD = 16 }; /* prints whose lowest bits are fetched at the same time */
#define MOST_PRINT_SLOTS INT64_C(0xffffffff)

typedef struct {
    uint64_t high;
    uint32_t middle;
    uint32_t number; /* number plus one; 0: the slot is empty */
} PrintSlot;

typedef struct {
    PrintSlot *slots; /* open addressing, linear probing, at most three quarters full */
    uint32_t *lowest; /* lowest bits of the print of each number, to grow the table; one per slot */
    int64_t slot_count;
    int64_t count;
    int64_t bytes; /* bytes allocated */
} PrintTable;

typedef char print_slot_has_16_bytes[sizeof(PrintSlot) == 16 ? 1 : -1];

static inline int64_t home_of(uint32_t low, int64_t slot_count)
{
    return (int64_t)((uint64_t)low * (uint64_t)slot_count >> 32);
}

/* Returns the slot of a print, or the empty slot for it. The table is never full. */
static INLINE int64_t print_slot(const PrintTable *self, Print print)
{
    int64_t at = home_of(print.low, self->slot_count);
    for (;;) {
        const PrintSlot *slot = &self->slots[at];
        if (!slot->number || (slot->high == print.high && slot->middle == print.middle))
            return at;
        at = at + 1 == self->slot_count ? 0 : at + 1;
    }
}

/* Fetches ahead the slot of a print and the slots after it, mostly in the next cache line. */
static INLINE void fetch_slots(const PrintTable *self, Print print)
{
    int64_t at = home_of(print.low, self->slot_count);
    prefetch(&self->slots[at]);
    prefetch(&self->slots[at + 4 < self->slot_count ? at + 4 : 0]);
}

/* Returns the number of a print; -1 if it has none. */
static inline int64_t prints_find(const PrintTable *self, Print print)
{
    return self->count ? (int64_t)self->slots[print_slot(self, print)].number - 1 : -1;
}

/* Returns the next number of slots: twice as many, so that prints move less often. Large tables
 * grow by half, and very large ones by a quarter, because empty slots would be most of their
 * memory. A table of at least one large page takes whole large pages, so that it has no small
 * ones. */
static inline int64_t more_prints(int64_t slot_count)
{
    const int64_t page = LARGE_PAGE / (int64_t)sizeof(PrintSlot);
    int64_t more = slot_count / (slot_count < SOME_PRINTS ? 1 : slot_count < MANY_PRINTS ? 2 : 4);
    more = slot_count ? slot_count + more : FIRST_PRINTS;
    return more < page ? more : (more + page - 1) & -page;
}

/* Makes the table larger. Returns 0, or -1 if there is no memory. */
static inline int prints_grow(PrintTable *self)
{
    int64_t each = (int64_t)sizeof(PrintSlot), old = self->slot_count, i, given = 0;
    int64_t count = more_prints(old), low = (int64_t)sizeof *self->lowest;
    PrintSlot *slots = count <= MOST_PRINT_SLOTS ? allocate_table(&self->bytes, count * each) : NULL;
    uint32_t *lowest = slots ? regrow(&self->bytes, self->lowest, old * low, count * low) : NULL;
    if (!lowest) {
        if (slots)
            release(&self->bytes, slots, count * each);
        return -1;
    }
    for (i = 0; i < old; i++) {
        PrintSlot slot = self->slots[i];
        int64_t at;
        if (old - i > MOVED_AHEAD && self->slots[i + MOVED_AHEAD].number)
            prefetch(&lowest[self->slots[i + MOVED_AHEAD].number - 1]);
        if (i * each - given >= 2 * LARGE_PAGE) { /* gives back what was read of the old table */
            give_back((char *)self->slots + given, i * each - given);
            given += (i * each - given) & -LARGE_PAGE;
        }
        if (!slot.number)
            continue;
        at = home_of(lowest[slot.number - 1], count);
        while (slots[at].number)
            at = at + 1 == count ? 0 : at + 1;
        slots[at] = slot;
    }
    release(&self->bytes, self->slots, old * each);
    self->slots = slots;
    self->lowest = lowest;
    self->slot_count = count;
    return 0;
}

/* Returns the number of a print, a new one if it had none; -1 if there is no memory. */
static INLINE int64_t prints_add(PrintTable *self, Print print)
{
    int64_t at;
    if (self->count >= self->slot_count / 4 * 3 && prints_grow(self) < 0)
        return -1;
    at = print_slot(self, print);
    if (!self->slots[at].number) {
        self->lowest[self->count++] = print.low;
        self->slots[at] = (PrintSlot){print.high, print.middle, (uint32_t)self->count};
    }
    return (int64_t)self->slots[at].number - 1;
}

static inline void prints_free(PrintTable *self)
{
    system_free(self->slots, self->slot_count * (int64_t)sizeof *self->slots);
    system_free(self->lowest, self->slot_count * (int64_t)sizeof *self->lowest);
}

/* Returns the bytes in use. Room after the last number was never touched, so it takes no memory
 * yet. */
static inline int64_t prints_memory(const PrintTable *self)
{
    return self->bytes - (self->slot_count - self->count) * (int64_t)sizeof *self->lowest;
}

#endif
