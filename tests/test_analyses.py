"""The registry of analyses: each is one file, and what it declares is what it does."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from documentation.reference import CommandOption, reference

from inspector import analyses, api
from inspector.analyses.shared.data_tables import plan_table
from inspector.analyses.shared.declare import TableOptions
from inspector.analyses.shared.run import Run
from inspector.discovery.tasks import Request
from inspector.engines.engine import Job
from inspector.engines.local import LocalEngine
from inspector.merge.collect import Facts
from inspector.render import audit_history
from inspector.render.report import Report
from inspector.render.tabular import Column
from tests.attributes import attributes
from tests.cli.support import checkpoint_of, run
from tests.reports import cell_values
from tests.troubles import troubled

CASES = ("fmgws_event_ignore", "join_left_outer", "agg_complete", "session_window", "agg_v1")
UTC = timezone.utc

TOY = '''
"""``toy``: counts the stores."""

from __future__ import annotations

from collections.abc import Iterator
from inspector.light_dataclasses import dataclass
from typing import Annotated

from inspector.analyses.shared.data_tables import driver_table
from inspector.analyses.shared.declare import analysis
from inspector.analyses.shared.options import PART, Option, Options
from inspector.analyses.shared.run import Run
from inspector.render import tabular as t
from inspector.render.report import Report


class StoreRow(t.StoreRow, table="toys"):
    """A store."""


class ToyRow(StoreRow, table="toys"):
    """One store."""

    shout: Annotated[t.Text, "What was shouted."]


def store_rows(run: Run) -> Iterator[StoreRow]:
    for operator in run.checkpoint.operators:
        for store in operator.layout.store_names:
            yield StoreRow(
                operator_id=operator.operator_id, operator_name=operator.name, store_name=store
            )


@analysis(
    uses=(PART,),
    tables=(ToyRow,),
    data_tables=(driver_table(StoreRow, "The stores.", store_rows),),
)
def toy(
    path: str | Run,
    options: Options | None = None,
    *,
    shout: Annotated[str, Option("What to shout.", choices=("hey", "ho"))] = "hey",
) -> Report:
    """Count the stores of the query, and shout."""
    run = Run.start(path, options)
    rows = [ToyRow(**vars(row), shout=shout) for row in store_rows(run)]
    return run.subject().report("toy", (ToyRow.table("toys", rows),))
'''
JOIN = checkpoint_of("join_left_outer")


@pytest.fixture
def _toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One more analysis: a file."""
    import sys

    (tmp_path / "toy.py").write_text(TOY, "utf-8")
    monkeypatch.setattr(analyses, "__path__", [*analyses.__path__, str(tmp_path)])
    yield
    sys.modules.pop("inspector.analyses.toy", None)
    vars(analyses).pop("toy", None)


@pytest.mark.usefixtures("_toy")
def test_analysis_module_becomes_command() -> None:
    assert "  toy " in run("--help").out
    out = run("toy", "--help").out
    assert "Count the stores of the query, and shout." in out
    assert "--shout [hey|ho]" in out
    assert "--partition" in out
    assert "--batch" not in out
    rows = run("toy", JOIN, "--shout", "ho", "--store", "left-keyToNumValues", "-o", "json").rows
    assert cell_values(rows, "store_name", "shout") == [("left-keyToNumValues", "ho")]
    assert run("toy", JOIN, "--shout", "hoo").code == 2


@pytest.mark.usefixtures("_toy")
def test_analysis_module_becomes_api_call() -> None:
    assert "toy" in dir(api)
    report = api.toy(str(JOIN), shout="ho")  # type: ignore[attr-defined]
    assert len(report.primary.rows) == 4


@pytest.mark.usefixtures("_toy")
def test_analysis_module_adds_data_table() -> None:
    plan = plan_table(str(JOIN), "toys", None, TableOptions())
    (batch,) = LocalEngine(1).run(Job(plan.function, plan.schema, plan.work))
    assert batch.to_pydict()["store_name"] == [
        "left-keyToNumValues",
        "left-keyWithIndexToValue",
        "right-keyToNumValues",
        "right-keyWithIndexToValue",
    ]


@pytest.mark.usefixtures("_toy")
def test_analysis_module_adds_spark_table_and_data_source() -> None:
    import inspector.spark
    from inspector.spark.source import InspectorDataSource

    assert "toys" in dir(inspector.spark)
    function = inspector.spark.toys  # type: ignore[attr-defined]
    assert repr(function) == "<function inspector.spark.toys(spark, path, options=None)>"
    source = InspectorDataSource({"path": str(JOIN), "table": "toys", "operatorid": "0"})
    assert source.schema().names == ["operator_id", "operator_name", "store_name"]
    assert len(source.reader(source.schema()).partitions()) == 1


@pytest.mark.usefixtures("_toy")
def test_analysis_module_adds_reference_page() -> None:
    page = reference(analyses.load("toy"), [CommandOption("--loud N", "How.  [default: 2]")])
    assert "inspector toy [OPTIONS] PATH" in page
    assert "- `--shout hey|ho` (default `hey`): What to shout.\n" in page
    assert "- `--loud N` (default 2): How.\n" in page
    assert "- `--partition N` (in Python `partition_id`): Only this partition.\n" in page
    assert "|`shout`|What was shouted.|\n" in page
    assert "api.toy(path, api.Options(partition_id=0))" in page
    assert "`inspector.spark.toys(spark, path, options)`" in page


# --- what is declared ------------------------------------------------------------------------


@pytest.mark.parametrize("name", analyses.names())
def test_analysis_function_has_name_of_its_module(name: str) -> None:
    result = analyses.load(name)
    assert result.name == name
    assert result.function.__module__ == f"inspector.analyses.{name}"
    assert result.text.count(".") >= 1
    options = (*result.options, *result.shared)
    assert "" not in attributes(options, "option.help")
    assert len(set(attributes(options, "flag"))) == len(options)


