"""What a storage's failure means, in four words; whatever its driver raised.

=============  =======================================  ==========================================
word           error                                    what is known of the file
=============  =======================================  ==========================================
missing        :class:`FileNotFoundError`               it is not there (gone, if it was listed)
denied         :class:`PermissionError`                 nothing: no permission, or credentials that
                                                        are wrong or have run out
unanswered     any other ``OSError``                    nothing: a timeout, a closed connection
(corrupt)      :class:`~inspector.exceptions.DecodeError`   it was read: no failure of the storage
=============  =======================================  ==========================================
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from typing import Any

from inspector.credentials import redact

_FAMILIES = (
    FileNotFoundError,
    NotADirectoryError,
    IsADirectoryError,
    PermissionError,
    TimeoutError,
    ConnectionError,
)
_STATUS_NAMES = ("status", "status_code", "code", "http_status", "HTTPStatusCode")
_DENIED_STATUS = (401, 403)
_DENIED = re.compile(
    r"\b(?:40[13]\b|Forbidden|Unauthori[sz]ed|AccessDenied|Access ?Denied|InvalidAccessKeyId|"
    r"SignatureDoesNotMatch|ExpiredToken|InvalidToken|TokenRefreshRequired|RequestTimeTooSkewed|"
    r"AuthenticationFailed|AuthorizationFailure|AuthorizationPermissionMismatch|"
    r"NoCredentials|PartialCredentials|Unable to locate credentials|invalid_grant)",
    re.IGNORECASE,
)
"""How S3, GCS, Azure, WebHDFS and their clients say that a request is refused."""

_MOMENTARY_STATUS = frozenset((408, 429, 500, 502, 503, 504))
_MOMENTARY = re.compile(
    r"SlowDown|Slow Down|ServiceUnavailable|InternalError|RequestTimeout\b|ServerBusy|"
    r"Too Many Requests|\bHTTP 50[0234]\b|IncompleteRead|ConnectionClosed|EndpointConnection|"
    r"ReadTimeout|ConnectTimeout|ServerDisconnected|ClientPayloadError",
)

_PATHS_AND_NUMBERS = re.compile(r"\S*[/\d]\S*")
_OPERATION = re.compile(r"when calling the \w+ operation")


def translated(error: Exception, place: str, options: Mapping[str, str]) -> OSError:
    """The error of a driver as one of Python's, worded with the place and without secrets."""
    told = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    reason = redact(told or type(error).__name__, options)
    return family_of(error)(f"{place}: {reason}")


def family_of(error: Exception) -> type[OSError]:
    """The class of error that one of a driver means."""
    if isinstance(error, FileNotFoundError):
        return FileNotFoundError
    if _is_denied(error):
        return PermissionError
    if isinstance(error, asyncio.TimeoutError):  # of its own below Python 3.11
        return TimeoutError
    return next((kind for kind in _FAMILIES if isinstance(error, kind)), OSError)


def is_for_a_moment(error: Exception) -> bool:
    """Whether the same request may well be answered soon: nothing is said about its object."""
    statuses = set(_statuses(error))
    if statuses:
        return bool(statuses & _MOMENTARY_STATUS)
    return isinstance(error, (TimeoutError, asyncio.TimeoutError, ConnectionError)) or bool(
        _MOMENTARY.search(str(error))
    )


def same_reason(message: str) -> str:
    """What two failures for the same reason have in common: no path, no number, no operation."""
    return _PATHS_AND_NUMBERS.sub("", _OPERATION.sub("", message)).strip(" :,.'\"")


def _is_denied(error: Exception) -> bool:
    if isinstance(error, PermissionError):
        return True
    statuses = set(_statuses(error))
    if statuses:
        return bool(statuses & set(_DENIED_STATUS))
    return not isinstance(error, (TimeoutError, ConnectionError)) and bool(
        _DENIED.search(f"{type(error).__name__}: {error}")
    )


def _statuses(error: BaseException) -> Iterator[int]:
    """The HTTP statuses that an error, its response or its cause has."""
    response: Any = getattr(error, "response", None)
    found = [getattr(error, name, None) for name in _STATUS_NAMES]
    if isinstance(response, Mapping):
        found.append(dict(response.get("ResponseMetadata") or {}).get("HTTPStatusCode"))
    else:
        found += [getattr(response, name, None) for name in _STATUS_NAMES]
    yield from (status for status in found if isinstance(status, int) and 400 <= status < 600)
    if error.__cause__ is not None and error.__cause__ is not error:
        yield from _statuses(error.__cause__)
