"""Pages of the walk by their URLs: checkpoint, operator, store, partition, rows and keys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from inspector.facts.top_keys import TopBy
from inspector.light_dataclasses import dataclass, replace
from inspector.serve.sources import Part

ROWS = 100  # rows that a page lists, unless its URL says another number
ROW_LIMITS = (ROWS, 400)  # numbers of rows that a URL may say
ORDERS = {
    "": "as stored",
    TopBy.ROW_BYTES.value: "largest rows",
    TopBy.KEY_BYTES.value: "largest keys",
    TopBy.VALUE_BYTES.value: "largest values",
    TopBy.PUTS.value: "most puts",
    TopBy.OLDEST.value: "oldest put",
}
"""Order of the rows of a page in its URL -> its name for people."""

KEY_DIGITS = re.compile(r"[0-9a-f]{16}")  # a key in a URL: the first hex digits of its SHA-256
_LONGEST_NUMBER = 18  # digits of a number in a URL
_PLAIN = re.compile(r"[^A-Za-z0-9_$-]")  # characters of a store's name that a URL spells in hex


class NoSuchPageError(Exception):
    """Raised for a URL that names no page; the message is a sentence."""


@dataclass(frozen=True)
class Search:
    """Rows that the user looks for."""

    key: str = ""  # value of ``--key``; "" for any key
    where: str = ""  # value of ``--where``; "" for any row
    name: str = ""  # name by which a URL hides the search; "" for a search in clear

    def __bool__(self) -> bool:
        return bool(self.key or self.where)

    @property
    def words(self) -> list[str]:
        """The options of the command line for the same rows."""
        key = ["--key", self.key] if self.key else []
        return [*key, *(["--where", self.where] if self.where else [])]


@dataclass(frozen=True)
class Position:
    """Page of the walk, as its URL names it."""

    index: int  # number of the checkpoint
    part: Part = Part()  # part of the checkpoint, and batch
    is_clear: bool = False  # True if keys and values are in clear
    lists_rows: bool = False  # True for a page of rows; False for one of an audit, or of a key
    search: Search = Search()  # rows that a page of rows lists
    order: str = ""  # one of :data:`ORDERS`
    limit: int = ROWS  # rows that are listed at most
    key: str = ""  # hex digits of a key's hash, for the page of its history; "" for other pages

    @property
    def path(self) -> str:
        """Path of the URL."""
        part, path = self.part, f"/{self.index}"
        if part.operator_id is not None:
            path += f"/operators/{part.operator_id}"
        if part.store_name is not None:
            path += f"/stores/{store_segment(part.store_name)}"
        if part.partition_id is not None:
            path += f"/partitions/{part.partition_id}"
        if self.key:
            return f"{path}/keys/{self.key}"
        # The page of a partition lists rows.
        return f"{path}/rows" if self.lists_rows and part.partition_id is None else path

    @property
    def general_query(self) -> dict[str, str]:
        """Parameters that all links to other pages of the checkpoint pass on."""
        query = {} if self.part.batch is None else {"batch": str(self.part.batch)}
        return query | ({"values": "shown"} if self.is_clear else {})

    @property
    def query(self) -> dict[str, str]:
        """All parameters of the URL."""
        query = self.general_query | ({"order": self.order} if self.order else {})
        if self.limit != ROWS:
            query["limit"] = str(self.limit)
        if self.search.name:
            return query | {"search": self.search.name}
        search = {"key": self.search.key, "where": self.search.where}
        return query | {name: value for name, value in search.items() if value}

    @property
    def url(self) -> str:
        """URL of the page."""
        return url_with(self.path, self.query)

    def at_part(self, **part: Any) -> Position:
        """Return the page of another part of the checkpoint, at the same batch.

        It is a page of rows for a partition, and else of an audit.
        """
        changed = replace(self.part, **part)
        is_partition = changed.partition_id is not None
        return Position(self.index, changed, self.is_clear, lists_rows=is_partition)


def url_with(path: str, query: Mapping[str, str]) -> str:
    """Return a URL with parameters."""
    return f"{path}?{urlencode(query)}" if query else path


def store_segment(name: str) -> str:
    """Return a store's name as a segment of a URL's path.

    All characters but letters, digits, ``_``, ``$`` and ``-`` become ``~`` and two hex digits for
    each byte, so that no name leads out of its place.
    """

    def spell(match: re.Match[str]) -> str:
        return "".join(f"~{byte:02x}" for byte in match[0].encode("utf-8", "surrogatepass"))

    return _PLAIN.sub(spell, name)


def store_of_segment(text: str) -> str:
    """Return the name that :func:`store_segment` spelled. Raises NoSuchPageError."""
    if not re.fullmatch(r"(?:[A-Za-z0-9_$-]|~[0-9a-f]{2})+", text):
        raise NoSuchPageError("There is no store of this name.")
    data = re.sub("~(..)", lambda match: chr(int(match[1], 16)), text).encode("latin-1")
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise NoSuchPageError("There is no store of this name.") from None


def number_of(text: str, noun: str) -> int:
    """Return a number in a URL. Raises NoSuchPageError; ``noun`` is what the number stands for."""
    if not (text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER):
        raise NoSuchPageError(f"The {noun} is no number.")
    return int(text)
