"""The verdict on a checkpoint: what of all that was found its user has to know first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from operator import attrgetter

from inspector.analyses.shared.judged import Judged, operator_names
from inspector.analyses.shared.state_growth import growing_stores, state_growth
from inspector.analyses.shared.store_heaps import heap_by_store, usual_layout
from inspector.analyses.shared.words import StoreWords
from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.restart import Restart
from inspector.estimates.heap import RETAINED_BY_DEFAULT, of_rows
from inspector.facts.versions import VersionFacts
from inspector.findings.finding import Concerns, Finding, Severity
from inspector.findings.judge import judge
from inspector.findings.verdict import (
    Cause,
    StateSize,
    Verdict,
    cause_sentence,
    level_of,
    main_finding,
)
from inspector.light_dataclasses import dataclass, replace
from inspector.merge.collect import Facts
from inspector.model import NO_FAULT, Problem, Redact, StoreName
from inspector.operators.join import COUNT_STORES, VALUE_STORES
from inspector.operators.rule import Clock
from inspector.quantities import sentence
from inspector.sparktypes import StructType


def findings_of(judged: Judged) -> tuple[Finding, ...]:
    """Every rule applied to what a run showed, by the thresholds of its user; the gravest first."""
    thresholds, checkpoint = judged.thresholds, judged.checkpoint
    limited = thresholds.heap_bytes is not None and checkpoint.provider.keeps_maps
    heap = sum(heap_by_store(judged).values()) if limited else None
    words = StoreWords(checkpoint, judged.options.redact or Redact.HASH)
    fields = StoreWords(checkpoint)

    def key_words(store: StoreName, key: bytes, schema: StructType | None = None) -> str:
        (plain,), (value,) = (of.keys(store, [key], schema) for of in (fields, words))
        parts = plain if isinstance(plain, dict) else {}
        # Of a null, or an empty text, nothing is to be hidden: it is nobody's.
        said = [
            f"{_column(name)} is {'null' if part is None else 'empty'}"
            for name, part in parts.items()
            if part in (None, "")
        ]
        if isinstance(value, dict):
            said += [f"{name}={part}" for name, part in value.items() if part not in (None, "")]
        text = ", ".join(said) or str(value or "")
        return text if len(text) <= _KEY_TEXT else f"{text[:_KEY_TEXT]}..."

    of_run = judged.version, judged.facts, judged.problems
    growing = growing_stores(judged)
    return judge(checkpoint, *of_run, thresholds, heap, key_words, judged.next_start, growing)


def _column(name: str) -> str:
    """A column of a key; a join numbers those of its own (``SymmetricHashJoinStateManager``)."""
    return re.sub(r"^field(\d+)$", lambda match: f"key column {int(match[1]) + 1}", name)


_KEY_TEXT = 40  # characters of a key that a finding shows


def verdict_of(judged: Judged, findings: Sequence[Finding]) -> Verdict:
    """The verdict on a version, by its findings."""
    state = _State(judged.checkpoint, judged.version, judged.facts, heap_by_store(judged))
    growth = state_growth(judged, state.size)
    is_judged = growth is not None and growth.judged
    growing = growth.growing if growth and is_judged else _gains_rows(judged.facts)
    cause = _cause(findings, state, growing=growing)
    verdict = counted_verdict(findings, judged.problems, cause, judged.restart)
    return replace(verdict, growth=growth, size=state.size, leftovers=leftover_count(judged))


def _gains_rows(facts: Facts) -> bool:
    """Whether there are more rows than halfway through the versions: of few, no trend is judged."""
    rows: Counter[int] = Counter()
    for versions in facts.by_store().values():
        rows.update({version: of_version.rows for version, of_version in versions.items()})
    ordered = [rows[version] for version in sorted(rows)]
    return not ordered or ordered[-1] > ordered[len(ordered) // 2]


def leftover_count(judged: Judged) -> int | None:
    """Rows that should be gone; None where a store's schema is missing, and its rule with it."""
    for operator in judged.checkpoint.operators:
        for store, rule in operator.rules.items():
            if rule.unknown is not None and store not in operator.schemas and not rule.needs_none:
                return None
    return sum(total.fact.rows for total in judged.facts.totals)


def verdict_on_files(judged: Judged, findings: Sequence[Finding]) -> Verdict:
    """The verdict of a command that looks at files alone: nothing of growth and size."""
    state = _State(judged.checkpoint, judged.version, Facts(), {})
    return counted_verdict(findings, judged.problems, _cause(findings, state), judged.restart)


def counted_verdict(
    findings: Sequence[Finding],
    problems: Sequence[Problem],
    cause: Cause | None,
    restart: Restart | None = None,
) -> Verdict:
    """The level of findings and problems, and how many there are of each severity."""
    severities = Counter(finding.severity for finding in findings)
    stopping = [p for p in problems if restart is None or not restart.loads_without(p)]
    return Verdict(
        level_of(findings, stopping),
        *(severities[Severity.ERROR], severities[Severity.WARNING], severities[Severity.INFO]),
        len({problem.cause for problem in problems if problem.slug not in NO_FAULT}),
        cause=cause,
        restart=restart,
    )


