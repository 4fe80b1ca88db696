"""The words of the programs by which the kernel looks into UnsafeRows.

A program is an array of numbers: how many fields there are, then for each of them a word of one of
the lists below with its operands. It ends in zeros.
"""

from __future__ import annotations

# --- what a field must be: check_rows ---------------------------------------------------------

ANY = 0  # field of 8 bytes of any content
UNUSED = 1  # narrow field; operand: its bits, above which the slot is zero
RANGE = 2  # signed number of 64 bits; operands: the lowest and the highest
REGION = 3  # offset and size of a variable part
STRUCT = 4  # the same of a struct; operands: how many numbers its program has, then that program
DOUBT = 5  # field that this check does not know: whatever is there, somebody else has to look

# --- what a field is compared by: descents; hashed as: row_hashes --------------------------------

BYTES = 0  # variable part of unsigned bytes; what is only a beginning comes first
WIDEST = 8  # up to here, a signed number of so many bytes
FLOAT = 9  # floating-point number of 4 bytes: NaN equals NaN and comes last, zeros are equal
DOUBLE = 10  # the same of 8 bytes
BIG_NUMBER = 11  # variable part of 1 to 16 bytes that is a big-endian signed number
INSTANT = 12  # variable part of 16 bytes: a signed number of 8, then one of 2
EQUAL_BYTES = 13  # variable part of which is known only that equal bytes are equal values
NOTHING = 14  # field whose values are all equal, null or not
FIELDS = 15  # struct; operands: how many numbers its program has, then that program
ELEMENTS = 16  # array; operands: how many numbers follow, then what each element is compared by
BOOLEAN = 17  # number of one byte of which only zero or not counts; hashed only
UNORDERED = -1  # field of which nothing is known, not even that null comes first