@pytest.mark.parametrize("name", analyses.names())
def test_every_column_has_description(name: str) -> None:
    for table in analyses.load(name).tables:
        assert table.row_meaning()
        assert "" not in attributes(table.columns(raw=True), "doc")
        ranks = [item.rank for item in table.columns() if item.rank is not None and not item.wide]
        assert len(set(ranks)) == len(ranks)
        assert ranks, f"{table.table_name}: which columns does a narrow terminal show?"
    assert reference(analyses.load(name)).startswith(f"# {name}\n")


CALLED: dict[str, list[dict[str, Any]]] = {
    "sizes": [{"by": "operator"}, {"by": "partition"}, {"by": "field"}],
    "sharing": [{"by": "store"}, {"by": "partition"}],
    "memory": [{}, {"executors": 2}],
    "rows": [{"raw": True}],
    "changes": [{"raw": True}],
    "diff": [{"raw": True}],
    "simulate": [{"timeout": "1m"}],
    "history": [],
    "export": [],
    "watch": [],
    "copy": [],
    "trend": [],
    "sql": [],
}
"""Analyses that a call with nothing but a path does not show whole -> options of their calls."""


def reports(cases: Sequence[str]) -> Iterator[Report]:
    """Reports with every table that there is; an analysis that is not in CALLED needs a path."""
    for case in cases:
        path = str(checkpoint_of(case))
        for name in analyses.names():
            for options in CALLED.get(name, [{}]):
                yield getattr(api, name)(path, **options)
    path = str(checkpoint_of("fmgws_event_ignore"))
    item = api.Options(where=("value=once-000",))
    yield api.history(path, item, raw=True)
    yield api.leftovers(path, explain="value=once-000")
    yield api.leftovers(path, explain="kept_without_timeout")
    yield api.leftovers(str(checkpoint_of("fmgws_snapshots_cleaned")))
    yield api.audit(str(checkpoint_of("fmgws_snapshots_cleaned")))
    with_variables = str(checkpoint_of("rocksdb_tws_event"))
    yield api.files(with_variables)
    yield api.info(with_variables)
    yield api.memory(with_variables)
    yield from api.watch(path, until=0)
    with TemporaryDirectory() as folder:
        old = Path(folder) / "old.json"
        old.write_text("".join(api.render(api.audit(path), "json")), "utf-8")
        yield api.audit(path, maximum={"state.rows": 1}, baseline=str(old))
        yield api.copy(path, f"{folder}/copy", evict="leftovers")
        history = audit_history.HistoryTable(folder, {})
        first, second = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
        history.append(audit_history.rows_of(api.audit(path), first))
        history.append(audit_history.rows_of(api.audit(path), second))
        yield api.trend(folder)
    yield api.audit(path, estimate=True)
    yield api.offsets(path, find="0@3")
    yield api.offsets(str(troubled("healthy_agg_fan_out")), form="starting-offsets")


DECLARED: dict[tuple[str, str], list[Any]] = defaultdict(list)
"""Declared tables by analysis and name of the table."""

for _name in analyses.names():
    for _table in analyses.load(_name).tables:
        DECLARED[_name, _table.table_name].append(_table)


@pytest.mark.parametrize("cases", [CASES[:1], pytest.param(CASES, marks=pytest.mark.full)])
def test_report_tables_are_declared(cases: Sequence[str]) -> None:
    seen = set()
    for report in reports(cases):
        for table in report.tables:
            list(table.rows)
            kinds = DECLARED[report.command, table.name]
            assert any(_in_order(table.columns, kind.columns(raw=True)) for kind in kinds)
            seen.add((report.command, table.name))
    assert seen == DECLARED.keys() or cases != CASES


def _in_order(columns: Iterable[Column], declared: Iterable[Column]) -> bool:
    """Return True if columns are declared, in the order of their declaration."""
    left = iter(declared)
    return all(column in left for column in columns)


LEAK = str(checkpoint_of("fmgws_event_ignore"))
ARGUMENTS: dict[str, tuple[str, ...]] = {"copy": (LEAK, "copy"), "export": ("rows", LEAK)}
"""Arguments of analyses that need others than a path; ``copy`` writes to the working folder."""
OPTIONS: dict[str, dict[str, Any]] = {
    "history": {"options": api.Options(where=("value=once-000",))},
    "simulate": {"timeout": "1m"},
    "watch": {"until": 0},
}
"""Options of analyses that need one."""


@pytest.mark.parametrize("name", sorted(set(analyses.names()) - {"trend"}))
def test_facts_read_are_declared(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    result = analyses.load(name)
    read: list[Request] = []
    facts = Run.facts

    def recorded(run: Run, request: Request) -> Facts:
        read.append(request)
        return facts(run, request)

    monkeypatch.setattr(Run, "facts", recorded)
    monkeypatch.chdir(tmp_path)
    result.function(*ARGUMENTS.get(name, (LEAK,)), **OPTIONS.get(name, {}))
    # A copy is read as its source is; what a simulation changes is an option's.
    requested = {replace(request, what_if=None, timeout_kind=None) for request in read}
    assert requested == {result.facts} - {None}


def test_shared_modules_import_no_analysis() -> None:
    folder = Path(str(analyses.__file__)).with_name("shared")
    text = "\n".join(file.read_text("utf-8") for file in folder.glob("*.py"))
    assert "from inspector.analyses.shared." in text
    assert re.findall(r"^ *from inspector\.analyses\.(?!shared\b).*", text, re.M) == []
