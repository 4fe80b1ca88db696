"""Files that the storage refuses are neither missing nor damaged, and are reported once."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import pytest

from inspector import api
from inspector.analyses.shared.opening import fold_problems
from inspector.checkpoint.storage import Storage
from inspector.checkpoint.trees import Entry
from inspector.model import Problem, StoreId
from tests.cli.support import checkpoint_of
from tests.faults import before_each_read
from tests.reports import damage_ids, slugs

STORE, OTHER = StoreId(0, "default", 0), StoreId(0, "default", 1)
EXPIRED = "An error occurred (ExpiredToken) when calling the {} operation: The token has expired"


def test_denials_with_one_reason_are_one_problem() -> None:
    first = Problem("denied", EXPIRED.format("GetObject"), "/c/0.delta", None, STORE, 0)
    others = [replace(first, path="/c/1.delta"), replace(first, path="/c/2.delta")]
    listing = Problem("denied", EXPIRED.format("ListObjectsV2"), "/c/1", None, OTHER)
    cut = Problem("truncated", "got 3 bytes", "/c/9.delta", 3, STORE, 9)
    (denied, second) = fold_problems([first, *others, cut, listing, cut])
    assert denied.path == "/c/0.delta"
    assert denied.message.endswith("(and so refused for 3 other files and folders)")
    assert (denied.store, denied.version) == (None, None)
    assert second == cut


def test_denials_with_other_reasons_stay_separate() -> None:
    problems = [
        Problem("storage", "timed out", "/c/1", None, STORE),
        Problem("storage", "connection reset", "/c/2", None, STORE),
        Problem("denied", "timed out", "/c/3", None, STORE),
    ]
    assert fold_problems(problems) == tuple(problems)


def test_denied_partition_is_not_missing() -> None:
    listing = Storage._listing

    def denied(self: Storage, relative: str) -> tuple[Entry, ...]:
        if relative == "state/0/1":
            raise PermissionError("403 Forbidden")
        return listing(self, relative)

    with mock.patch.object(Storage, "_listing", denied):
        report = api.audit(str(checkpoint_of("agg_update")))
    assert damage_ids(report) == {"SS116"}
    assert slugs(report.problems) == ["denied"]


@pytest.mark.parametrize("case", ["agg_update", "join_left_outer"])
@pytest.mark.parametrize(
    ("error", "id_"),
    [
        (PermissionError(EXPIRED.format("GetObject")), "SS116"),
        (TimeoutError("no answer within 60 s"), "SS117"),
        (ConnectionResetError("Connection reset by peer"), "SS117"),
    ],
)
def test_expired_credentials_are_one_problem(case: str, error: OSError, id_: str) -> None:
    def act(storage: Storage, relative: str) -> None:
        if relative.startswith("state/") and relative.endswith((".delta", ".snapshot", ".crc")):
            raise type(error)(f"{storage.full_path(relative)}: {error}")

    with before_each_read(act):
        report = api.audit(str(checkpoint_of(case)))
    assert damage_ids(report) == {id_}
    assert len(report.problems) == 1
    (finding,) = report.findings
    assert "backup" not in finding.next_step
    assert "stale" not in finding.next_step
    assert not report.complete
