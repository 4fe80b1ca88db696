"""Options of readers: the form of a store's files, and a function that receives problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from inspector.light_dataclasses import dataclass, field
from inspector.model import StoreFile
from inspector.sparktypes import StructType
from inspector.sparktypes.key_encoders import KeyEncoder

# Function that receives a problem: slug, message, file and offset.
Report = Callable[[str, str, StoreFile | None, int | None], None]


@dataclass(frozen=True)
class StoreForm:
    """Form of the rows of one store, for providers whose stores differ."""

    # name of the column family that is the store; None if its files have no other store
    column_family: str | None = None
    key: StructType | None = None  # schema of its keys as operators put them; None if not known
    # how keys are arranged in the files
    key_encoder: KeyEncoder = field(default_factory=KeyEncoder)
    # True if a value has several rows; each is a record whose key has INDEX_COLUMN too
    several_values: bool = False
    value: StructType | None = None  # schema of its values; None if not known
    # schemas of values in older rows, by their number
    written_values: Mapping[int, StructType] = field(default_factory=dict)


# last column in the key of each row of several in one value; joins number theirs so
INDEX_COLUMN = "index"

UNSAFE_ROW, AVRO = "unsaferow", "avro"  # Values of ``stateStore.encodingFormat`` in lower case.


@dataclass(frozen=True)
class ReadOptions:
    """Options with which the state files were written, from the offset log."""

    # codec by version; a missing version has Spark's default
    codecs: Mapping[int, str] = field(default_factory=dict)
    row_checksum: bool = False  # True if each row has a checksum
    merge_delimiter: bool = True  # True if a byte separates rows that were merged into one value
    encoding: str = UNSAFE_ROW  # UNSAFE_ROW or AVRO
    form: StoreForm = field(default_factory=StoreForm)  # form of the store's rows
