from typing import Any

MORE: int
FULL: int
END: int
BAD_KEY_LENGTH: int
OVER_LIMIT: int
SPAN: int

def scan(buffer: Any, start: int, spans: Any, max_length: int, /) -> tuple[int, int, int]: ...
def hash64(buffer: Any, offsets: Any, lengths: Any, skip: int, out: Any, /) -> None: ...
def gather(buffer: Any, offsets: Any, lengths: Any, /) -> bytes: ...
def apply(
    table: Any,
    ids: Any,
    key_sizes: Any,
    value_sizes: Any,
    hashes: Any,
    clocks: Any,
    step: int,
    first_record: int,
    flags: int,
    touched: Any,
    counts: Any,
    sums: Any,
    by_size: Any,
    /,
) -> tuple[int, int]: ...
def change_columns(
    table: Any,
    touched: Any,
    step: int,
    flags: int,
    first: int,
    numbers: Any,
    outcomes: Any,
    /,
) -> None: ...
def tally(table: Any, touched: Any, step: int, flags: int, sums: Any, by_size: Any, /) -> int: ...
def check_rows(buffer: Any, offsets: Any, lengths: Any, program: Any, out: Any, /) -> int: ...
def read_slots(
    buffer: Any, offsets: Any, lengths: Any, path: Any, values: Any, valid: Any, /
) -> None: ...
def descents(buffer: Any, offsets: Any, lengths: Any, program: Any, below: Any, /) -> int: ...

class Interner:
    def intern(self, buffer: Any, offsets: Any, lengths: Any, out: Any, /) -> None: ...
    def find(self, key: Any, /) -> int: ...
    def lengths(self, out: Any, /) -> None: ...
    def gather(self, ids: Any, offsets: Any, /) -> bytes: ...
    def __len__(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