@dataclass(frozen=True)
class _State:
    checkpoint: Checkpoint
    version: int
    facts: Facts
    heaps: Mapping[StoreName, int]

    @property
    def stores(self) -> dict[StoreName, VersionFacts]:
        stores = self.facts.by_store(self.version)
        return {name: versions[self.version] for name, versions in stores.items()}

    @property
    def size(self) -> StateSize:
        rows, row_bytes, heap = self._together(self.stores)
        counting = {name: of for name, of in self.stores.items() if name.store_name in COUNT_STORES}
        has_heap = self.checkpoint.provider.keeps_maps
        counters = self._together(counting)[0]
        return StateSize(rows, row_bytes, heap if has_heap else None, counters)

    def _together(self, stores: Mapping[StoreName, VersionFacts]) -> tuple[int, int, int]:
        rows = sum(of_store.rows for of_store in stores.values())
        size = sum(of_store.row_bytes for of_store in stores.values())
        return rows, size, sum(map(self.heap_of, stores))

    def heap_of(self, store: StoreName) -> int:
        return self.heaps.get(store, 0)

    def about(self, finding: Finding) -> tuple[int, int, int] | None:
        """Rows, row bytes and heap of the judged version that a finding is about."""
        concerns = finding.kind.concerns
        if concerns is Concerns.BY_WATERMARK and finding.bytes is None:
            by_watermark = {
                StoreName(operator.operator_id, store)
                for operator in self.checkpoint.operators
                for store, rule in operator.rules.items()
                if (field := rule.expiry or rule.event_time) and field.clock is Clock.WATERMARK
            }
            return self._together({n: o for n, o in self.stores.items() if n in by_watermark})
        if concerns is Concerns.RECORDS or finding.rows is None or finding.bytes is None:
            return None
        heap = self._heap(finding, finding.rows, finding.bytes)
        counters = self._counters_of_all(finding, finding.rows)
        if counters is None:
            return finding.rows, finding.bytes, heap
        counting = self.stores[counters]
        rows, size = finding.rows + counting.rows, finding.bytes + counting.row_bytes
        return rows, size, heap + self.heap_of(counters)

    def _counters_of_all(self, finding: Finding, rows: int) -> StoreName | None:
        """The store that counts the rows of a join's side, if the finding is about all of them."""
        if finding.operator_id is None or finding.store_name not in VALUE_STORES:
            return None
        of = StoreName(finding.operator_id, finding.store_name)
        at = VALUE_STORES.index(finding.store_name)
        counters = StoreName(finding.operator_id, COUNT_STORES[at])
        stores = self.stores
        whole = of in stores and rows >= stores[of].rows
        return counters if whole and counters in stores else None

    def _heap(self, finding: Finding, rows: int, size: int) -> int:
        """What these rows take in the versions that Spark retains; all of it, if they are all."""
        if finding.operator_id is None or finding.store_name is None:
            return 0
        name = StoreName(finding.operator_id, finding.store_name)
        of_store = self.stores.get(name, VersionFacts())
        if rows >= of_store.rows:
            return self.heap_of(name)
        # A finding has the bytes of its rows together: as much of them is keys as in all rows.
        keys = round(size * of_store.key_bytes / max(1, of_store.row_bytes))
        layout = usual_layout(self.checkpoint, self.version)
        of_these = of_rows(rows, keys, size - keys, layout, RETAINED_BY_DEFAULT).total
        if finding.kind.concerns is Concerns.REWRITTEN_ROWS:
            values = of_store.row_bytes - of_store.key_bytes
            of_all = of_rows(of_store.rows, of_store.key_bytes, values, layout, RETAINED_BY_DEFAULT)
            twice = max(0, self.heap_of(name) - of_all.total)
            of_these += round(twice * size / max(1, of_store.row_bytes))
        return min(of_these, self.heap_of(name))


def _cause(findings: Sequence[Finding], state: _State, *, growing: bool = True) -> Cause | None:
    about = {finding: state.about(finding) for finding in findings}
    sizes = {finding: of[1] for finding, of in about.items() if of is not None}
    finding = main_finding(findings, sizes, state.size.bytes, growing=growing)
    if finding is None:
        return None
    # To a reader they are one: the same is the matter with stores of a join.
    gist = attrgetter("kind", "cause", "operator_id")
    alike = [candidate for candidate in findings if gist(candidate) == gist(finding)]
    cause = [of for of in (about[candidate] for candidate in alike) if of is not None]
    rows, size, heap = map(sum, zip(*cause, strict=True)) if cause else (None, None, None)
    total, operator = state.size, finding.operator_id
    several = operator is not None and len(state.checkpoint.operators) > 1
    chosen = f" --operator {operator}" if several else ""
    return Cause(
        finding=finding,
        sentence=cause_sentence(findings, finding, sizes, total.bytes),
        rows_share=_share(rows, total.rows),
        bytes_share=_share(size, total.bytes),
        heap_share=_share(heap, total.heap_bytes),
        to_do=sentence(finding.next_step),
        command=finding.command + chosen,
        operator_name=None if operator is None else operator_names(state.checkpoint).get(operator),
        store_name=finding.store_name if len(alike) == 1 else None,
    )


def _share(part: int | None, whole: int | None) -> float | None:
    return None if part is None or not whole else min(1.0, part / whole)
