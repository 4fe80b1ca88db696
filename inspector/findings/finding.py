"""Kinds of findings, and findings: one judged statement about a checkpoint each."""

from __future__ import annotations

import enum
from typing import Any, Protocol, cast

from inspector.light_dataclasses import dataclass, field
from inspector.model import Certainty


class Severity(enum.IntEnum):
    """Importance of a finding, from least to most."""

    INFO = 0
    WARNING = 1
    ERROR = 2

    @property
    def word(self) -> str:
        """The severity in lower case, such as ``error``, as options and reports spell it."""
        return self.name.lower()


class Group(enum.Enum):
    """Subject of a finding, in the order of the first digit of its id (``SS1nn``: integrity).

    Restart rules have ``SS4nn`` and ``SS5nn``.
    """

    INTEGRITY = "integrity"
    LIFETIME = "lifetime"
    EFFICIENCY = "efficiency"
    RESTART = "restart"


class Concerns(enum.Enum):
    """Kind of rows that the rows and bytes of a finding count, if it counts any."""

    ROWS = "rows of the judged version, which lie still: retained versions share them"
    REWRITTEN_ROWS = "rows that new versions write anew: each retained version has its own copy"
    BY_WATERMARK = "all rows that go by the watermark, if it counts none itself"
    RECORDS = "records of the files, and no rows of the judged version"


class Weight(enum.Enum):
    """Importance of a finding among others when the main cause is chosen."""

    URGENT = "the query itself stands still: the cause, unless rows leak"
    USUAL = "ranked by its group, severity and bytes"
    SYMPTOM = "another finding about far more bytes explains it"
    INTENDED = "rows are as many as they are meant to be: after others of its severity"
    BACKGROUND = "the cause only if there is no other finding"


@dataclass(frozen=True)
class Kind:
    """Declaration of a kind of finding, from which all findings with its id are made.

    How each kind is proven, and its source in Spark, are on the documentation's page of findings.
    """

    id: str  # ``SSnnn``; never changes its meaning
    severity: Severity  # severity of its findings, unless they have their own
    title: str  # name in a few words
    spark: str  # the error class, conf, metric or method to look for in Spark
    to_do: str  # advice to the user, if the finding has none of its own
    cause: str = ""  # what is wrong, in one plain sentence; empty if each finding has its own
    command: str = "timeline"  # command that shows more, without the program's name and the path
    # certainties that its findings may have, the usual one first
    certainties: tuple[Certainty, ...] = (Certainty.PROVEN,)
    # ids of findings that are effects of this one: it is named as the main cause in their place
    explains: tuple[str, ...] = ()
    in_store: bool = False  # True if it explains only findings about its own operator and store
    concerns: Concerns = Concerns.ROWS  # kind of rows that its rows and bytes count
    # ids of findings that are left out if this one is made about the same operator and store
    hides: tuple[str, ...] = ()
    yields_to_errors: bool = False  # True if it is left out next to an error of its group
    weight: Weight = Weight.USUAL  # importance when the main cause is chosen
    # importance of a finding of severity info; None if it is that of ``weight``
    info_weight: Weight | None = None
    # True if it is always about most rows or updates of a store, though it counts no bytes
    about_most: bool = False
    # ids of main findings whose sentence follows the sentence of this one, if both are joined
    leads: tuple[str, ...] = ()

    @property
    def group(self) -> Group:
        """Subject of the finding, by the first digit of its id."""
        return list(Group)[min(int(self.id[2]), len(Group)) - 1]

    def of_store(
        self,
        subject: Subject,
        evidence: str,
        rows: int | None = None,
        size: int | None = None,
        cause: str = "",
        **more: Any,
    ) -> Finding:
        """Return a finding of this kind about one store.

        ``subject`` has the number of the operator and the name of the store. ``size`` is in bytes.
        ``more`` are other fields of :class:`Finding`.
        """
        more |= {"store_name": subject.store_name, "rows": rows, "bytes": size, "cause": cause}
        return self.of(evidence, subject.operator_id, **more)

    def of(self, evidence: str, operator_id: int | None = None, **more: Any) -> Finding:
        """Return a finding of this kind about an operator, or about the checkpoint by default.

        ``more`` are other fields of :class:`Finding`. The certainty is by default the first one of
        the kind, and the next step is the kind's advice.
        """
        certainty = more.pop("certainty", self.certainties[0])
        next_step = more.pop("next_step", self.to_do)
        return Finding(self, certainty, evidence, next_step, operator_id, **more)


class Subject(Protocol):
    """A store, or a view of a store, that a finding is about."""

    @property
    def operator_id(self) -> int:
        """Number of the operator that the store belongs to."""

    @property
    def store_name(self) -> str:
        """Name of the store."""


@dataclass(frozen=True)
class Finding:
    """One judged statement about a checkpoint: kind, certainty, evidence and advice."""

    kind: Kind  # declaration of the finding
    certainty: Certainty  # proven, inferred or undecided
    evidence: str  # text with the numbers that show it
    next_step: str  # advice to the user
    operator_id: int | None = None  # operator that it is about; None for the checkpoint
    store_name: str | None = None  # store that it is about; None for an operator or the checkpoint
    rows: int | None = None  # number of rows concerned, exact; None if it counts none
    bytes: int | None = None  # UnsafeRow bytes of these rows, exact; None if it counts none
    cause: str = ""  # what is wrong, in one plain sentence; by default the cause of the kind
    # importance; by default that of the kind, or info if the finding is undecided
    severity: Severity = field(default=cast("Severity", None))
    # ids of findings about the same operator and store that are left out next to this one; by
    # default those of the kind
    hides: tuple[str, ...] = ()
    occurrences: int | None = None  # number of times that it was seen; None if it counts none

    def __post_init__(self) -> None:
        """Set cause, hidden ids and severity to those of the kind if they are empty or None.

        An undecided finding gets the severity info instead.
        """
        object.__setattr__(self, "cause", self.cause or self.kind.cause)
        object.__setattr__(self, "hides", self.hides or self.kind.hides)
        given = cast("Severity | None", self.severity)
        usual = Severity.INFO if self.certainty is Certainty.UNDECIDED else self.kind.severity
        object.__setattr__(self, "severity", usual if given is None else given)

    @property
    def weight(self) -> Weight:
        """Importance of the finding when the main cause is chosen.

        It is the weight of its kind, or the kind's ``info_weight``, if set, for a finding of
        severity info.
        """
        if self.severity is Severity.INFO and self.kind.info_weight is not None:
            return self.kind.info_weight
        return self.kind.weight

    @property
    def command(self) -> str:
        """Command that shows more, without the program's name and path: ``timeline``."""
        return self.kind.command

    @property
    def count(self) -> int | None:
        """Number of occurrences; the number of rows if occurrences are not counted.

        None if neither is counted. The user's threshold for the finding's id is compared with it,
        and None counts as 1 there.
        """
        return self.rows if self.occurrences is None else self.occurrences

    @property
    def store(self) -> tuple[int | None, str | None]:
        """Number of the operator and name of the store that the finding is about.

        The name is None for a whole operator. Both are None for the checkpoint.
        """
        return self.operator_id, self.store_name
