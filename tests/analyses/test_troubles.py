"""Twelve troubles, each written by a real Spark, and the same query without it.

The first two lines that an audit prints name the cause, and no other finding is as grave; of the
healthy twin they say that all is well.
"""

from __future__ import annotations

import re

import pytest

from inspector import api
from inspector.findings.finding import Severity
from inspector.findings.verdict import Level
from tests.cases import FIXTURES
from tests.cli.support import checkpoint_of, run
from tests.profiles import sampled

INFO, WARNING, ERROR = Severity.INFO, Severity.WARNING, Severity.ERROR

TROUBLES: dict[str, tuple[str | None, Severity, str]] = {
    "idle_source": ("SS206", WARNING, r"watermark stands still .*source 1 .*since batch 3"),
    "future_watermark": ("SS211", ERROR, r"in the future .*watermark .*3,?649 d.* ahead"),
    "ignored_timeouts": ("SS203", ERROR, r"timeout of 45 keys fired .*did nothing about it"),
    "kept_timeouts": ("SS203", ERROR, r"timeout of 80 keys fired .*kept them without a timeout"),
    "rearmed_timeouts": ("SS203", WARNING, r"timeout of 80 keys fired .*set a new one instead"),
    "dedup_without_time": (
        "SS201",
        WARNING,
        r"None of the columns .*watermark, so no key is ",
    ),
    "join_without_range": ("SS205", INFO, r"Neither side of the join removes .*no time range"),
    "huge_value": ("SS303", INFO, r"1 value far larger than the others.* 779 times the median"),
    "skew": ("SS302", INFO, r"skewed: partition 0 of 5 holds 95 % of its rows"),
    "complete_mode": ("SS202", WARNING, r"85 rows .*complete output mode keeps every group"),
    "new_keys": (None, INFO, r"Growing by new keys only: .* no expired rows remain"),
    "unchanged_updates": ("SS304", INFO, r"100 % of the updates of this store do not change"),
}
"""Trouble -> the finding (None where nothing is wrong), how grave it is, what the first lines say.
"""

of_trouble = pytest.mark.parametrize("name", sampled(tuple(TROUBLES), 3, 1))


def first_lines(case: str) -> str:
    """What somebody reads first."""
    return " ".join(run("audit", checkpoint_of(case)).out.splitlines()[:2])


def test_every_trouble_has_a_fixture_and_a_healthy_twin() -> None:
    cases = {path.name for path in FIXTURES.iterdir()}
    of_either = {
        kind: {case.removeprefix(f"{kind}_") for case in cases if case.startswith(f"{kind}_")}
        for kind in ("trouble", "healthy")
    }
    assert of_either == {"trouble": set(TROUBLES), "healthy": set(TROUBLES)}


@of_trouble
def test_the_first_two_lines_name_the_cause(name: str) -> None:
    _, _, words = TROUBLES[name]
    assert re.search(words, first_lines(f"trouble_{name}"))


@of_trouble
def test_the_cause_is_the_only_trouble_that_is_found(name: str) -> None:
    id_, severity, _ = TROUBLES[name]
    report = api.audit(str(checkpoint_of(f"trouble_{name}")))
    assert {(f.kind.id, f.severity) for f in report.findings} == (
        {(id_, severity)} if id_ else set()
    )
    assert report.verdict is not None
    cause = report.verdict.cause
    assert (None if cause is None else cause.finding.kind.id) == id_


@of_trouble
def test_of_the_healthy_twin_nothing_is_said(name: str) -> None:
    report = api.audit(str(checkpoint_of(f"healthy_{name}")))
    assert (list(report.findings), list(report.problems)) == ([], [])
    assert report.verdict is not None
    assert report.verdict.level is Level.OK
    assert report.verdict.growth is not None
    assert not report.verdict.growth.growing
    assert first_lines(f"healthy_{name}").startswith("Healthy: ")


GROW = set(TROUBLES) - {"future_watermark", "skew", "unchanged_updates"}


@of_trouble
def test_it_is_said_whether_the_state_grows(name: str) -> None:
    report = api.audit(str(checkpoint_of(f"trouble_{name}")))
    assert report.verdict is not None
    assert report.verdict.growth is not None
    assert report.verdict.growth.growing == (name in GROW)
    said = "The state grows by ~" if name in GROW else "The state does not grow."
    assert said in first_lines(f"trouble_{name}")
