"""``audit``: every fact and every rule; the findings are the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Any

from inspector.analyses.expiry import leftover_tables as lt
from inspector.analyses.page.charts import growth_charts
from inspector.analyses.shared import options as o
from inspector.analyses.shared.conclusion import findings_of, metrics_of, verdict_of
from inspector.analyses.shared.data_tables import driver_table
from inspector.analyses.shared.declare import analysis
from inspector.analyses.shared.judged import Judged, vouching_notes
from inspector.analyses.shared.opening import Opened, Recalled, begin
from inspector.analyses.shared.options import Option, Options
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.state_growth import whole_stores
from inspector.analyses.sizes import SizeRow, size_table
from inspector.discovery.checkpoint import state_file_bytes
from inspector.discovery.tasks import Request
from inspector.facts.versions import VersionFacts
from inspector.light_dataclasses import fields, replace
from inspector.model import Redact
from inspector.render import tabular as t
from inspector.render.gating import AuditCriteria, ComparisonRow, GateRow, wrong_options
from inspector.render.plain import AuditFindingRow, EstimateRow, FindingRow, fields_of, finding_row
from inspector.render.report import Report

# most leftovers (expired keys that are still there) that a task of an audit reports for each store
# and class, and that the report lists in all; the command ``leftovers`` lists every one
AUDIT_KEYS = 5
# keys of a store, over all partitions, that rules on similar keys compare: those put last
COMPARED_KEYS = 1024
# names of the fields of :class:`VersionFacts` that are summed in the table of changes
_CHANGES = ("puts", "inserts", "updates", "same_value_puts", "removals")


class StoreChangesRow(t.Row, table="changes"):
    """Changes of one store, summed over the newest versions whose changes all partitions show."""

    operator_id: Annotated[t.OperatorId, t.Rank(4)]
    store_name: Annotated[t.StoreName, t.Rank(1)]
    from_version: Annotated[t.Id | None, "The oldest version that was counted."]
    to_version: Annotated[t.Id | None, "The newest version that was counted."]
    puts: Annotated[t.Puts, t.Rank(2)]
    inserts: t.Inserts
    updates: t.Updates
    same_value_puts: Annotated[t.SameValuePuts, t.Rank(5)]
    removals: Annotated[t.Removals, t.Rank(3)]


class ExampleRow(t.Row, table="leftovers"):
    """One of the five oldest leftovers of the checkpoint."""

    operator_id: Annotated[t.OperatorId, t.Rank(6)]
    partition_id: Annotated[t.PartitionId, t.Rank(7)]
    key: Annotated[t.KeyJson, t.Rank(1)]
    class_: Annotated[t.LeftoverClassName, t.Rank(3)]
    certainty: t.Certainty
    expired_batch: Annotated[t.ExpiredBatch | None, t.Rank(2)]
    clock_ms: Annotated[t.ClockMs | None, t.Rank(4)]
    threshold_ms: Annotated[t.ThresholdMs | None, t.Rank(5)]
    key_bytes: t.KeyBytes
    value_bytes: Annotated[t.ValueBytes, t.Rank(8)]


# keys that each ranking lists, for each store of a partition; several, because the rule SS303 adds
# up the values that one key has in several windows
TOP_KEYS = 4
# facts (results of reading state files) that an audit requests of its tasks, in addition to those
# of each version: it checks rows and files, and lists leftovers, expiry times, and keys by ranking
FACTS = Request(
    fit=True, leftover_limit=AUDIT_KEYS, expiring=True, top=TOP_KEYS, sampled=COMPARED_KEYS
)


def finding_rows(opened: Opened) -> Iterator[FindingRow]:
    """Audit an opened checkpoint, and return an iterator over its findings as table rows."""
    run = Run.start(opened, None)
    return map(finding_row, findings_of(run.judge(run.facts(FACTS))))


# table of data, for programs on Spark and for SQL, with a row for each finding of an audit
FINDINGS_DATA = driver_table(
    FindingRow,
    "The findings of an audit, which runs when this is called.",
    finding_rows,
    options=("timeout_kind",),
)


def _wrong_options(parsed: Mapping[str, Any]) -> str | None:
    """Return the error in the options of the command, as a sentence; None if there is none.

    ``parsed`` has the value of each option by its name. Errors are a page with ``--cache``, a price
    without ``--estimate``, an option that ``--estimate`` excludes, and a wrong value.
    """
    if parsed["cache"] and (parsed["html"] or parsed["output"] == "html"):
        return "a page shows more than the cache keeps, got --cache"
    if not parsed["estimate"]:
        return "--price is for --estimate" if parsed["price"] else wrong_options(parsed)
    for name in ("max", "baseline", "html", "history", "cache"):
        if parsed[name]:
            return f"--estimate judges nothing, got --{name}"

    from inspector.analyses.shared.estimate import wrong_price  # noqa: PLC0415 - for few

    return wrong_price(parsed["price"])


_HELP = {  # help texts of options, by the name of the argument of :func:`audit`
    "maximum": "Exit with 1 if a metric exceeds this value, such as state.bytes=8GiB, "
    "heap.bytes=16GiB, leftovers.ratio=1% or growth.bytes_per_hour=100MiB (all: `inspector "
    "explain metrics`); repeatable.",
    "baseline": "JSON report of an earlier audit to compare with: report what is new, worse, "
    "better or gone. Of findings as severe as --fail-on only new or worse ones exit with 1.",
    "estimate": "Estimate requests, bytes and, with --price, cost of an audit from listings. "
    "Nothing is audited.",
    "price": "Price for --estimate in US dollars: per 1,000 requests (list=, get=), per GiB read "
    "(gib=) or per core hour (core_hour=); repeatable.",
}


@analysis(
    uses=(o.RULES, o.THRESHOLDS, o.redacting(Redact.HASH), o.CACHE, o.REPLAY),
    tables=(
        AuditFindingRow,
        GateRow,
        ComparisonRow,
        SizeRow,
        lt.LeftoverClassRow,
        lt.UndecidedRow,
        StoreChangesRow,
        ExampleRow,
        EstimateRow,
    ),
    facts=FACTS,
    data_tables=(FINDINGS_DATA,),
    fail_on="warning",
    many=True,
    has_verdict=True,
    remembered=True,
    page=True,
    check=_wrong_options,
)
def audit(  # noqa: PLR0913 - each is an option of the command
    path: str | Opened,
    options: Options | None = None,
    *,
    maximum: Annotated[
        Mapping[str, str | float], Option(_HELP["maximum"], metavar="METRIC=VALUE", flag="--max")
    ] = MappingProxyType({}),
    baseline: Annotated[str | None, Option(_HELP["baseline"], metavar="FILE")] = None,
    tolerance: Annotated[
        str,
        Option("Relative change from the baseline that counts as unchanged.", metavar="PERCENT"),
    ] = "10%",
    estimate: Annotated[bool, Option(_HELP["estimate"])] = False,
    price: Annotated[
        Mapping[str, str], Option(_HELP["price"], metavar="NAME=VALUE")
    ] = MappingProxyType({}),
    page: bool = False,  # make an HTML page too: charts, versions, fields, schemas
) -> Report:
    """Check checkpoints against every rule, with one verdict for each.

    Rules find damaged or missing files, obstacles to a restart, leftovers, growth, skew and wasted
    writes (`inspector explain findings`). The verdict is ``unreadable`` if something cannot be
    read, else the severity of the most severe finding (``error``, ``warning``, ``info``); ``ok``
    means no finding. Undecided keys are a finding (SS210). Every version that its files can restore
    is read; PATH is not changed. The exit code is 1 from a warning on (``--fail-on error``: from an
    error on), and 4 if something cannot be read. Keys are shown as hashes, unless --redact says
    otherwise. To compare with an earlier batch, use ``--batch 5 -o json -O old.json``, then
    ``--baseline old.json``.

    Several PATHs, a pattern or --recursive FOLDER give the causes, the most urgent first. --wide
    gives a row for each checkpoint; --details gives all reports. A checkpoint that cannot be read
    does not stop the others. The greatest exit code counts.

    Raises:
        NotACheckpointError, UnsupportedProviderError, CheckpointError, EngineError, OSError: the
            checkpoint as a whole cannot be read; what is wrong in it is a problem of the report.
    """
    criteria = AuditCriteria.parse(maximum, baseline, tolerance)
    shared = (options or Options()) if isinstance(path, str) else path.options
    if shared.cache is not None and (estimate or page):
        raise TypeError(f"audit() keeps no {'estimate' if estimate else 'page'}, got a cache")
    if estimate:
        from inspector.analyses.shared.estimate import estimate_audits  # noqa: PLC0415 - as above

        root = path if isinstance(path, str) else path.checkpoint.root
        return estimate_audits([root], shared, price)
    # Of many checkpoints, some come with a report that is already known, in place of a run.
    opened: Opened | Recalled = begin(path, shared) if isinstance(path, str) else path
    if isinstance(opened, Recalled):
        return criteria.apply(opened.report)
    run = Run.start(opened, None)
    if not page:
        report = audit_report(run.judge(run.facts(FACTS)))
        if run.cache is not None:
            run.cache.keep(report)
        return criteria.apply(report)
    # This imports half of all analyses, which only a page needs.
    from inspector.analyses.page.of_audit import page_of, page_request  # noqa: PLC0415

    judged = run.judge(run.facts(page_request(FACTS)))
    report = criteria.apply(audit_report(judged))
    return replace(report, page=page_of(run, judged, report))


def audit_report(judged: Judged) -> Report:
    """Return the report of an audit, with its findings, verdict, metrics and charts of growth.

    The tables are: findings, sizes by store, leftovers by class, undecided keys, changes of each
    store, and the oldest leftovers.
    """
    checkpoint, facts, total = judged.checkpoint, judged.facts, judged.total
    findings = findings_of(judged)
    verdict = verdict_of(judged, findings)
    summary = judged.coverage | {
        "state_file_bytes": state_file_bytes(checkpoint),
        "rows": total.rows,
        "row_bytes": total.row_bytes,
        "heap_estimate_bytes": verdict.size.heap_bytes if verdict.size else None,
        "leftovers": verdict.leftovers,
    }
    helpers = _helpers(judged)
    if helpers is not None:
        summary |= {"helper_rows": helpers.rows, "helper_row_bytes": helpers.row_bytes}
    if not checkpoint.provider.keeps_maps:
        del summary["heap_estimate_bytes"]  # the rows are not on a heap
    shown = [AuditFindingRow(checkpoint=checkpoint.root, **vars(finding_row(f))) for f in findings]
    words = lt.LeftoverWords.of(checkpoint, judged.options.redact or Redact.HASH)
    oldest = words.rows(facts.leftovers[:AUDIT_KEYS], lt.LeftoverRow)
    names = [f.name for f in fields(ExampleRow)]
    tables = (
        AuditFindingRow.table("findings", shown),
        size_table(judged),
        lt.class_table(judged),
        *lt.undecided_tables(judged),
        _changes(judged),
        ExampleRow.table(
            "oldest leftovers (inspector leftovers lists all of them)",
            [ExampleRow(**fields_of(row, *names)) for row in oldest],
        ),
    )
    return judged.report(
        *("audit", tables, summary),
        notes=(*lt.notes(facts), *vouching_notes(judged, facts)),
        findings=findings,
        verdict=verdict,
        metrics=metrics_of(judged, verdict),
        charts=growth_charts(judged),
    )


def _helpers(judged: Judged) -> VersionFacts | None:
    """Return the facts (rows, bytes) of Spark's own stores of transformWithState, summed.

    Such stores are indexes and counters that Spark keeps for the user's variables. The facts are of
    the judged version, over all operators. None if no operator is a transformWithState.
    """
    version, operators = judged.version, judged.checkpoint.operators
    processors = {operator.operator_id: operator for operator in operators if operator.processor}
    helpers = VersionFacts()
    for store, versions in judged.facts.by_store(version).items():
        operator = processors.get(store.operator_id)
        family = operator.family(store.store_name) if operator else None
        if family is not None and family.is_helper:
            helpers += versions[version]
    return helpers if processors else None


def _changes(judged: Judged) -> t.Table:
    """Return the table of changes (puts, removals and so on), with one row for each store.

    A row sums up the newest consecutive versions whose changes are known in all partitions. Its
    range of versions is null, and its sums are 0, if the newest version is not one of these.
    """
    rows = []
    for (operator_id, store), versions in judged.facts.by_store().items():
        counts = whole_stores(judged.checkpoint, versions)
        # The newest versions in a row whose changes all partitions know, so that sums are whole.
        unbroken: dict[int, VersionFacts] = {}
        for version, version_facts in sorted(versions.items(), reverse=True):
            is_next = not unbroken or version + 1 in unbroken
            if version_facts.rebased or version_facts.stores < counts[version] or not is_next:
                break
            unbroken[version] = version_facts
        columns = fields_of(sum(unbroken.values(), VersionFacts()), *_CHANGES)
        columns["from_version"] = min(unbroken, default=None)
        columns["to_version"] = max(unbroken, default=None)
        rows.append(StoreChangesRow(operator_id=operator_id, store_name=store, **columns))
    return StoreChangesRow.table("changes of the versions that all partitions can show", rows)
