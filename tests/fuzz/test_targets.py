"""What the fuzzers begin with, tried without them; none of the kernel's files is left out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from inspector.exceptions import FrameError
from tests.attributes import attributes
from tests.cases import KERNELS
from tests.fuzz import targets
from tests.fuzz.run import HARNESSES, OF_KERNEL, OF_PYTHON, Result
from tests.fuzz.targets import SEEDS, TARGETS, framing, outcome, seeds_of

KERNEL = Path(__file__).resolve().parents[2] / "inspector" / "kernel"
WITHOUT_HARNESS = {"module", "files"}
"""The one only declares; the other opens files by their names and looks at none of their bytes."""


@pytest.mark.parametrize("name", sorted({*TARGETS} - (set() if "c" in KERNELS else {"kernels"})))
def test_every_seed_and_every_beginning_of_it_is_read(name: str) -> None:
    for seed in seeds_of(name):
        for size in {*range(0, len(seed), 1 + len(seed) // 16), len(seed)}:
            TARGETS[name](seed[:size])


def test_every_target_has_seeds_and_every_file_of_the_kernel_a_target() -> None:
    assert set(attributes(SEEDS.iterdir(), "stem")) == {*OF_KERNEL, *OF_PYTHON}
    assert all(seeds_of(name) for name in (*OF_KERNEL, *OF_PYTHON))
    included = "".join((HARNESSES / f"{name}.c").read_text("utf-8") for name in OF_KERNEL)
    with_harness = set(re.findall(r"inspector/kernel/(\w+)\.c", included))
    assert set(attributes(KERNEL.glob("*.c"), "stem")) == with_harness | WITHOUT_HARNESS


def test_a_fault_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The targets see what they are for: a difference between two ways of reading."""
    monkeypatch.setattr(targets, "inflate", lambda chunks, *_: iter([b"%d" % len([*chunks])]))
    with pytest.raises(AssertionError):
        framing("lz4")(b"LZ4Block")


def test_other_errors_than_those_of_the_format_are_faults() -> None:
    def fail(error: Exception) -> None:
        raise error

    assert outcome(lambda: fail(FrameError("bad", offset=3))) == ("FrameError", "byte 3: bad")
    with pytest.raises(IndexError):
        outcome(lambda: fail(IndexError("bad")))


def test_what_a_fuzzer_prints_is_understood() -> None:
    message = "#8\tINITED cov: 7 ft: 9 corp: 2/3b\n#9\tDONE cov: 12 ft: 9\n"
    message += "stat::number_of_executed_units: 4711\n"
    assert Result.of("scan", 0, message) == Result("scan", 4711, 12, False, message)
    assert Result.of("scan", 77, "").failed
