"""Declarations read from signatures."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Any, Literal

import pytest

from inspector.analyses import load, names
from inspector.analyses.info import info
from inspector.analyses.shared.declare import Analysis, analysis
from inspector.analyses.shared.options import Option, Options, Parameter, parameter
from inspector.analyses.shared.run import Run
from inspector.engines.choose import EngineOptions
from inspector.model import Redact, TimeoutKind
from tests.attributes import attributes
from tests.fixture_folder import NEWEST

HELP = Option("Help.")


class Color(enum.Enum):
    """An enum."""

    RED = "red"
    BLUE = "blue"


@pytest.mark.parametrize(
    ("hint", "kind", "many", "choices"),
    [
        (int, int, False, ()),
        (int | None, int, False, ()),
        (bool, bool, False, ()),
        (tuple[str, ...], str, True, ()),
        (Mapping[str, str], dict, True, ()),
        (Color | None, Color, False, ("red", "blue")),
        (Literal["a", "b"], str, False, ("a", "b")),
    ],
)
def test_parameter_type_from_annotation(
    hint: Any, kind: type, many: bool, choices: tuple[str, ...]
) -> None:
    found = parameter("some_name", Annotated[hint, HELP], None)
    assert found is not None
    assert (found.kind, found.many, found.choices) == (kind, many, choices)
    assert (found.flag, found.source) == ("--some-name", "someName")


def test_declared_flag_and_source_names() -> None:
    found = Parameter("partition_id", int, Option("", flag="--partition", source="partition"))
    assert (found.flag, found.source) == ("--partition", "partition")


def test_argument_without_option_is_no_parameter() -> None:
    assert parameter("mode", str, "x") is None
    assert parameter("mode", Annotated[str, "a remark"], "x") is None


@analysis(uses=((Parameter("batch", int, HELP),),))
def example(
    what: Annotated[Literal["a", "b"], Option("What.")],
    path: str,
    options: str | None = None,
    *,
    limit: Annotated[int, Option("Limit.", minimum=1)] = 5,
    mode: str = "strict",
) -> str:
    """The first line.

    The second paragraph.

    Args:
        what: not in the help.
        path: the checkpoint.
        options: shared ones.
        limit: of rows.
        mode: of the call alone.
    """
    return f"{what} {path} {options} {limit} {mode}"


def test_analysis_declaration_from_signature_and_docstring() -> None:
    found: Analysis = example.analysis  # type: ignore[attr-defined]
    assert found.name == "example"
    assert found.text == "The first line.\n\nThe second paragraph."
    assert attributes(found.arguments, "name", "required") == [
        ("what", True),
        ("path", True),
    ]
    assert found.arguments[0].choices == ("a", "b")
    assert attributes(found.options, "name", "default") == [("limit", 5)]
    assert attributes(found.shared, "name") == ["batch"]
    assert found.check({}) is None
    assert example("a", "p") == "a p None 5 strict"


UNLIKE_THE_DEFAULT: dict[str, Any] = {
    "storage_options": {"anon": "true"},
    "provider_format": "rocksdb",
    "batch": 3,
    "state_version": 4,
    "operator_id": 0,
    "store_name": "default",
    "partition_id": 0,
    "redact": Redact.HASH,
    "workers": 2,
    "memory_limit": 1 << 20,
    "engine": EngineOptions("spark"),
    "timeout_kind": TimeoutKind.EVENT_TIME,
    "event_time_fields": ("key.ts",),
    "operator_rules": ("0=never",),
    "join_retention": ("left=1h",),
    "key": "user=a",
    "where": ("value.visits>1",),
    "key_schemas": ("a string",),
    "value_schemas": ("a string",),
    "thresholds": {"skew_ratio": "5"},
    "cache": "cache",
}


def test_examples_cover_every_shared_option() -> None:
    assert list(UNLIKE_THE_DEFAULT) == attributes(fields(Options), "name")
    assert all(getattr(Options(), name) != value for name, value in UNLIKE_THE_DEFAULT.items())


@pytest.mark.parametrize("name", names())
def test_analysis_refuses_unused_shared_options(name: str) -> None:
    declared = load(name)
    accepted = {each.name.partition(".")[0] for each in declared.shared}
    arguments = dict.fromkeys(attributes(declared.arguments, "name"), "no-such-folder")
    for option in UNLIKE_THE_DEFAULT.keys() - accepted:
        options = Options(**{option: UNLIKE_THE_DEFAULT[option]})
        with pytest.raises(TypeError, match=rf"{name}\(\) has no option '{option}'"):
            declared.function(**arguments, options=options)


def test_options_with_an_open_run_are_refused() -> None:
    run = Run.start(str(NEWEST / "agg_append" / "checkpoint"), Options())
    assert info(run, run.options).checkpoint == info(run).checkpoint
    with pytest.raises(TypeError, match="'options'"):
        info(run, Options(batch=3))


def test_spark_session_for_files_chooses_no_engine() -> None:
    assert not EngineOptions("spark", io="hadoop").chooses_work
    assert not EngineOptions("spark", session=object()).chooses_work
    assert EngineOptions("auto", master="local[1]").chooses_work


def test_docstring_explains_options_as_the_command_line() -> None:
    doc = load("memory").function.__doc__ or ""
    text, _, arguments = doc.partition("\n\nArgs:\n")
    assert text == load("memory").text
    assert "    jdk: Java version of the executors.\n" in arguments
    own = load("export").function.__doc__ or ""
    assert own.count("Args:") == 1
