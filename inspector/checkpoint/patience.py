"""Requests to a remote storage: each has a time limit, and some are repeated.

A connection that was accepted and is then silent would block a read for ever, because not every
driver has a time limit. A transient failure (a timeout, a closed connection, ``429``, ``5xx``) is
tried again after a pause that doubles. All attempts on one silent object take at most
``object_seconds``.

Failures of any driver become one of three: missing (:class:`FileNotFoundError`; gone, if it was
listed), denied (:class:`PermissionError`: credentials are wrong, have expired, or do not suffice),
unanswered (any other ``OSError``). Only for a missing file the contents of the storage are known.
"""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from inspector.credentials import redact
from inspector.exceptions import InspectorError
from inspector.light_dataclasses import dataclass
from inspector.model import LIMITS, Limits
from inspector.plain_text import escape

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")

WORD_AFTER_S = 10.0  # seconds of silence after which a warning names the awaited object
FIRST_PAUSE_S = 0.5  # seconds before the second attempt; each later pause is twice as long

# Requests in a row that failed at every attempt; later ones are made once, until one succeeds. A
# storage that is down would otherwise hold a checkpoint of 80,000 files for hours.
GIVEN_UP = 3


@dataclass
class Outage:
    """Count of requests in a row that failed at every attempt, a sign that the storage is down."""

    failed: int = 0  # requests in a row that failed


OUTAGE = Outage()  # the count for all storages of the process
SILENCE: dict[str, float] = {}  # seconds waited in vain for each object, by path, in this process


class Pending(Generic[T]):
    """A request that starts at once, whose answer is taken later.

    ``start`` makes the request, again at each attempt. ``path`` is for messages, without secrets.
    """

    def __init__(self, start: Callable[[], Future[T]], path: str, limits: Limits = LIMITS) -> None:
        self._start, self._place, self._limits = start, escape(path), limits
        self._first: Future[T] | None = start() if self._seconds() > 0 else None

    def result(self) -> T:
        """Return the answer, and repeat the request if it fails for a moment.

        Raises TimeoutError, or the error of the last attempt.
        """
        if self._seconds() <= 0:
            raise TimeoutError(self._silent())
        pause = FIRST_PAUSE_S
        attempts = 1 if OUTAGE.failed >= GIVEN_UP else self._limits.attempts
        for left in range(attempts - 1, -1, -1):
            request, self._first = self._first or self._start(), None
            try:
                answer = self._in_time(request)
            except Exception as error:
                if not is_for_a_moment(error):
                    OUTAGE.failed = 0  # that is an answer too
                    raise
                if not left or self._seconds() <= 0:
                    OUTAGE.failed += 1
                    raise
                _warn("%s: %s; asked again in %.1f s", self._place, _words(error), pause)
            else:
                OUTAGE.failed = 0
                SILENCE.pop(self._place, None)
                return answer
            time.sleep(pause)
            pause *= 2
        raise AssertionError("there is at least one attempt")

    def _in_time(self, request: Future[T]) -> T:
        """Return the answer of a request. TimeoutError: it comes too late, and is abandoned."""
        from concurrent.futures import wait  # noqa: PLC0415 - only for remote storages

        seconds = self._seconds()
        wait((request,), min(WORD_AFTER_S, seconds))
        if not request.done() and seconds > WORD_AFTER_S:
            _warn("%s: no answer for %.0f s, still waiting", self._place, WORD_AFTER_S)
            wait((request,), seconds - WORD_AFTER_S)
        if not request.done():
            request.cancel()
            SILENCE[self._place] = SILENCE.get(self._place, 0) + seconds
            left = self._seconds() > 0
            raise TimeoutError(f"no answer within {seconds:g} s" if left else self._silent())
        return request.result()

    def _seconds(self) -> float:
        """Seconds that the next attempt may take; 0 if the object has been silent for too long."""
        left = self._limits.object_seconds - SILENCE.get(self._place, 0)
        return max(0.0, min(float(self._limits.request_seconds), left))

    def _silent(self) -> str:
        """Return the message for an object that was silent for too long."""
        return f"no answer within {self._limits.object_seconds:g} s; it is not requested again"


def _warn(message: str, *values: object) -> None:
    """Log a warning, which goes to stderr unless the caller configures ``inspector.storage``."""
    import logging  # noqa: PLC0415 - only for remote storages

    logging.getLogger("inspector.storage").warning(message, *values)


def patiently(call: Callable[[], T], path: str, limits: Limits = LIMITS) -> T:
    """Return the answer of a call, repeated if it fails for a moment (:class:`Pending`)."""
    return Pending(lambda: in_thread(call), path, limits).result()


def in_thread(call: Callable[[], T]) -> Future[T]:
    """Return the future answer of a call, made by a new thread that is abandoned if it hangs."""
    from concurrent.futures import Future  # noqa: PLC0415 - only for remote storages

    answer: Future[T] = Future()
    answer.set_running_or_notify_cancel()  # it cannot be taken back

    def make() -> None:
        """Make the call, and set its result or error."""
        try:
            value = call()
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            answer.set_exception(error)
        else:
            answer.set_result(value)

    # A daemon thread, so that a request that hangs forever does not keep the process from its end.
    threading.Thread(target=make, name="request", daemon=True).start()
    return answer


def _words(error: Exception) -> str:
    """Return the message of an error without secrets and control characters."""
    return escape(redact(str(error) or type(error).__name__))


