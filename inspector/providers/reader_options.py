"""How a reader is told what the files of a store look like, and where it reports problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from inspector.light_dataclasses import dataclass, field
from inspector.model import StoreFile
from inspector.sparktypes import StructType
from inspector.sparktypes.key_encoders import KeyEncoder

Report = Callable[[str, str, StoreFile | None, int | None], None]
"""Takes slug, message, file and offset of a problem."""


@dataclass(frozen=True)
class StoreForm:
    """How a store keeps its rows, where that is not the same for all stores of a provider."""

    # the part of the files that is this store; None if they are its own
    column_family: str | None = None
    # schema of its keys, as operators put them; None if it is not known
    key: StructType | None = None
    key_encoder: KeyEncoder = field(default_factory=KeyEncoder)
    # a value holds several rows; each is a record, and its key has one more column, the place of
    # the row (:data:`INDEX_COLUMN`)
    several_values: bool = False
    value: StructType | None = None  # schema of its values; None if it is not known
    # schemas by which rows say that they were written, by number (Avro)
    written_values: Mapping[int, StructType] = field(default_factory=dict)


INDEX_COLUMN = "index"
"""Name of the column that the key of each row has if a value holds several: as in the keys of a
join's rows, where Spark itself numbers them."""

UNSAFE_ROW, AVRO = "unsaferow", "avro"
"""Encodings of rows (``spark.sql.streaming.stateStore.encodingFormat``), in lower case."""


@dataclass(frozen=True)
class ReadOptions:
    """How the state files were written, as far as the offset log records it."""

    # compression by version; a version that is not there has Spark's default
    codecs: Mapping[int, str] = field(default_factory=dict)
    row_checksum: bool = False
    merge_delimiter: bool = True  # rows that were merged into one value are parted by a byte
    encoding: str = UNSAFE_ROW
    form: StoreForm = field(default_factory=StoreForm)
