"""Markdown made from what the code declares: findings, errors, premises, inferences."""

from __future__ import annotations

import inspect
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from documentation.commands import column_list, command_list, shared_options
from documentation.reference import meaning_table
from documentation.restarts import (
    damage_changes_table,
    damage_table,
    release_table,
    restart_counts,
    restart_tables,
)

from inspector.cli.exits import Exit, exit_of
from inspector.exceptions import InspectorError
from inspector.findings.finding import Group, Kind, Severity
from inspector.findings.metrics import METRICS
from inspector.findings.problem_rule import ProblemRule
from inspector.findings.restart_rules import RULES
from inspector.findings.rule import Rule, all_kinds, rules
from inspector.findings.thresholds import Threshold
from inspector.findings.verdict import RANKS
from inspector.operators.inferences import INFERENCES, Inference
from inspector.render.as_prometheus import NAMES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_PYPROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"

# A range of releases in the source of a rule.
_RELEASES = re.compile(r"\d\.\d to 4\.3\)")
# The range of all releases, which the page says once for all rules.
_ALL_RELEASES = re.compile(r" \(2\.[34] to 4\.3\)")
# A range up to the newest release, which the page words as "since" its first.
_SINCE = re.compile(r"\((\d\.\d) to 4\.3\)")

_TITLES = {
    Group.INTEGRITY: "Integrity: can the files be read and loaded",
    Group.LIFETIME: "Lifetime: do rows go when they should",
    Group.EFFICIENCY: "Efficiency: what is written for nothing",
}


def findings() -> str:
    """Return the entry of each rule, by group."""
    parts: list[str] = []
    for group in dict.fromkeys(kind.group for kind in all_kinds()):
        parts += ["", f"## {_TITLES[group]}"]
        parts += [rule_entry(rule) for rule in rules() if rule.kind.group is group]
    return "\n".join(parts)


def _certainties(kind: Kind) -> str:
    return " or ".join(certainty.value for certainty in kind.certainties)


def rule_entry(rule: type[Rule[Any]]) -> str:
    """Return the entry of a rule: the sections of its module's docstring and its thresholds."""
    kind = rule.kind
    sections = rule_sections(rule)
    sections["What to do"] = f"{kind.to_do[0].upper()}{kind.to_do[1:]}."
    if len(_RELEASES.findall(sections["Source"])) == 1:
        sections["Source"] = _ALL_RELEASES.sub("", sections["Source"])
    sections["Source"] = _SINCE.sub(r"(since \1)", sections["Source"])
    lines = [
        f"\n### {kind.id}: {kind.title}\n",
        f"{kind.severity.word.capitalize()}; {_certainties(kind)}.\n",
        f"{sections['What it means']}\n",
        *(f"**{label}.** {sections[name]}\n" for name, label in _LABELS.items()),
        f"Spark: `{kind.spark}`.\n",
    ]
    if issubclass(rule, ProblemRule) and rule.slugs:
        lines.append(f"Slugs: {', '.join(f'`{slug}`' for slug in rule.slugs)}.\n")
    shared = _shared_thresholds()
    own = [threshold for threshold in rule.thresholds() if threshold.name not in shared]
    siblings = [threshold for threshold in rule.thresholds() if threshold.name in shared]
    lines += meaning_table("threshold", map(_threshold_entry, own))
    if siblings:
        shared_names = ", ".join(f"`{t.name}`" for t in siblings)
        lines += [*([""] if own else []), f"Shared: {shared_names}."]
    return "\n".join(lines)


def thresholds() -> str:
    """Return the default and the meaning of each threshold that several rules have."""
    shared = _shared_thresholds()
    entries = (_threshold_entry(shared[name]) for name in sorted(shared))
    return "\n".join(meaning_table("threshold", entries))


def _threshold_entry(threshold: Threshold[Any]) -> tuple[str, str]:
    """Return the name of a threshold, with its default, and its meaning."""
    return f"`{threshold.name}` ({_default_text(threshold)})", threshold.meaning


def _shared_thresholds() -> dict[str, Threshold[Any]]:
    """Return the thresholds that more than one rule has, by name; each has one default."""
    declared = [threshold for rule in rules() for threshold in rule.thresholds()]
    counts = Counter(threshold.name for threshold in declared)
    return {threshold.name: threshold for threshold in declared if counts[threshold.name] > 1}


def _default_text(threshold: Threshold[Any]) -> str:
    """Return the default of a threshold with its unit, unless its meaning begins with the unit."""
    if threshold.default is None:
        return "unset: not judged"
    if threshold.unit == "share" or threshold.meaning.lower().startswith(f"{threshold.unit} "):
        return f"{threshold.default:,g}"
    unit = threshold.unit.removesuffix("s") if threshold.default == 1 else threshold.unit
    return f"{threshold.default:,g} {unit}"


_LABELS = {"How it is proven": "Evidence", "What to do": "Next", "Source": "Source"}
"""Section of a finding -> its label on the page."""


