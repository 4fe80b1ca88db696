/* Keys with their bytes: where the bytes are, and the hash table of the keys. */
#ifndef INSPECTOR_KERNEL_KEY_TABLE_H
#define INSPECTOR_KERNEL_KEY_TABLE_H

#include "arguments.h"
#include "memory.h"

enum { CHUNK = 1 << 20, FIRST_KEYS = 1 << 10, FIRST_SLOTS = 1 << 10 };
enum { PACKED_MOST = 64 }; /* most bytes of a key that is stored without gaps */
#define MOST_KEYS INT64_C(0x7fffffff)

/* Chunk of bytes of keys of different sizes; it never moves. */
typedef struct Chunk {
    struct Chunk *next;
    int64_t size; /* all bytes of the chunk */
    uint8_t data[];
} Chunk;

typedef struct {
    uint32_t tag;    /* hash of the key: its place in the table, and a filter */
    uint32_t number; /* number of the key plus one; 0: the slot is empty */
} Slot;

typedef struct {
    int64_t stride;  /* bytes of each key while all have one size (fields of fixed width); else 0 */
    uint8_t *packed; /* those keys, by number; they stay here when others come */
    int64_t packed_size;
    Span *keys;          /* by number, once sizes differ */
    int64_t key_room;
    Chunk *chunks;
    uint8_t *end; /* end of the used bytes in the newest shared chunk */
    int64_t room; /* bytes after it */
    Slot *slots; /* open addressing, linear probing, at most three quarters full */
    int64_t slot_count;
    int64_t count;
    int64_t bytes; /* bytes allocated */
} KeyTable;

/* Copies a key into the arena. Returns where; NULL if there is no memory. */
static inline const uint8_t *arena_add(KeyTable *self, Span key)
{
    uint8_t *target;
    if (self->room < key.size || !self->end) {
        int64_t head = (int64_t)sizeof(Chunk);
        int alone = key.size > CHUNK / 4; /* a long key has a chunk of its own */
        int64_t size = alone ? head + key.size : self->chunks ? LARGE_PAGE : CHUNK;
        Chunk *chunk = allocate(&self->bytes, size);
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

static inline Span key_at(const KeyTable *self, int64_t number)
{
    if (self->stride)
        return (Span){self->packed + number * self->stride, self->stride};
    return self->keys[number];
}

/* Doubles the room for keys of one size. Returns 0, or -1 if there is no memory. */
static inline int packed_grow(KeyTable *self)
{
    int64_t size = self->packed_size ? 2 * self->packed_size : FIRST_KEYS * self->stride;
    uint8_t *packed = regrow(&self->bytes, self->packed, self->packed_size, size);
    if (!packed)
        return -1;
    self->packed = packed;
    self->packed_size = size;
    return 0;
}

/* Notes where each key is, because the next has another size. Returns 0, or -1 if there is no
 * memory. */
static inline int keys_index(KeyTable *self)
{
    int64_t i, room = self->packed_size / self->stride;
    Span *keys = allocate(&self->bytes, room * (int64_t)sizeof *keys);
    if (!keys)
        return -1;
    for (i = 0; i < self->count; i++)
        keys[i] = key_at(self, i);
    self->keys = keys;
    self->key_room = room;
    self->stride = 0;
    return 0;
}

/* Doubles the room for keys of any size. Returns 0, or -1 if there is no memory. */
static inline int keys_grow(KeyTable *self)
{
    int64_t room = self->key_room ? 2 * self->key_room : FIRST_KEYS;
    int64_t each = (int64_t)sizeof *self->keys;
    Span *keys = regrow(&self->bytes, self->keys, self->key_room * each, room * each);
    if (!keys)
        return -1;
    self->keys = keys;
    self->key_room = room;
    return 0;
}

/* Doubles the table. The tags give the new slots, so no key is read. Returns 0, or -1 if there is
 * no memory. */
static inline int slots_grow(KeyTable *self)
{
    int64_t i, at, count = self->slot_count ? 2 * self->slot_count : FIRST_SLOTS;
    Slot *slots = allocate_table(&self->bytes, count * (int64_t)sizeof *slots);
    if (!slots)
        return -1;
    for (i = 0; i < self->slot_count; i++)
        if (self->slots[i].number) {
            for (at = self->slots[i].tag & (count - 1); slots[at].number;)
                at = (at + 1) & (count - 1);
            slots[at] = self->slots[i];
        }
    release(&self->bytes, self->slots, self->slot_count * (int64_t)sizeof *slots);
    self->slots = slots;
    self->slot_count = count;
    return 0;
}

/* Returns the slot of a key, or the empty slot for it. The table is never full. */
static inline Slot *slot_of(const KeyTable *self, Span key, uint32_t tag)
{
    int64_t mask = self->slot_count - 1, at;
    for (at = tag & mask; self->slots[at].number; at = (at + 1) & mask)
        if (self->slots[at].tag == tag &&
            same(key_at(self, (int64_t)self->slots[at].number - 1), key))
            break;
    return &self->slots[at];
}

/* Makes room for one more key everywhere except in the arena. Returns 0, or -1 if there is none. */
static inline int keys_reserve(KeyTable *self, Span key)
{
    if (self->count >= MOST_KEYS)
        return -1;
    if (self->slot_count / 4 * 3 <= self->count && slots_grow(self) < 0)
        return -1;
    if (!self->count && !self->key_room)
        self->stride = key.size <= PACKED_MOST ? key.size : 0;
    if (self->stride && self->stride != key.size && keys_index(self) < 0)
        return -1;
    if (self->stride)
        return self->count * self->stride == self->packed_size ? packed_grow(self) : 0;
    return self->count == self->key_room ? keys_grow(self) : 0;
}

/* Returns the number of a key, a new one if it had none; -1 if there is no memory. */
static inline int64_t keys_add(KeyTable *self, Span key, uint32_t tag)
{
    Slot *slot;
    const uint8_t *data;
    if (keys_reserve(self, key) < 0)
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

static inline void keys_free(KeyTable *self)
{
    while (self->chunks) {
        Chunk *chunk = self->chunks;
        self->chunks = chunk->next;
        system_free(chunk, chunk->size);
    }
    system_free(self->packed, self->packed_size);
    system_free(self->keys, self->key_room * (int64_t)sizeof *self->keys);
    system_free(self->slots, self->slot_count * (int64_t)sizeof *self->slots);
}

/* Returns the bytes in use. Room after the packed keys was never touched, so it takes no memory
 * yet. */
static inline int64_t keys_memory(const KeyTable *self)
{
    int64_t packed = self->stride ? self->count * self->stride : self->packed_size;
    return self->bytes - (self->packed_size - packed);
}

#endif
