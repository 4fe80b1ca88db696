"""SS120: restart that Spark refuses."""

from __future__ import annotations

from typing import Any

from inspector.discovery.restart import Obstacle, Restart
from inspector.discovery.restart_conditions import JOIN_NULLS, SCHEMA_PATHS
from inspector.discovery.restart_reasons import Doubt
from inspector.findings.integrity.ss120_refused_restart import RefusedRestart
from inspector.model import StoreId
from inspector.providers.chain import FileNames
from tests.store_views import checkpoint_view

NAMES = FileNames("{}.delta", "{}.snapshot")


def findings(*obstacles: Obstacle, judges_rows: bool = True, **options: Any) -> list[Any]:
    """Return the findings about a restart with obstacles."""
    restart = Restart(5, False, None, 4, (), obstacles, 0, NAMES, **options)
    view = checkpoint_view({}, restart=restart, judges_rows=judges_rows)
    return list(RefusedRestart().findings(view))


def test_missing_required_log_entry_is_an_error() -> None:
    (finding,) = findings(Obstacle("sources/0/5", "FileNotFoundException"))
    assert (finding.kind.id, finding.severity.word) == ("SS120", "error")
    assert finding.cause == (
        "Spark does not start the query from this checkpoint: it lacks sources/0/5 "
        "(FileNotFoundException)."
    )
    assert finding.next_step == "restore what is missing from a backup"
    assert finding.kind.yields_to_errors


def test_refusal_by_later_release_is_information() -> None:
    later = Obstacle("9_x.zip", "CANNOT_LOAD", verb="refuses", since="4.1")
    (finding,) = findings(later=(later,))
    assert finding.severity.word == "info"
    assert finding.cause.startswith("Spark 4.1 or later does not start the query from this ")
    (finding,) = findings(later)
    assert finding.severity.word == "error"


def test_schema_paths_of_another_folder_are_information() -> None:
    (finding,) = findings(Obstacle("the schemas", "", verb="looks for", about=SCHEMA_PATHS))
    assert finding.severity.word == "info"
    assert finding.cause == "Spark does not start the query at this path: it looks for the schemas."
    assert "inspector copy" in finding.next_step


def test_lost_source_log_entry_is_a_warning() -> None:
    doubt = Doubt("the entry may be written again", lost_entry="sources/0/5")
    (finding,) = findings(doubts=(doubt,))
    assert finding.severity.word == "warning"
    assert finding.cause.startswith("The entry sources/0/5 is missing. Spark refuses the restart, ")


def test_obstacles_reported_by_other_rules_are_not_repeated() -> None:
    nulls = Obstacle("null rows", "", verb="fails at", about=JOIN_NULLS)
    assert findings(nulls) == []
    (finding,) = findings(nulls, judges_rows=False)
    assert "skipNullsForStreamStreamJoins" in finding.next_step
    assert findings(Obstacle("3.delta", "CANNOT_READ", StoreId(0, "default", 0))) == []


def test_restart_without_obstacles_has_no_finding() -> None:
    assert findings() == []
    assert list(RefusedRestart().findings(checkpoint_view({}))) == []
