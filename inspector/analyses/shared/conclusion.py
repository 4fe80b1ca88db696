"""The verdict on a checkpoint: the results that its user has to know first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from operator import attrgetter

from inspector.analyses.shared.judged import Judged, batch_columns, operator_names
from inspector.analyses.shared.state_growth import growing_stores, state_growth
from inspector.analyses.shared.store_heaps import heap_by_store, object_layout
from inspector.analyses.shared.words import StoreWords
from inspector.discovery.checkpoint import state_file_bytes
from inspector.discovery.restart import Restart
from inspector.estimates.heap import of_rows
from inspector.facts.versions import VersionFacts
from inspector.findings import verdict as verdicts
from inspector.findings.finding import Concerns, Finding, Severity
from inspector.findings.judge import judge
from inspector.findings.metrics import Value, values_of
from inspector.light_dataclasses import replace
from inspector.merge.collect import Facts
from inspector.model import NO_FAULT, Problem, Redact, StoreName
from inspector.operators.join import COUNT_STORES, VALUE_STORES
from inspector.operators.rule import Clock
from inspector.quantities import sentence
from inspector.sparktypes import StructType
from inspector.sums import sum_by_key


def findings_of(judged: Judged) -> tuple[Finding, ...]:
    """Apply every rule to the facts and problems of ``judged`` and return the findings.

    The most severe come first. Keys in them are redacted by the options; hashed by default.
    """
    thresholds, checkpoint = judged.thresholds, judged.checkpoint
    limited = "heap_bytes" in thresholds.given and checkpoint.provider.keeps_maps
    heap = sum(heap_by_store(judged).values()) if limited else None
    words = StoreWords(checkpoint, judged.options.redact or Redact.HASH)
    fields = StoreWords(checkpoint)

    def key_words(store: StoreName, key: bytes, schema: StructType | None = None) -> str:
        """Return a key as a short text for a sentence; ``schema`` replaces that of the key."""
        (plain,), (value,) = (decoder.keys(store, [key], schema) for decoder in (fields, words))
        parts = plain if isinstance(plain, dict) else {}
        # A null or an empty text is shown even if keys are redacted: it is no user's value.
        texts = [
            f"{_column(name)} is {'null' if part is None else 'empty'}"
            for name, part in parts.items()
            if part in (None, "")
        ]
        if isinstance(value, dict):
            texts += [f"{name}={part}" for name, part in value.items() if part not in (None, "")]
        text = ", ".join(texts) or str(value or "")
        return text if len(text) <= _KEY_TEXT else f"{text[:_KEY_TEXT]}..."

    subject = judged.version, judged.facts, judged.problems
    growing = growing_stores(judged)
    return judge(checkpoint, *subject, thresholds, heap, key_words, judged.next_start, growing)


def _column(name: str) -> str:
    """Return the name of a key column for users; a join's ``field0`` is ``key column 1``."""
    return re.sub(r"^field(\d+)$", lambda match: f"key column {int(match[1]) + 1}", name)


_KEY_TEXT = 40  # number of characters of a key that a finding shows, at most; the rest is cut


def verdict_of(judged: Judged, findings: Sequence[Finding]) -> verdicts.Verdict:
    """Return the verdict on the judged version: level, main cause, growth, size and leftovers.

    ``findings`` are those of :func:`findings_of`.
    """
    state = _State(judged)
    growth = state_growth(judged, state.size)
    growing = growth.growing if growth and growth.judged else _gains_rows(judged.facts)
    cause = _cause(findings, state, growing=growing)
    verdict = counted_verdict(findings, judged.problems, cause, judged.restart)
    return replace(verdict, growth=growth, size=state.size, leftovers=leftover_count(judged))


def metrics_of(judged: Judged, verdict: verdicts.Verdict) -> dict[str, Value]:
    """Return the numbers of an audit that gates and monitoring watch, by name of the metric.

    They are those of the verdict, and the bytes of state files and of leftovers, and the watermark
    lag in ms. A number is None if it is not known.
    """
    return values_of(
        verdict,
        file_bytes=state_file_bytes(judged.checkpoint),
        leftover_bytes=sum(total.fact.row_bytes for total in judged.facts.totals),
        lag_ms=batch_columns(judged.checkpoint, judged.version)["lag_ms"],
    )


