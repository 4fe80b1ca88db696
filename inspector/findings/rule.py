"""Rules: each finding is a file with its documentation, its thresholds, its check and its messages.

A rule is a class in a module of its own in one of the folders :data:`FOLDERS`, and is found there.
The module's docstring is the entry of the documentation's page of findings. ``find`` yields
evidence: numbers, and the case whose templates put them into words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar, cast

from inspector.findings import wording
from inspector.findings.finding import Concerns, Finding, Kind, Severity, Weight
from inspector.findings.thresholds import DEFAULTS, Threshold, Thresholds
from inspector.light_dataclasses import dataclass, field
from inspector.model import Certainty

FOLDERS = ("integrity", "lifetime", "watermark", "cost")  # packages whose modules are rules


class Subject(Protocol):
    """The part of a checkpoint that a finding is about: a view of it."""

    @property
    def operator_id(self) -> int | None:
        """The operator; None for the whole checkpoint."""

    @property
    def store_name(self) -> str | None:
        """The store; None for an operator or the whole checkpoint."""

    @property
    def numbers(self) -> Mapping[str, Any]:
        """Values that templates may name without the evidence of a rule."""


class Part(NamedTuple):
    """Operator or store, without a view of it, as the subject of a finding."""

    operator_id: int | None  # operator; None for the whole checkpoint
    store_name: str | None = None  # store; None for the whole operator

    @property
    def numbers(self) -> Mapping[str, Any]:
        """Empty: the evidence has all values."""
        return {}


@dataclass(frozen=True)
class Case:
    """One situation in which a rule reports, with templates of cause, evidence and advice."""

    cause: str  # what is wrong, since when and how much: one whole sentence
    evidence: str  # the numbers that show it
    next_step: str = ""  # what its user can do; empty for that of the rule
    severity: Severity | None = None  # None for that of the rule
    certainty: Certainty | None = None  # None for the first of the rule
    # ids of findings about the same subject that are left out where this one is made
    hides: tuple[str, ...] = ()

    def __call__(
        self,
        rows: int | None = None,
        size: int | None = None,
        *,
        severity: Severity | None = None,
        certainty: Certainty | None = None,
        subject: Subject | None = None,
        occurrences: int | None = None,
        **numbers: Any,
    ) -> Evidence:
        """Return evidence of this case, with rows, bytes and the values of the templates' fields.

        ``subject`` is the part that it is about, such as one store, if it is not the whole view.
        Severity and certainty replace those of the case.
        """
        severity = self.severity if severity is None else severity
        certainty = certainty or self.certainty
        return Evidence(self, rows, size, severity, certainty, numbers, subject, occurrences)


@dataclass(frozen=True)
class Evidence:
    """Numbers that show one case of a rule, before they are put into words."""

    case: Case  # situation that it is about
    rows: int | None = None  # rows concerned; None if the rule counts none
    bytes: int | None = None  # UnsafeRow bytes of these rows
    severity: Severity | None = None  # None for that of the rule
    certainty: Certainty | None = None  # None for the first of the rule
    numbers: Mapping[str, Any] = field(default_factory=dict)  # values of the templates' fields
    # the part of the checkpoint that it is about; None for the view that ``find`` takes
    subject: Subject | None = None
    occurrences: int | None = None  # number of times that it was seen, if it counts no rows


ViewT = TypeVar("ViewT", bound=Subject)  # view that a rule's ``find`` takes


class Rule(Generic[ViewT]):
    """Base of all rules; a subclass declares its finding and thresholds as attributes.

    In an instance a threshold reads as a number: the user's, or its default.
    """

    scope: ClassVar[str]  # of which views ``find`` takes one: "store", "operator", "checkpoint"
    id: ClassVar[str]  # ``SSnnn``; never changes its meaning
    title: ClassVar[str]  # name in a few words
    severity: ClassVar[Severity]  # severity of its findings, unless a case has its own
    # certainties that its findings may have, the usual one first
    certainties: ClassVar[tuple[Certainty, ...]] = (Certainty.PROVEN,)
    spark: ClassVar[str]  # the class, conf, metric or method to look for in Spark
    next_step: ClassVar[str]  # what its user can do
    command: ClassVar[str] = "timeline"  # the command that shows more
    explains: ClassVar[tuple[str, ...]] = ()  # ids of findings that this one is the reason of
    explains_store: ClassVar[bool] = False  # only those of the same store
    hides: ClassVar[tuple[str, ...]] = ()  # ids of findings that are left out next to this one
    concerns: ClassVar[Concerns] = Concerns.ROWS  # what its rows and bytes count
    yields_to_errors: ClassVar[bool] = False  # left out next to an error of its group
    weight: ClassVar[Weight] = Weight.USUAL  # importance when the main cause is chosen
    info_weight: ClassVar[Weight | None] = None  # weight as information, if it is another
    about_most: ClassVar[bool] = False  # about most rows or updates, though it counts no bytes
    leads: ClassVar[tuple[str, ...]] = ()  # ids of main findings whose sentence follows its own
    kind: ClassVar[Kind]  # the declaration, as reports have it

    def __init_subclass__(cls, **more: Any) -> None:
        """Declare the finding of a rule, as ``kind``, from the attributes of its class."""
        super().__init_subclass__(**more)
        if "id" in vars(cls):
            cls.kind = Kind(
                *(cls.id, cls.severity, cls.title, cls.spark, cls.next_step),
                command=cls.command,
                certainties=cls.certainties,
                explains=cls.explains,
                in_store=cls.explains_store,
                concerns=cls.concerns,
                hides=cls.hides,
                yields_to_errors=cls.yields_to_errors,
                weight=cls.weight,
                info_weight=cls.info_weight,
                about_most=cls.about_most,
                leads=cls.leads,
            )

    def __init__(self, thresholds: Thresholds = DEFAULTS) -> None:
        """Take the thresholds that the user set."""
        self.values = thresholds  # by which a :class:`Threshold` reads as a number

    def find(self, view: ViewT) -> Iterator[Evidence]:
        """Yield the evidence for each case of this rule that a view shows."""
        raise NotImplementedError

    def findings(self, view: ViewT) -> Iterator[Finding]:
        """Yield the findings about a view, in words."""
        for evidence in self.find(view):
            case, subject = evidence.case, evidence.subject or view
            values = {**subject.numbers, **evidence.numbers, "rows": evidence.rows}
            yield Finding(
                self.kind,
                evidence.certainty or self.certainties[0],
                wording.write(case.evidence, values),
                wording.write(case.next_step, values) if case.next_step else self.next_step,
                subject.operator_id,
                subject.store_name,
                occurrences=evidence.occurrences,
                rows=evidence.rows,
                bytes=evidence.bytes,
                cause=wording.write(case.cause, values),
                severity=cast("Severity", evidence.severity),
                hides=(*self.hides, *case.hides),
            )

    @classmethod
    def thresholds(cls) -> Iterator[Threshold[Any]]:
        """Yield the thresholds of this rule, in the order of their declaration."""
        for value in vars(cls).values():
            if isinstance(value, Threshold):
                yield value

    @classmethod
    def cases(cls) -> dict[str, Case]:
        """Return the cases of this rule by their names."""
        return {name: value for name, value in vars(cls).items() if isinstance(value, Case)}


@cache
def rules(folders: tuple[str, ...] = FOLDERS) -> tuple[type[Rule[Any]], ...]:
    """Return the rules of some folders by their ids; imports all modules of these rules."""
    modules = (
        import_module(f"{package.__name__}.{module.name}")
        for package in (import_module(f"inspector.findings.{folder}") for folder in folders)
        for module in iter_modules(package.__path__)
    )
    return tuple(sorted(map(_rule_in, modules), key=lambda rule: rule.id))


@cache
def all_kinds() -> tuple[Kind, ...]:
    """Return the kind of finding of each rule that an audit applies, sorted by id.

    These are the rules in all of :data:`FOLDERS`, whose modules are imported. The kinds of restart
    rules (SS4nn and SS5nn) are not included. An id never changes its meaning.
    """
    return tuple(rule.kind for rule in rules())


def _rule_in(module: Any) -> type[Rule[Any]]:
    """Return the only rule that a module declares."""
    classes = (value for value in vars(module).values() if isinstance(value, type))
    (rule,) = (c for c in classes if issubclass(c, Rule) and c.__module__ == module.__name__)
    return rule


def thresholds_by_name() -> dict[str, Threshold[Any]]:
    """Return the thresholds of all rules by their names."""
    return {threshold.name: threshold for rule in rules() for threshold in rule.thresholds()}


def parse_thresholds(given: Mapping[str, str | float]) -> Thresholds:
    """Return the thresholds with the user's ``NAME=VALUE``.

    Raises ValueError for an unknown name or a wrong number. Imports no rule if nothing is given.
    """
    return Thresholds.parse(given, thresholds_by_name()) if given else DEFAULTS