def rule_sections(rule: type[Rule[Any]]) -> dict[str, str]:
    """Return the sections of the docstring of a rule's module, each as one line."""
    text = sys.modules[rule.__module__].__doc__ or ""
    parts = re.findall(r"^([A-Z][\w ]+):\n((?:    .+\n?)+)", text, re.MULTILINE)
    return {label: " ".join(body.split()) for label, body in parts}


def restart_rules(before: str) -> str:
    """Every rule of restarts, by id, with what the page says about it.

    Args:
        before: the block as it is; what is written in it stays.
    """
    entries = []
    for rule in sorted(RULES, key=lambda rule: rule.id):
        title, _, *siblings = _entry(rule.id, before)
        text = f"{rule.heading}{rule.does}"
        entries.append("\n\n".join([f"\n### {rule.id}: {title}", text, *siblings]))
    return "\n".join(entries)


def _entry(name: str, block: str) -> list[str]:
    """The title and the paragraphs of an entry that people write."""
    heading, _, text = block.partition(f"\n### {name}")[2].partition("\n### ")[0].partition("\n")
    if not text:
        raise ValueError(f"write `### {name}` and what it says into the page")
    return [heading.removeprefix(": "), *filter(None, text.strip().split("\n\n"))]


def restarts() -> str:
    """Return the table of changed queries: how often each release did what was said."""
    return "\n".join(restart_counts())


def changed_queries() -> str:
    """Return a table for each group of changes: what was said and what Spark did."""
    return "\n".join(restart_tables())


def damage() -> str:
    """Return the table of damaged checkpoints: what Spark did, and how the answers compare."""
    return "\n".join(damage_table())


def damage_changes() -> str:
    """Return the table of damaged checkpoints by the change that was made."""
    return "\n".join(damage_changes_table())


def releases() -> str:
    """Return the table of restarts in another release or mode."""
    return "\n".join(release_table())


def errors() -> str:
    """Every error class with its slug, its meaning and its exit code."""
    return "\n".join(_error(kind) for kind in _tree(InspectorError))


def _tree(kind: type[InspectorError]) -> Iterator[type[InspectorError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _tree(child)


def _error(kind: type[InspectorError]) -> str:
    result = " ".join((inspect.getdoc(kind) or "").split("\n\nAttributes:")[0].split())
    bases = ", ".join(f"`{base.__name__}`" for base in kind.__bases__)
    code = exit_of(kind())
    stated = "" if code is Exit.INCOMPLETE else f"; exit code {code.value}"
    return f"\n### `{kind.__name__}`, `{kind.slug}`\n\n{result} Base: {bases}{stated}."


def ranks(before: str) -> str:
    """How the main cause is chosen.

    Args:
        before: the block as it is; why a rank is before others stays.
    """
    result = dict(re.findall(r"^(\d)\. .+: ([^:\n]+)$", before, re.MULTILINE))
    reasons = [*map(str, range(1, len(RANKS) + 1))]
    if missing := [name for name in reasons if name not in result]:
        raise ValueError(f"explanation/judgements.md does not say why: {missing}")
    lines: list[str] = []
    for location, (groups, minimum) in enumerate(RANKS, 1):
        named = " and ".join(group.value for group in groups)
        words = f"{minimum.word} or more severe" if minimum < Severity.ERROR else minimum.word
        lines.append(f"{location}. {named}, {words}: {result[str(location)]}")
    return "\n".join(lines)


def inferences(before: str) -> str:
    """Every inference with what the page says about it, and how often it was right."""
    return "\n".join(_inference(value, before) for value in INFERENCES.values())


def _inference(item: Inference, before: str) -> str:
    _, says, notes = _entry(f"`{item.name}`", before)
    effect = "warning" if item.warns else "information"
    return (
        f"\n### `{item.name}`\n\n{says}\n\n"
        f"- Right {item.right:,} of {item.of:,}: {effect}.\n"
        f"{notes.splitlines()[-1]}"
    )


def layers() -> str:
    """The layers of the contract, top to bottom."""
    settings = tomllib.loads(_PYPROJECT.read_text("utf-8"))["tool"]["importlinter"]
    result = next(item["layers"] for item in settings["contracts"] if item["id"] == "layers")
    return "\n".join(["```text", *(layer.replace("inspector.", "") for layer in result), "```"])


def metrics() -> str:
    """Every metric, with the name that Prometheus gets."""
    entries = (
        (f"`{item.name}` ({item.quantity.value}; `{NAMES[item.name][0]}`)", item.doc)
        for item in METRICS
    )
    return "\n".join(meaning_table("metric", entries))


GENERATED: Mapping[str, Callable[[], str]] = {
    "restarts": restarts,
    "changed-queries": changed_queries,
    "damage": damage,
    "damage-changes": damage_changes,
    "releases": releases,
    "errors": errors,
    "findings": findings,
    "thresholds": thresholds,
    "metrics": metrics,
    "commands": command_list,
    "shared-options": shared_options,
    "columns": column_list,
    "layers": layers,
}
"""Name of a block -> what makes it."""

COMPLETED: Mapping[str, Callable[[str], str]] = {
    "ranks": ranks,
    "restart-rules": restart_rules,
    "inferences": inferences,
}
"""The same of blocks in which people write: what makes it of the block as it is."""
