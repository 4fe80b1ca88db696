"""Words of the programs by which the kernel reads UnsafeRows.

A program is an array of numbers: the number of fields, then for each field a word of one of the
lists below with its operands. It ends in zeros.
"""

from __future__ import annotations

# --- what a field must be: check_rows ---------------------------------------------------------

ANY = 0  # field of 8 bytes with any content
UNUSED = 1  # narrow field; operand: its bits, above which the slot must be zero
RANGE = 2  # signed number of 64 bits; operands: the lowest and the highest value
REGION = 3  # offset and size of a variable part
STRUCT = 4  # offset and size of a struct; operands: the length of its program, then that program
DOUBT = 5  # field that this check does not know: each row with a value there is in doubt

# --- what a field is compared by: descents; hashed as: row_hashes --------------------------------

BYTES = 0  # variable part of unsigned bytes; a prefix comes before what it is a prefix of
WIDEST = 8  # words from 1 up to here are signed numbers of that number of bytes
FLOAT = 9  # floating-point number of 4 bytes: NaN equals NaN and comes last, zeros are equal
DOUBLE = 10  # floating-point number of 8 bytes, ordered as FLOAT
BIG_NUMBER = 11  # variable part of 1 to 16 bytes that is a big-endian signed number
INSTANT = 12  # variable part of 16 bytes: a signed number of 8, then one of 2
EQUAL_BYTES = 13  # variable part of which only equality is known: equal bytes are equal values
NOTHING = 14  # field whose values are all equal, null or not
# struct, in programs that compare or hash; operands: the length of its program, then that program
FIELDS = 15
# array; operands: the length of the program that compares each element, then that program
ELEMENTS = 16
BOOLEAN = 17  # number of one byte, zero or not; used for hashes only
UNORDERED = -1  # field whose order is not known, not even that null comes first
