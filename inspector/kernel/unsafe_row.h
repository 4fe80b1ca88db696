/* Access to UnsafeRows: the numbers of a program, and variable parts. */
#ifndef INSPECTOR_KERNEL_UNSAFE_ROW_H
#define INSPECTOR_KERNEL_UNSAFE_ROW_H

#include "arguments.h"

enum { WORD = 8 };     /* bytes of a slot, and of a word of null bits */
enum { DEEPEST = 64 }; /* most levels of structs and arrays */

/* Returns a number of a program, which ends in zeros (ANY): nothing after it is read. */
static inline int64_t number_at(const Array *program, int64_t at)
{
    return at < program->count ? array_get(program, at) : 0;
}

/* Returns 1 if the variable part of a slot is within its row, and takes it from the budget. */
static inline int region_of(Span row, uint64_t slot, int64_t fixed, int64_t *budget, Span *region)
{
    int64_t offset = (int64_t)(slot >> 32), size = (int64_t)(slot & 0xffffffff);
    if (offset < fixed || row.size < offset || row.size - offset < size || *budget < size)
        return 0;
    *budget -= size;
    *region = (Span){row.data + offset, size};
    return 1;
}

#endif
