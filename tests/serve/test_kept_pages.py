"""Pages and texts that are kept in a bounded number of bytes."""

from __future__ import annotations

import random
import threading

import pytest

from inspector.checkpoint.stops import Stop, WorkStoppedError, obey_stop
from inspector.serve.kept_pages import KeptPages
from inspector.serve.known_texts import KnownTexts


def test_page_is_made_once() -> None:
    pages, calls = KeptPages(), list[int]()

    def make() -> tuple[str, bool]:
        calls.append(1)
        return "<p>\udc80", True

    assert pages.get("key", make) == pages.get("key", make) == "<p>\udc80"
    assert len(calls) == len(pages) == 1


def test_page_that_does_not_last_is_made_each_time() -> None:
    pages, texts = KeptPages(), iter("ab")
    assert pages.get("key", lambda: (next(texts), False)) == "a"
    assert pages.get("key", lambda: (next(texts), False)) == "b"
    assert (len(pages), pages.bytes) == (0, 0)


def test_bytes_of_pages_are_bounded() -> None:
    noise = random.Random(1)
    pages = KeptPages(4000)
    for number in range(50):
        text = noise.randbytes(500).hex()
        assert pages.get(number, lambda text=text: (text, True)) == text  # type: ignore[misc]
        assert pages.bytes <= 4000
    assert 0 < len(pages) < 50
    huge = noise.randbytes(9000).hex()
    assert pages.get("huge", lambda: (huge, True)) == huge
    assert pages.bytes <= 4000


def test_failed_page_is_made_again() -> None:
    pages = KeptPages()

    def fail() -> tuple[str, bool]:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        pages.get("key", fail)
    assert pages.get("key", lambda: ("page", True)) == "page"


def test_second_request_waits_for_the_first_and_may_stop() -> None:
    pages, begun, release = KeptPages(), threading.Event(), threading.Event()
    results = list[str]()

    def make() -> tuple[str, bool]:
        begun.set()
        release.wait(60)
        return "page", True

    first = threading.Thread(target=lambda: results.append(pages.get("key", make)))
    first.start()
    assert begun.wait(60)
    stop = Stop()
    stop.request()
    with obey_stop(stop), pytest.raises(WorkStoppedError):
        pages.get("key", make)
    release.set()
    first.join()
    assert pages.get("key", make) == results[0] == "page"


def test_texts_are_bounded_and_the_oldest_go() -> None:
    texts = KnownTexts(1000)
    for number in range(10):
        texts.keep(str(number), b"x" * 100)
        assert texts.find("0") in (b"x" * 100, None)
    assert texts.find("9") == b"x" * 100
    assert texts.find("0") is not None  # it was used all the time
    assert texts.find("1") is None
    texts.keep("9", b"y")
    assert texts.find("9") == b"y"


def test_text_stored_again_counts_once() -> None:
    texts = KnownTexts(1000)
    for _ in range(9):
        texts.keep("a", b"x" * 100)
    assert (len(texts), texts.bytes) == (1, 300)


def test_text_that_does_not_fit_leaves_the_others() -> None:
    texts = KnownTexts(1000)
    texts.keep("a", b"x")
    texts.keep("b", b"x" * 900)
    assert (texts.find("a"), texts.find("b")) == (b"x", None)
