"""Options of readers: the form of a store's files, and the receiver of problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from inspector.light_dataclasses import dataclass, field
from inspector.model import StoreFile
from inspector.sparktypes import StructType
from inspector.sparktypes.key_encoders import KeyEncoder

Report = Callable[[str, str, StoreFile | None, int | None], None]  # slug, message, file, offset


@dataclass(frozen=True)
class StoreForm:
    """Form of the rows of one store, for providers whose stores differ."""

    column_family: str | None = None  # the part of the files that it is; None if they are its own
    key: StructType | None = None  # schema of its keys, as operators put them; None: not known
    key_encoder: KeyEncoder = field(default_factory=KeyEncoder)
    several_values: bool = False  # in a value: each is a record whose key has INDEX_COLUMN too
    value: StructType | None = None  # schema of its values; None if it is not known
    written_values: Mapping[int, StructType] = field(default_factory=dict)  # schemas of rows, by id


INDEX_COLUMN = "index"  # in the key of each row of several in a value, as joins number theirs

UNSAFE_ROW, AVRO = "unsaferow", "avro"  # stateStore.encodingFormat in lower case


@dataclass(frozen=True)
class ReadOptions:
    """Options with which the state files were written, from the offset log."""

    codecs: Mapping[int, str] = field(default_factory=dict)  # by version; else Spark's default
    row_checksum: bool = False
    merge_delimiter: bool = True  # rows that were merged into one value are parted by a byte
    encoding: str = UNSAFE_ROW
    form: StoreForm = field(default_factory=StoreForm)
