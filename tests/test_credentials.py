"""Secrets are blotted out wherever they land."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from inspector import api, credentials
from inspector.checkpoint import patience
from inspector.credentials import learn, learn_arguments, mask_secrets, redact
from inspector.discovery.tasks import Task
from inspector.engines.choose import EngineOptions
from inspector.exceptions import CheckpointError
from inspector.render.renderers import render
from tests.checkpoint_files import contents_below
from tests.cli.support import COMMANDS as COMMANDS_OF_REPORTS
from tests.cli.support import run
from tests.fixture_folder import NEWEST
from tests.profiles import crossed

PLANTED = {
    "user": "AKIAPLANTED0001",
    "password": "pl4nted-pass/w0rd+=",
    "sig": "PlAnTeDsIg%2Fxyz%3D",
    "token": "planted-token-value",
    "option": "planted-option-s3cret",
    "conf": "planted-conf-s3cret",
    "nested": "planted-nested-s3cret",
}


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "_known", {})
    monkeypatch.setattr(patience, "FIRST_PAUSE_S", 0.001)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ftp://me:hunter2@host/x", "ftp://***@host/x"),
        ("cannot open 'ftp://me:hunter2@host/x'", "cannot open 'ftp://***@host/x'"),
        ("ftp://a:b@h/x, then sftp://c:d@h/y", "ftp://***@h/x, then sftp://***@h/y"),
        ("ftp://me:hunter@2@host/x", "ftp://***@host/x"),
        ("s3a://KEY:Se/cr+et=@bucket/x", "s3a://***@bucket/x"),
        ("https://t0ken@host/x", "https://***@host/x"),
        ("webhdfs://namenode:9870/x@y", "webhdfs://namenode:9870/x@y"),
        ("sftp://me@host/x", "sftp://me@host/x"),
        ("abfss://box@acc.dfs.core.windows.net/x", "abfss://box@acc.dfs.core.windows.net/x"),
        ("GET /x?sv=1&sig=AbC%2F&se=2 failed", "GET /x?sv=1&sig=***&se=2 failed"),
        ("https://h/x?X-Amz-Signature=a&access_token=b", "https://h/x?X-Amz-Signature=***"
         "&access_token=***"),
        ("AccountName=a;AccountKey=bbbb==;x", "AccountName=a;AccountKey=***;x"),
        ("{'password': 'abc', 'x': 1}", "{'password': '***', 'x': 1}"),
        ("Authorization: Bearer abc.def.ghi", "Authorization: Bearer ***"),
        ("denied for AKIA1234 with s3cr3t/+", "denied for *** with ***"),
        ("inner-secret in JSON", "*** in JSON"),
        ("a key=5, a schema 'key string'", "a key=5, a schema 'key string'"),
    ],
)  # fmt: skip
def test_secrets_are_redacted(text: str, expected: str) -> None:
    options = {
        "key": "AKIA1234",
        "secret": "s3cr3t/+",
        "client_kwargs": '{"aws_secret_access_key": "inner-secret", "list_token": ["x"]}',
        "endpoint_url": "host",
    }
    assert redact(text, options) == expected


def test_known_secrets_are_redacted_in_every_spelling() -> None:
    learn('s3a://KEY:pa"ss&w%2Frd@bucket/x', "https://h/?sig=abcd%2F", options={"secret": "trüe"})
    for text in ('pa"ss&w%2Frd', 'pa\\"ss&w/rd', "pa&quot;ss&amp;w/rd", "abcd/", "tr\\u00fce"):
        assert mask_secrets(f"<{text}>") == "<***>", text
    assert mask_secrets("KEY 12") == "KEY 12"


def test_secrets_of_arguments_are_known_before_parsing() -> None:
    opening = ["--storage-option", "secret=abcdef", "--conf=spark.my.password=ghijkl"]
    learn_arguments(["info", *opening, "--where", "value.token=mnopqr", "ftp://u:stuvwx@h/"])
    assert mask_secrets("abcdef ghijkl mnopqr stuvwx") == "*** *** mnopqr ***"


def test_errors_contain_no_secrets() -> None:
    error = CheckpointError("no s3a://K:abcdef@b/", "s3a://K:abcdef@b/x")
    assert "abcdef" not in f"{error} {error.args} {error.path} {error.at('x')!r}"


def test_repr_of_options_hides_secrets() -> None:
    options = api.Options(
        storage_options={"secret": PLANTED["option"]},
        engine=EngineOptions(conf={"spark.secret": PLANTED["conf"]}),
    )
    task = Task("s3a://K:abcdef@b", "b", options.storage_options, 0, 0, 1, ())
    for item in (repr(options), repr(task)):
        assert not leaked(item)
        assert "abcdef" not in item


# --- all output of every command -------------------------------------------------------------

FORMATS = ("table", "json", "ndjson", "csv", "markdown", "html", "junit", "prometheus")


class Planted(MemoryFileSystem):  # type: ignore[misc]
    """A storage that holds a fixture, and repeats every secret in each of its errors."""

    protocol = "planted"
    failing: tuple[str, ...] = ()

    def __init__(self, *_: Any, **_options: Any) -> None:
        super().__init__()

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        path = path.removeprefix("planted://").partition("?")[0].rpartition("@")[2]
        return "/" + path.strip("/")

    def cat_file(self, path: str, *args: Any, **kwargs: Any) -> bytes:
        if path.endswith(self.failing) and self.failing:
            raise OSError(f"HTTP 500 for {URL} with {json.dumps(PLANTED)}")
        return bytes(super().cat_file(path, *args, **kwargs))

    def _open(self, path: str, *args: Any, **kwargs: Any) -> Any:
        if path.endswith(self.failing) and self.failing:
            raise PermissionError(f"403 for {URL} with {json.dumps(PLANTED)}")
        return super()._open(path, *args, **kwargs)


URL = (
    f"planted://{PLANTED['user']}:{PLANTED['password']}@box/ck"
    f"?sig={PLANTED['sig']}&token={PLANTED['token']}"
)
OPTIONS = {
    "secret": PLANTED["option"],
    "client_kwargs": json.dumps({"aws_session_token": PLANTED["nested"]}),
}


STORAGE_OPTIONS = [f"--storage-option={name}={value}" for name, value in OPTIONS.items()]


def leaked(text: str) -> list[str]:
    """The planted secrets in a text, however they are spelled."""
    spelled = {
        name: {value, *credentials._spellings(value)}
        for name, value in PLANTED.items()
        if name not in ("user", "conf")
    }
    return [name for name, values in spelled.items() if any(value in text for value in values)]


@pytest.fixture
def planted() -> Iterator[type[Planted]]:
    fsspec.register_implementation("planted", Planted, clobber=True)
    system = Planted()
    root = NEWEST / "agg_update" / "checkpoint"
    for path, content in contents_below(root).items():
        system.pipe_file(f"/box/ck/{path}", content)
    Planted.failing = ()
    yield Planted
    Planted.failing = ()
    system.rm("/box", recursive=True)


COMMANDS = (*COMMANDS_OF_REPORTS, "history", "diff", "simulate")
EXTRA = {"history": ["--key", "hex:00"], "simulate": ["--ttl", "1h"], "diff": ["--from-batch", "1"]}
FAILURES: dict[str, tuple[str, ...]] = {
    "sound": (),
    "state": (".delta", ".snapshot"),
    "logs": ("offsets/3", "commits/2", "metadata"),
    "all": ("",),
}


@pytest.mark.parametrize(("command", "failing"), crossed(COMMANDS, tuple(FAILURES)))
def test_commands_show_no_secret(
    command: str, failing: str, planted: type[Planted], caplog: pytest.LogCaptureFixture
) -> None:
    planted.failing = FAILURES[failing]
    caplog.set_level(logging.DEBUG)
    done = run(command, URL, *STORAGE_OPTIONS, *EXTRA.get(command, ()))
    assert done.code in (0, 1, 2, 3, 4, 6), done.err
    assert leaked(done.out + done.err + caplog.text) == []


@pytest.mark.parametrize(("form", "failing"), crossed(FORMATS, tuple(FAILURES)))
def test_reports_contain_no_secret_in_any_format(
    form: str, failing: str, planted: type[Planted]
) -> None:
    planted.failing = FAILURES[failing]
    outcome = run("audit", URL, *STORAGE_OPTIONS, "-o", form)
    several_values = run("audit", URL, f"{URL}&more=1", *STORAGE_OPTIONS, "-o", form, "--details")
    text = outcome.out + outcome.err + several_values.out + several_values.err
    assert leaked(text) == []
    assert URL.partition("?")[2] not in text


def test_api_shows_no_secret(planted: type[Planted]) -> None:
    planted.failing = (".delta",)
    checkpoint = api.open_checkpoint(URL, storage_options=OPTIONS)
    report = checkpoint.audit()
    display = repr(checkpoint) + repr(report) + "".join(render(report, "json"))
    planted.failing = ("",)
    info = api.info(URL, api.Options(storage_options=OPTIONS))
    assert not info.complete
    with pytest.raises((CheckpointError, OSError)) as failed:
        api.info(URL.replace("/ck", "/none"), api.Options(storage_options=OPTIONS))
    display += "".join(render(info, "json")) + repr(info)
    assert leaked(display + repr(failed.value) + str(failed.value) + repr(failed.value.args)) == []


@pytest.mark.full
def test_process_output_shows_no_secret() -> None:
    """The whole process, also what Python itself writes at its end."""
    for url in (
        "s3a://K:pl4nted-s3cret@b/x",
        "nope://u:pl4nted-s3cret@b/x*",
        "ftp://u:pl4nted-s3cret@127.0.0.1:1/x",
    ):
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "inspector",
                "info",
                url,
                "--storage-option",
                "token=pl4nted-t0ken",
            ],
            capture_output=True,
            text=True,
            env={**os.environ, "INSPECTOR_DEBUG": "1"},
            check=False,
        )
        assert done.returncode
        assert "pl4nted" not in done.stdout + done.stderr


def test_token_in_url_user_part_is_redacted() -> None:
    assert redact("https://tokentoken@host/a@b") == "https://***@host/a@b"
    assert redact("abfss://container@account/a@b") == "abfss://container@account/a@b"
