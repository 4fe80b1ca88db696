"""Every finding is reported for a damaged checkpoint and suppressed by a threshold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from inspector import api
from inspector.analyses.shared.run import Run
from inspector.findings.finding import Finding
from inspector.findings.rule import all_kinds
from tests.attributes import attributes
from tests.faults import refusing
from tests.ill import ILL, Ill
from tests.profiles import sampled


def findings(ill: Ill, root: Path, **thresholds: str) -> Sequence[Finding]:
    options = api.Options(thresholds={**ill.thresholds, **thresholds}, **ill.options)  # type: ignore[arg-type]
    if ill.refusal is not None:
        with refusing("2.delta", ill.refusal):
            return api.audit(str(root), options).findings
    if not ill.meanwhile:
        return api.audit(str(root), options).findings
    of_tasks = Run.tasks

    def damaged(run: Run, request: Any) -> Any:
        tasks = of_tasks(run, request)
        ill.damage(root)
        return tasks

    with mock.patch.object(Run, "tasks", damaged):
        return api.audit(str(root), options).findings


def ids(result: Iterable[Finding], group: str) -> set[str]:
    """Return the ids of findings that begin with ``group``."""
    return set(re.findall(rf"\b{group}\d*", " ".join(attributes(result, "kind.id"))))


def test_every_finding_id_has_a_damaged_checkpoint() -> None:
    assert sorted(ILL) == sorted(attributes(all_kinds(), "id"))


@pytest.mark.parametrize("id_", sampled(tuple(ILL), 2))
def test_audit_of_damaged_checkpoint_reports_expected_findings(id_: str, tmp_path: Path) -> None:
    ill, group = ILL[id_], id_[:3]
    root = ill.copy(tmp_path)
    if not ill.meanwhile:
        assert not ill.damaged or id_ not in ids(api.audit(str(root)).findings, group)
        ill.damage(root)
    result = findings(ill, root)
    assert ids(result, group) == {id_, *ill.beside}
    for item in result:
        assert item.cause[0].isupper() or item.cause[0].isdigit()
        assert item.cause.endswith(".")
        assert item.evidence
        assert item.next_step


SILENCED = [id_ for id_, ill in ILL.items() if not ill.meanwhile]


@pytest.mark.parametrize("id_", sampled(SILENCED, 4))
def test_threshold_of_finding_id_suppresses_finding(id_: str, tmp_path: Path) -> None:
    ill = ILL[id_]
    root = ill.copy(tmp_path)
    ill.damage(root)
    assert ids(findings(ill, root), id_) == {id_}
    assert ids(findings(ill, root, **{id_: "1000000"}), id_) == set()