# errors of Python that are raised as they are
_FAMILIES = (NotADirectoryError, IsADirectoryError, ConnectionError)
# attributes in which errors have an HTTP status
_STATUS_NAMES = ("status", "status_code", "code", "http_status", "HTTPStatusCode")
_DENIED = (  # compiled once there is an error
    r"(?i)(?<![\w/.-])40[13](?![\w/-])|"  # a number in a path is none of theirs
    r"\b(?:Forbidden|Unauthori[sz]ed|AccessDenied|Access ?Denied|InvalidAccessKeyId|"
    r"SignatureDoesNotMatch|ExpiredToken|InvalidToken|TokenRefreshRequired|RequestTimeTooSkewed|"
    r"AuthenticationFailed|AuthorizationFailure|AuthorizationPermissionMismatch|"
    r"NoCredentials|PartialCredentials|Unable to locate credentials|invalid_grant)"
)
"""Words by which S3, GCS, Azure, WebHDFS and their clients say that a request is refused."""

_MOMENTARY_STATUS = frozenset((408, 429, 500, 502, 503, 504))  # HTTP statuses of transient failures
# words in the messages of transient failures
_MOMENTARY = (
    r"SlowDown|Slow Down|ServiceUnavailable|InternalError|RequestTimeout\b|ServerBusy|"
    r"Too Many Requests|\bHTTP 50[0234]\b|IncompleteRead|ConnectionClosed|EndpointConnection|"
    r"ReadTimeout|ConnectTimeout|ServerDisconnected|ClientPayloadError"
)

# words of a message with a slash or a digit, which differ between equal errors
_PATHS_AND_NUMBERS = re.compile(r"\S*[/\d]\S*")
# words of botocore that name the operation
_OPERATION = re.compile(r"when calling the \w+ operation")


def translate_error(error: Exception, path: str, options: Mapping[str, str]) -> OSError:
    """Return a driver's error as an OSError whose message has the path and no secrets."""
    reason = redact(_message(error) or type(error).__name__, options)
    return family_of(error)(f"{path}: {reason}")


def _message(error: Exception) -> str:
    """Return an error's message; for a local error without its path, which may be personal data."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def family_of(error: Exception) -> type[OSError]:
    """Return the class of Python's OSErrors that corresponds to a driver's error."""
    if isinstance(error, FileNotFoundError):
        return FileNotFoundError
    if _is_denied(error):  # PermissionError among them
        return PermissionError
    if _is_timeout(error):
        return TimeoutError
    return next((kind for kind in _FAMILIES if isinstance(error, kind)), OSError)


def is_for_a_moment(error: Exception) -> bool:
    """Return True if an error is transient: it is about the service, not about the object."""
    statuses = set(_statuses(error))
    if statuses:
        return bool(statuses & _MOMENTARY_STATUS)
    is_lost = _is_timeout(error) or isinstance(error, ConnectionError)
    return is_lost or bool(re.search(_MOMENTARY, str(error)))


def same_reason(message: str) -> str:
    """Return a message without paths, numbers and operation, so that equal causes compare equal."""
    return _PATHS_AND_NUMBERS.sub("", _OPERATION.sub("", message)).strip(" :,.'\"")


def _is_timeout(error: Exception) -> bool:
    """Return True if an error is a timeout of Python or of asyncio."""
    # Below Python 3.11 asyncio has its own TimeoutError; code that raises it has imported asyncio.
    asyncio = sys.modules.get("asyncio")
    asyncio_error: type[Exception] = getattr(asyncio, "TimeoutError", TimeoutError)
    return isinstance(error, (TimeoutError, asyncio_error))


def _is_denied(error: Exception) -> bool:
    """Return True if an error says that the storage refuses the request."""
    if isinstance(error, PermissionError):
        return True
    statuses = set(_statuses(error))
    if statuses:
        return bool(statuses & {401, 403})
    return not isinstance(error, (TimeoutError, ConnectionError)) and bool(
        re.search(_DENIED, f"{type(error).__name__}: {_message(error)}")
    )


def _statuses(error: BaseException) -> Iterator[int]:
    """Yield the HTTP statuses from 400 on that an error, its response or its cause has."""
    response: Any = getattr(error, "response", None)
    statuses = [getattr(error, name, None) for name in _STATUS_NAMES]
    if isinstance(response, Mapping):
        statuses.append(dict(response.get("ResponseMetadata") or {}).get("HTTPStatusCode"))
    else:
        statuses += [getattr(response, name, None) for name in _STATUS_NAMES]
    yield from (status for status in statuses if isinstance(status, int) and 400 <= status < 600)
    if error.__cause__ is not None and error.__cause__ is not error:
        yield from _statuses(error.__cause__)


R = TypeVar("R")

THREADS = 32  # requests that are made at the same time


def in_parallel(
    call: Callable[[T], R], items: Sequence[T], threads: int = THREADS
) -> list[R | OSError | InspectorError]:
    """Return for each item, in order, the result of ``call`` or the error that it raised.

    OSError and InspectorError are returned. The calls are made by at most ``threads`` threads.
    """

    def attempt(item: T) -> R | OSError | InspectorError:
        """Return the result of a call, or its error."""
        try:
            return call(item)
        except (OSError, InspectorError) as error:
            return error

    if min(threads, len(items)) <= 1:
        return [attempt(item) for item in items]
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - only for remote storages

    with ThreadPoolExecutor(min(threads, len(items))) as pool:
        return list(pool.map(attempt, items))
