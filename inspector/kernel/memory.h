/* Zeroed memory from the system, for what an interner keeps as long as it exists. In the arena of
 * malloc it would be between the short-lived arrays of numpy, whose space could then not be given
 * back. */
#ifndef INSPECTOR_KERNEL_MEMORY_H
#define INSPECTOR_KERNEL_MEMORY_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if (defined(__linux__) || defined(__APPLE__)) && !defined(__SANITIZE_ADDRESS__)
#include <sys/mman.h>
#endif

enum { LARGE_PAGE = 1 << 21, SMALL_PAGE = 1 << 12 };

/* Requests large pages, where there are any: keys come in any order, and each small page would be
 * looked up. */
static inline void use_large_pages(void *memory, int64_t size)
{
#if defined(MADV_HUGEPAGE)
    if (size >= LARGE_PAGE)
        (void)madvise(memory, (size_t)size, MADV_HUGEPAGE);
#else
    (void)memory;
    (void)size;
#endif
}

static inline void *system_allocate(int64_t size)
{
#if defined(MAP_ANONYMOUS)
    void *memory =
        mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    use_large_pages(memory, size);
    return memory;
#else
    return calloc(1, (size_t)size);
#endif
}

static inline void system_free(void *memory, int64_t size)
{
#if defined(MAP_ANONYMOUS)
    if (memory)
        (void)munmap(memory, (size_t)size);
#else
    (void)size;
    free(memory);
#endif
}

/* Gives back memory that is no longer used, in whole large pages. */
static inline void give_back(void *memory, int64_t size)
{
#if defined(MADV_DONTNEED)
    (void)madvise(memory, (size_t)(size & -LARGE_PAGE), MADV_DONTNEED);
#else
    (void)memory;
    (void)size;
#endif
}

/* Allocates memory and counts it in `bytes`, which is what was allocated and not released. */
static inline void *allocate(int64_t *bytes, int64_t size)
{
    void *memory = system_allocate(size);
    if (memory)
        *bytes += size;
    return memory;
}

/* Allocates memory for a hash table. Its pages are read before they are written, so each would be
 * mapped twice, and the other cores be told. A small table gets all pages at once. */
static inline void *allocate_table(int64_t *bytes, int64_t size)
{
    volatile char *memory = allocate(bytes, size);
    int64_t at;
    if (memory && size < LARGE_PAGE)
        for (at = 0; at < size; at += SMALL_PAGE)
            memory[at] = 0;
    return (void *)memory;
}

static inline void release(int64_t *bytes, void *memory, int64_t size)
{
    system_free(memory, size);
    *bytes -= size;
}

/* Returns larger memory with the same content, in place of `memory`; NULL if there is none. */
static inline void *regrow(int64_t *bytes, void *memory, int64_t size, int64_t larger)
{
    void *grown;
#if defined(MREMAP_MAYMOVE) /* pages are moved, and no byte is copied */
    if (size) {
        grown = mremap(memory, (size_t)size, (size_t)larger, MREMAP_MAYMOVE);
        if (grown == MAP_FAILED)
            return NULL;
        use_large_pages(grown, larger);
        *bytes += larger - size;
        return grown;
    }
#endif
    grown = allocate(bytes, larger);
    if (!grown)
        return NULL;
    if (size)
        memcpy(grown, memory, (size_t)size);
    release(bytes, memory, size);
    return grown;
}

#endif
