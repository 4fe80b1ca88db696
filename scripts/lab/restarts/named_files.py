"""Files of a checkpoint that a message names."""

from __future__ import annotations

import re
from typing import Any

_STATE = r"\d+(?:_[0-9a-f-]{36})?\.(?:delta|snapshot|changelog|zip)"
_NAMED = re.compile(rf"(?<![\w.-])({_STATE}|[\w-]+\.sst|MANIFEST-\d+|CURRENT|metadata)(?![\w.-])")
_LOG = re.compile(r"(?:offsets|commits|sources/\w+)/(\d+(?:\.compact)?)(?![\w.-])")
_BATCH = re.compile(r"batch (\d+) doesn't exist")
_UNIQUE = re.compile(r"_[0-9a-f-]{36}")


def named_files(text: str) -> set[str]:
    """Return the last names of the files in a message, such as ``3.delta`` or ``5``.

    Entries of the logs have their number alone, because Spark often names no folder. Ids of
    checkpoint format 2 are left out.
    """
    result = [*_NAMED.findall(text), *_LOG.findall(text), *_BATCH.findall(text)]
    return {_UNIQUE.sub("", name) for name in result}


def message_of(failure: BaseException) -> str:
    """Return the message of an error of Spark with the messages of its causes."""
    facts: Any = failure
    return f"{failure}\n{getattr(facts, '_stackTrace', None) or ''}"
