"""Families and texts of errors that storage drivers raise."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from inspector.checkpoint.patience import family_of, same_reason, translate_error


def error_with(**attributes: Any) -> Exception:
    error = RuntimeError("refused by the storage")
    for name, value in attributes.items():
        setattr(error, name, value)
    return error


@pytest.mark.parametrize(
    ("error", "family"),
    [
        (FileNotFoundError("x"), FileNotFoundError),
        (PermissionError("x"), PermissionError),
        (error_with(status=403), PermissionError),
        (error_with(response={"ResponseMetadata": {"HTTPStatusCode": 401}}), PermissionError),
        (error_with(response=SimpleNamespace(status_code=403)), PermissionError),
        (error_with(status=500, args=("AccessDenied?",)), OSError),
        (OSError("An error occurred (ExpiredToken) when calling GetObject"), PermissionError),
        (RuntimeError("Unable to locate credentials"), PermissionError),
        (OSError("AuthenticationFailed: Server failed to authenticate"), PermissionError),
        (asyncio.TimeoutError(), TimeoutError),
        (TimeoutError("403 bytes were read"), TimeoutError),
        (ConnectionResetError(), ConnectionError),
        (RuntimeError("HTTP 503 Slow Down"), OSError),
        (ValueError("got 4031 bytes"), OSError),
        (NotADirectoryError(20, "Not a directory", "/data/403/forbidden"), NotADirectoryError),
        (OSError("/data/run-403/offsets: broken"), OSError),
        (OSError("/data/401/offsets: broken"), OSError),
        (OSError("HTTP/1.1 403 at /data/offsets"), PermissionError),
        (OSError('{"error":{"code":403,"url":"https://host/x"}}'), PermissionError),
    ],
)
def test_error_families(error: Exception, family: type[OSError]) -> None:
    assert family_of(error) is family


def test_error_text_has_path_and_no_secrets() -> None:
    error = translate_error(RuntimeError("key s3cret refused"), "s3a://b/x", {"secret": "s3cret"})
    assert str(error) == "s3a://b/x: key *** refused"
    assert str(translate_error(KeyError(), "/x", {})) == "/x: KeyError"


def test_same_reason_ignores_paths_and_operations() -> None:
    first = (
        "An error occurred (ExpiredToken) when calling the GetObject operation: of s3://b/1.delta"
    )
    second = "An error occurred (ExpiredToken) when calling the HeadObject operation: of s3://b/2"
    assert same_reason(first) == same_reason(second)
    assert same_reason("timed out") != same_reason("connection reset")
