"""Errors that cross process borders, and the one way in which they are worded."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator

import pytest

from inspector.exceptions import (
    CheckpointError,
    DecodeError,
    EngineError,
    FrameError,
    InspectorError,
    TruncatedError,
    where,
)
from tests.attributes import attributes


def family(base: type[InspectorError]) -> Iterator[type[InspectorError]]:
    yield base
    for child in base.__subclasses__():
        yield from family(child)


EVERY = list(family(InspectorError))


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("got 1, expected 2", "/c/1.delta", 21), "/c/1.delta: byte 21: got 1, expected 2"),
        (("got 1, expected 2", "/c/1.delta"), "/c/1.delta: got 1, expected 2"),
        (("got 1, expected 2", None, 0), "byte 0: got 1, expected 2"),
        (("got 1, expected 2",), "got 1, expected 2"),
        ((), ""),
    ],
)
def test_errors_survive_pickling(
    kind: type[InspectorError], arguments: tuple[str, str, int], text: str
) -> None:
    error = kind(*arguments)
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301 - our own bytes
        assert type(again) is kind
        assert vars(again) == vars(error)
        assert str(again) == str(error) == text


@pytest.mark.parametrize("kind", EVERY)
def test_error_keeps_path_through_pickling(kind: type[InspectorError]) -> None:
    error = kind("got 1", offset=5).at("/c/1.delta")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert (again.message, again.path, again.offset) == ("got 1", "/c/1.delta", 5)
    assert str(again) == "/c/1.delta: byte 5: got 1"


def test_error_keeps_first_path() -> None:
    error = FrameError("got 1", path="/inner")
    assert error.at("/outer") is error
    assert error.path == "/inner"


@pytest.mark.parametrize(
    ("path", "offset", "text"),
    [
        (None, None, ""),
        ("/c/1.delta", None, "/c/1.delta: "),
        (None, 0, "byte 0: "),
        ("s3://b/c", 21, "s3://b/c: byte 21: "),
    ],
)
def test_error_location_text(path: str | None, offset: int | None, text: str) -> None:
    assert where(path, offset) == text


def test_error_slugs_are_unique() -> None:
    slugs = attributes(EVERY, "slug")
    assert len(set(slugs)) == len(EVERY) == 21
    assert " ".join(slugs).lower().split() == slugs


def test_decode_errors_are_value_errors() -> None:
    assert issubclass(DecodeError, ValueError)
    assert issubclass(TruncatedError, EOFError)
    assert not issubclass(CheckpointError, ValueError)
    assert not issubclass(EngineError, ValueError)
    # What a storage refuses is no error of ours, and the other way round.
    assert not any(issubclass(kind, OSError) for kind in EVERY)
