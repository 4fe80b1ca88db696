"""The public API: every command as a call, and all that its signatures need."""

import ast
import inspect
import re
import subprocess
import sys
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from inspector import analyses, api
from inspector.analyses.shared import stores
from inspector.analyses.shared.run import Run
from inspector.exceptions import CheckpointError, NotACheckpointError
from inspector.facts.join_rows import MatchedRows
from inspector.model import Redact
from inspector.render.renderers import FORMATS, render
from inspector.render.report import Report
from tests.attributes import attributes
from tests.cli.support import COMMANDS, OF_STATE, checkpoint_of, copy_of
from tests.profiles import crossed
from tests.reports import cell_values, rows_of_table

LEAK = str(checkpoint_of("fmgws_event_ignore"))


def rows_of(report: Report) -> list[Any]:
    return list(report.primary.rows)


def test_public_names_are_importable() -> None:
    assert dir(api) == api.__all__ == sorted(set(api.__all__))
    assert set(analyses.names()) < set(api.__all__)
    assert None not in attributes(attrgetter(*api.__all__)(api), "__doc__")
    functions = attrgetter(*analyses.names())(api)
    assert attributes(functions, "__name__") == list(analyses.names())
    with pytest.raises(AttributeError, match=r"'inspector\.api' has no attribute 'nothing'"):
        _ = api.nothing  # type: ignore[attr-defined]


def test_type_stub_lists_public_names() -> None:
    tree = ast.parse(Path(str(api.__file__)).with_suffix(".pyi").read_text("utf-8"))
    names = [a.asname for n in tree.body if isinstance(n, ast.ImportFrom) for a in n.names]
    assert sorted(map(str, names)) == api.__all__


def test_signatures_use_public_types_only() -> None:
    public = set(attrgetter(*api.__all__)(api))
    hints = [get_type_hints(getattr(api, name)).values() for name in analyses.names()]
    types = {kind for hint in chain(*hints) for kind in (hint, *get_args(hint))}
    own = {kind for kind in types if getattr(kind, "__module__", "").startswith("inspector")}
    assert own <= public


@pytest.mark.parametrize(("command", "output"), crossed(COMMANDS, FORMATS))
def test_every_command_is_api_function(command: str, output: str) -> None:
    function = getattr(api, command)
    assert command in api.__all__
    report = function(LEAK)
    assert isinstance(report, Report)
    assert (report.command, report.checkpoint) == (command, LEAK)
    assert inspect.getdoc(function)
    assert "".join(render(report, output)).endswith("\n") or output == "ndjson"


@pytest.mark.parametrize("command", OF_STATE)
def test_api_options_select_part_and_version(command: str) -> None:
    options = api.Options(batch=4, partition_id=1)
    report = getattr(api, command)(LEAK, options)
    assert report.summary["version"] == 5
    assert {row.get("partition_id", 1) for row in rows_of(report)} <= {1, None}


@pytest.mark.parametrize("command", OF_STATE)
def test_api_errors_for_missing_path_store_and_version(command: str, tmp_path: Path) -> None:
    function = getattr(api, command)
    with pytest.raises(NotACheckpointError, match="expected a checkpoint folder"):
        function(str(tmp_path))
    with pytest.raises(CheckpointError, match="no such operator, store or partition"):
        function(LEAK, api.Options(operator_id=7))
    with pytest.raises(CheckpointError, match=r"state version 100 \(batch 99\) does not exist"):
        function(LEAK, api.Options(batch=99))


def test_limit_cuts_rows_but_not_totals() -> None:
    complete, short = api.leftovers(LEAK), api.leftovers(LEAK, limit=3)
    assert (len(rows_of(complete)), len(rows_of(short))) == (68, 3)
    assert complete.summary == short.summary
    assert len(rows_of(api.rows(LEAK, limit=3))) == 3


def test_leftovers_of_join_report_matched_rows() -> None:
    path = str(checkpoint_of("join_left_outer"))
    retention = rows_of_table(api.leftovers(path), "retention")
    assert cell_values(retention, "store_name", "matched_rows", "unmatched_rows") == [
        ("left-keyWithIndexToValue", 30, 31),
        ("right-keyWithIndexToValue", 11, 4),
    ]
    assert Run.start(path, None).facts().sums(MatchedRows) == {}


def test_keys_are_hashed_in_audit_only() -> None:
    assert rows_of(api.leftovers(LEAK))[0]["key"] == {"value": "once-000"}
    hashed = cell_values(rows_of_table(api.audit(LEAK), "leftovers"), "key")
    assert hashed == [
        "sha256:2745aaf702b8b337",
        "sha256:1c3ce477229849eb",
        "sha256:a09d05c775979d9f",
        "sha256:ae3698c30ef480fe",
        "sha256:b3cb1363e1bd5819",
    ]
    report = api.audit(LEAK, api.Options(redact=Redact.NONE))
    assert rows_of_table(report, "leftovers")[0]["key"] == {"value": "once-000"}


def test_report_reads_rows_beyond_limit_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "HELD_BYTES", 1)
    path = copy_of("agg_append", tmp_path)
    report = api.rows(str(path))
    for delta in path.glob("state/0/1/*.delta"):
        delta.write_bytes(b"junk")
    assert report.problems == []
    assert set(cell_values(report.primary.rows, "partition_id")) == {0}
    (problem,) = report.problems
    assert problem.path == str(path / "state/0/1/1.delta")
    assert not report.complete


def test_api_call_does_not_change_later_calls() -> None:
    with pytest.raises(AttributeError):
        api.Options().batch = 3  # type: ignore[misc]
    assert api.Options() == api.Options()


@pytest.mark.parametrize("command", ["info", "files"])
def test_import_of_package_loads_no_reader(command: str) -> None:
    program = (
        "import sys\n"
        "from inspector import api\n"
        f"assert api.{command}({str(checkpoint_of('agg_update'))!r}).tables\n"
        "print(*sorted(name for name in sys.modules if name.startswith('inspector.')))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    imported = done.stdout.decode().split()
    assert f"inspector.analyses.{command}" in imported
    rooms = set(re.findall(r"\binspector\.analyses\.(\w+)", done.stdout.decode()))
    assert rooms == {command, "shared"}
    assert "inspector.facts" not in done.stdout.decode()
    assert "inspector.state.replay" not in imported
    assert "inspector.passes.worker" not in imported
