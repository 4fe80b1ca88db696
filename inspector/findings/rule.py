"""Base of the rules: each finding has a module with documentation, thresholds, check and messages.

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
    """Part of a checkpoint that a finding is about, such as a view of an operator or a store.

    It has three properties: the number of the operator, the name of the store, and ``numbers``.
    ``numbers`` has values by name for all templates of messages about the part.
    """

    @property
    def operator_id(self) -> int | None:
        """Number of the operator; None for the whole checkpoint."""

    @property
    def store_name(self) -> str | None:
        """Name of the store; None for an operator or the whole checkpoint."""

    @property
    def numbers(self) -> Mapping[str, Any]:
        """Values by name that all templates of messages about the subject may use."""


class Part(NamedTuple):
    """Operator or store as the subject of a finding, by number and name alone."""

    operator_id: int | None  # number of the operator; None for the whole checkpoint
    store_name: str | None = None  # name of the store; None for the whole operator

    @property
    def numbers(self) -> Mapping[str, Any]:
        """Always empty: templates get all values from the evidence."""
        return {}


@dataclass(frozen=True)
class Case:
    """Situation in which a rule makes a finding, with templates of cause, evidence and advice."""

    cause: str  # template of what is wrong, since when and how much: one whole sentence
    evidence: str  # template of the numbers that show it
    next_step: str = ""  # template of what the user can do; "" for the rule's next step
    severity: Severity | None = None  # severity of the finding; None for that of the rule
    certainty: Certainty | None = None  # certainty of the finding; None for the rule's first one
    # ids of findings about the same operator and store that are left out next to this one
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
        """Return evidence of this case.

        ``rows`` and ``size`` are the number and the bytes of the rows concerned, and ``numbers``
        are the values of the templates' fields. ``subject`` is the part that the evidence is about,
        such as one store; None for the whole view. ``severity`` and ``certainty`` replace those of
        the case.
        """
        severity = self.severity if severity is None else severity
        certainty = certainty or self.certainty
        return Evidence(self, rows, size, severity, certainty, numbers, subject, occurrences)


@dataclass(frozen=True)
class Evidence:
    """Numbers that show one case of a rule in a checkpoint, before they are put into words."""

    case: Case  # situation that it is about, with the templates
    rows: int | None = None  # number of rows concerned; None if the rule counts none
    bytes: int | None = None  # UnsafeRow bytes of these rows; None if the rule counts none
    severity: Severity | None = None  # severity of the finding; None for that of the rule
    certainty: Certainty | None = None  # certainty of the finding; None for the rule's first one
    numbers: Mapping[str, Any] = field(default_factory=dict)  # values of the templates' fields
    # part of the checkpoint that it is about; None for the view that ``find`` takes
    subject: Subject | None = None
    occurrences: int | None = None  # number of times that it was seen; None if it counts none


ViewT = TypeVar("ViewT", bound=Subject)  # view that a rule's ``find`` takes


class Rule(Generic[ViewT]):
    """Base of all rules; a subclass declares its finding and thresholds as attributes.

    In an instance a threshold reads as a number: the user's, or its default.
    """

    scope: ClassVar[str]  # part that a view for ``find`` is of: "store", "operator", "checkpoint"
    id: ClassVar[str]  # ``SSnnn``; never changes its meaning
    title: ClassVar[str]  # name in a few words
    severity: ClassVar[Severity]  # severity of its findings, unless a case has its own
    # certainties that its findings may have, the usual one first
    certainties: ClassVar[tuple[Certainty, ...]] = (Certainty.PROVEN,)
    spark: ClassVar[str]  # the class, conf, metric or method to look for in Spark
    next_step: ClassVar[str]  # advice to the user, unless a case has its own
    command: ClassVar[str] = "timeline"  # command that shows more, without the program's name
    explains: ClassVar[tuple[str, ...]] = ()  # ids of findings that are effects of this one
    # True if it explains only findings about its own operator and store
    explains_store: ClassVar[bool] = False
    # ids of findings about the same operator and store that are left out next to this one
    hides: ClassVar[tuple[str, ...]] = ()
    concerns: ClassVar[Concerns] = Concerns.ROWS  # kind of rows that its rows and bytes count
    # True if its findings are left out next to an error of the same group
    yields_to_errors: ClassVar[bool] = False
    weight: ClassVar[Weight] = Weight.USUAL  # importance when the main cause is chosen
    # importance of findings of severity info; None if it is that of ``weight``
    info_weight: ClassVar[Weight | None] = None
    # True if it is always about most rows or updates, though it counts no bytes
    about_most: ClassVar[bool] = False
    # ids of main findings whose sentence follows its own, if both are joined
    leads: ClassVar[tuple[str, ...]] = ()
    kind: ClassVar[Kind]  # declaration of its findings, made of the attributes above

    def __init_subclass__(cls, **more: Any) -> None:
        """Declare the kind of finding from the attributes of the class, as ``kind``.

        Classes without an ``id`` of their own are bases, and get no kind.
        """
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
        """Make the rule with the thresholds that the user set, by default none."""
        self.values = thresholds  # user's numbers, from which attributes of ``Threshold`` read

    def find(self, view: ViewT) -> Iterator[Evidence]:
        """Yield evidence for each case of this rule that a view shows.

        The view is of the whole checkpoint, an operator or a store, as ``scope`` says.
        """
        raise NotImplementedError

    def findings(self, view: ViewT) -> Iterator[Finding]:
        """Yield the findings about a view: the evidence of ``find``, put into words.

        A severity, certainty or next step that the evidence lacks is that of the rule.
        """
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
        """Yield the thresholds that the class of this rule declares, in that order."""
        for value in vars(cls).values():
            if isinstance(value, Threshold):
                yield value

    @classmethod
    def cases(cls) -> dict[str, Case]:
        """Return the cases that the class of this rule declares, by the names of its attributes."""
        return {name: value for name, value in vars(cls).items() if isinstance(value, Case)}


@cache
def rules(folders: tuple[str, ...] = FOLDERS) -> tuple[type[Rule[Any]], ...]:
    """Return the classes of the rules in some folders, sorted by id.

    ``folders`` are among FOLDERS. The modules of the rules are imported.
    """
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
    """Return the only rule class that is defined in a module; ValueError for none or several."""
    classes = (value for value in vars(module).values() if isinstance(value, type))
    (rule,) = (c for c in classes if issubclass(c, Rule) and c.__module__ == module.__name__)
    return rule


def thresholds_by_name() -> dict[str, Threshold[Any]]:
    """Return the thresholds of all rules by their names; the modules of all rules are imported."""
    return {threshold.name: threshold for rule in rules() for threshold in rule.thresholds()}


def parse_thresholds(given: Mapping[str, str | float]) -> Thresholds:
    """Return the thresholds that the user set.

    ``given`` are the user's values by name (``NAME=VALUE``). Raises ValueError for an unknown name
    or a wrong number. Imports no rule if ``given`` is empty.
    """
    return Thresholds.parse(given, thresholds_by_name()) if given else DEFAULTS