def _gains_rows(facts: Facts) -> bool:
    """Return True if the newest version has more rows than the one in the middle of all versions.

    Rows of all stores are added up. True without versions. Fewer versions than a trend needs are
    enough for this comparison.
    """
    facts_by_store = facts.by_store().values()
    rows = sum_by_key(
        (v, version_facts.rows)
        for versions in facts_by_store
        for v, version_facts in versions.items()
    )
    ordered = [rows[version] for version in sorted(rows)]
    return not ordered or ordered[-1] > ordered[len(ordered) // 2]


def leftover_count(judged: Judged) -> int | None:
    """Return the number of leftovers; None if a store's rule is unknown for lack of its schema."""
    for operator in judged.checkpoint.operators:
        for store, rule in operator.rules.items():
            if rule.unknown is not None and store not in operator.schemas and not rule.needs_none:
                return None
    return sum(total.fact.rows for total in judged.facts.totals)


def verdict_on_files(judged: Judged, findings: Sequence[Finding]) -> verdicts.Verdict:
    """Return the verdict of a command that reads only file names: without growth and size.

    It has the level, the main cause and the numbers of findings and problems.
    """
    state = _State(replace(judged, facts=Facts()))
    return counted_verdict(findings, judged.problems, _cause(findings, state), judged.restart)


def counted_verdict(
    findings: Sequence[Finding],
    problems: Sequence[Problem],
    cause: verdicts.Cause | None,
    restart: Restart | None = None,
) -> verdicts.Verdict:
    """Return a verdict with its level, its cause, and its numbers of findings and of problems.

    Findings are counted by severity. Problems with the same cause count once; those whose slug is
    in ``NO_FAULT`` do not count. Problems in spite of which the query restarts (``restart``) do not
    raise the level; without ``restart`` every problem does.
    """
    severities = Counter(finding.severity for finding in findings)
    stopping = [p for p in problems if restart is None or not restart.loads_without(p)]
    return verdicts.Verdict(
        verdicts.level_of(findings, stopping),
        *(severities[Severity.ERROR], severities[Severity.WARNING], severities[Severity.INFO]),
        len({problem.cause for problem in problems if problem.slug not in NO_FAULT}),
        cause=cause,
        restart=restart,
    )


class _State:
    """Rows, bytes and heap of each store at the judged version, and of the whole state."""

    def __init__(self, judged: Judged) -> None:
        """Sum rows, bytes and estimated heap of the judged version."""
        self.checkpoint, version = judged.checkpoint, judged.version
        # store -> its facts of the judged version, summed over partitions
        self.stores = {
            n: versions[version] for n, versions in judged.facts.by_store(version).items()
        }
        self.heaps = Counter(heap_by_store(judged))  # store -> estimated heap bytes
        self.layout = object_layout(self.checkpoint, version)  # sizes of objects on the heap
        rows, row_bytes, heap = self._together(self.stores)
        counters = self._together(n for n in self.stores if n.store_name in COUNT_STORES)[0]
        has_heap = self.checkpoint.provider.keeps_maps
        # sums of all stores; the heap is None if the provider keeps no maps on it
        self.size = verdicts.StateSize(rows, row_bytes, heap if has_heap else None, counters)

    def _together(self, names: Iterable[StoreName]) -> tuple[int, int, int]:
        """Return (rows, row bytes, heap bytes) of the stores in ``names``, summed."""
        facts_and_heaps = [(self.stores[name], self.heaps[name]) for name in names]
        rows, size = (
            sum(facts.rows for facts, _ in facts_and_heaps),
            sum(facts.row_bytes for facts, _ in facts_and_heaps),
        )
        return rows, size, sum(heap for _, heap in facts_and_heaps)

    def about(self, finding: Finding) -> tuple[int, int, int] | None:
        """Return (rows, row bytes, heap bytes) that a finding is about.

        If it is about all rows that follow the watermark and has no number of bytes, the stores
        with such rows count. A finding about all rows of a join's side counts the store of its
        counters, too. The heap is 0 if it is about no single store. None if it is about records, or
        has no number of rows or bytes.
        """
        concerns = finding.kind.concerns
        if concerns is Concerns.BY_WATERMARK and finding.bytes is None:
            watermark_kinds = {
                StoreName(operator.operator_id, store)
                for operator in self.checkpoint.operators
                for store, rule in operator.rules.items()
                if (field := rule.expiry or rule.event_time) and field.clock is Clock.WATERMARK
            }
            return self._together(self.stores.keys() & watermark_kinds)
        if concerns is Concerns.RECORDS or finding.rows is None or finding.bytes is None:
            return None
        rows, size, heap = finding.rows, finding.bytes, 0
        if finding.operator_id is not None and finding.store_name is not None:
            name = StoreName(finding.operator_id, finding.store_name)
            heap = self._heap(name, rows, size, rewritten=concerns is Concerns.REWRITTEN_ROWS)
            if finding.store_name in VALUE_STORES and name in self.stores:
                # All rows of a join's side: the store that counts them is added.
                side = VALUE_STORES.index(finding.store_name)
                counters = StoreName(finding.operator_id, COUNT_STORES[side])
                if rows >= self.stores[name].rows and counters in self.stores:
                    counters_bytes = self._together([counters])
                    return (
                        rows + counters_bytes[0],
                        size + counters_bytes[1],
                        heap + counters_bytes[2],
                    )
        return rows, size, heap

    def _heap(self, name: StoreName, rows: int, size: int, *, rewritten: bool) -> int:
        """Return the heap bytes of ``rows`` rows of a store, ``size`` bytes, in retained versions.

        These are the two versions that Spark retains by default. ``rewritten`` rows also account
        for the copies that the older version keeps. The result is at most the heap of the store.
        """
        store_facts, heap_bytes = self.stores.get(name, VersionFacts()), self.heaps[name]
        if rows >= store_facts.rows:
            return heap_bytes
        # A finding has key and value bytes in one number, divided here as in all rows of the store.
        keys = round(size * store_facts.key_bytes / max(1, store_facts.row_bytes))
        row_bytes = of_rows(rows, keys, size - keys, self.layout).total
        if rewritten:
            sizes = store_facts.key_bytes, store_facts.value_bytes
            once = of_rows(store_facts.rows, *sizes, self.layout).total
            row_bytes += round(max(0, heap_bytes - once) * size / max(1, store_facts.row_bytes))
        return min(row_bytes, heap_bytes)


def _cause(
    findings: Sequence[Finding], state: _State, *, growing: bool = True
) -> verdicts.Cause | None:
    """Return the main finding as the cause, with its share of the state; None without findings.

    Findings of the same kind and cause on other stores of the operator count in the share.
    ``growing`` is False if the state does not grow, which changes the choice of the main finding.
    """
    about = {finding: state.about(finding) for finding in findings}
    sizes = {finding: extent[1] for finding, extent in about.items() if extent is not None}
    finding = verdicts.main_finding(findings, sizes, state.size.bytes, growing=growing)
    if finding is None:
        return None
    # For a user such findings are one: the stores of a join have the same cause.
    gist = attrgetter("kind", "cause", "operator_id")
    alike = [candidate for candidate in findings if gist(candidate) == gist(finding)]
    cause = [extent for extent in (about[candidate] for candidate in alike) if extent is not None]
    rows, size, heap = map(sum, zip(*cause, strict=True)) if cause else (None, None, None)
    total, operator = state.size, finding.operator_id
    several = operator is not None and len(state.checkpoint.operators) > 1
    chosen = f" --operator {operator}" if several else ""
    return verdicts.Cause(
        finding=finding,
        sentence=verdicts.cause_sentence(findings, finding, sizes, total.bytes),
        rows_share=_share(rows, total.rows),
        bytes_share=_share(size, total.bytes),
        heap_share=_share(heap, total.heap_bytes),
        to_do=sentence(finding.next_step),
        command=finding.command + chosen,
        operator_name=None if operator is None else operator_names(state.checkpoint).get(operator),
        store_name=finding.store_name if len(alike) == 1 else None,
    )


def _share(part: int | None, whole: int | None) -> float | None:
    """Return ``part`` divided by ``whole``, at most 1; None if one is None or the whole is 0."""
    return None if part is None or not whole else min(1.0, part / whole)
