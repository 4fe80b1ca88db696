"""Blots passwords, signatures and tokens out of whatever a person reads; the one place for it.

What is secret is known in two ways. By its shape: the part of a URL before ``@``, parameters of a
URL with telling names, headers of HTTP. And by its value: :func:`learn` keeps, for the life of the
process, the secrets of every URL and option that was given, so that they are found wherever a
driver, Java or a report repeats them, also as JSON, HTML or a URL spells them.

Errors of this package blot out what they say when they are made; the command line once more,
whatever it writes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from threading import Lock
from urllib.parse import quote, unquote

HIDDEN = "***"  # text in place of a secret

SHORTEST = 4  # shorter secret values are not hidden in messages, because they occur in many words

_USERINFO = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<user>[^\s/@:'\"]*)"
    r"(?:@|(?P<password>:(?!\d+(?:/|$))[^\s'\"<>]*?)@(?=[^\s@]*(?:[\s'\"<>,]|$)))"
)
"""Start of a URL with a user, or with user and password: ``scheme://user:password@``.

A port is not taken for a password. A password ends at the last ``@``, because a secret that is not
encoded may contain ``/`` and ``@``.
"""

# user and password of a text that is one URL, so that it may also hold quotes
_WHOLE_URL = re.compile(
    r"([A-Za-z][A-Za-z0-9+.-]*)://([^\s/@:]*)(?::(?!\d+(?:/|$))(.*))?@", re.DOTALL
)

_USER_IS_NO_SECRET = frozenset(("abfs", "abfss", "wasb", "wasbs", "hdfs", "sftp", "ssh"))
"""Schemes in which what stands alone before ``@`` is a container's or a person's name."""

# names of URL parameters that hold a secret
_TELLING = (
    r"(?:[\w.%-]*(?:key|secret|token|pass(?:word|wd)?|signature|credential|connection_?string|"
    r"session|authorization)[\w.%-]*|sig|auth|pwd)"
)
# such a parameter in a URL, and its value
_URL_PARAMETER = re.compile(
    rf"([?&;]{_TELLING}=)[^&;\s'\"<>]+?(?=:?(?:[&;\s'\"<>]|$))", re.IGNORECASE
)
# name and value of a secret outside a URL
_PLAIN_PARAMETER = re.compile(
    r"((?:^|[\s'\"(,{])(?:sig|token|AccountKey|SharedAccessSignature|SharedAccessKey|password|"
    r"X-Amz-[\w-]+|aws_secret_access_key|aws_session_token)['\"]?\s*[=:]\s*['\"]?)[^&;\s'\",})<>]+",
    re.IGNORECASE,
)
# secret in a header of HTTP
_HEADER = re.compile(r"\b((?:Bearer|Basic|SharedKey|AWS4-HMAC-SHA256)\s+)[^\s,'\"]{4,}")
# name of an option that may hold a secret
_SECRET_NAME = re.compile(r"key|secret|token|pass|pwd|sas|sig|credential|connection|auth", re.I)
# name of an option that is no secret in spite of such a word
_HARMLESS_NAME = re.compile(r"keytab|path|provider|enable|keepalive|key[_-]?schema", re.I)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S+")  # URL in a text
_OPENING = ("--storage-option", "--conf")  # options of the command line whose values may be secret

# replacements as of html.escape, whose module takes as long to import as this one
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})

_lock = Lock()  # held while :data:`_known` changes
_known: dict[str, None] = {}  # spellings of all secrets that were learnt, the longest first


def redact(text: str, options: Mapping[str, str] | None = None) -> str:
    """Return a text in which secrets are replaced by ``***``.

    Secrets are known by their shape, were learnt before, or are values in ``options``.
    """
    text = _USERINFO.sub(_userinfo, _without(text, [*_known, *_of_options(options or {})]))
    for pattern in (_URL_PARAMETER, _PLAIN_PARAMETER, _HEADER):
        text = pattern.sub(rf"\g<1>{HIDDEN}", text)
    return text


def mask_secrets(text: str) -> str:
    """Return a text without the learnt secrets: for reports, whose data has any shape."""
    return _without(text, _known) if _known else text


def learn(*urls: str, options: Mapping[str, str] | None = None) -> None:
    """Remember the secrets of URLs and options until the process ends, to hide them anywhere."""
    secrets = {*_of_options(options or {}), *(secret for url in urls for secret in _of_url(url))}
    fresh = [spelled for secret in secrets for spelled in _spellings(secret)]
    with _lock:
        merged = sorted({*_known, *fresh}, key=lambda spelling: (-len(spelling), spelling))
        if len(merged) > len(_known):
            _known.clear()
            _known.update(dict.fromkeys(merged))


def learn_arguments(arguments: Sequence[str]) -> None:
    """Remember the secrets in the arguments of a command line, before they are parsed.

    They are in URLs, and in ``NAME=VALUE`` of the options for storages and sessions.
    """
    for previous, argument in zip(("", *arguments), arguments, strict=False):
        learn(*_URL.findall(argument))
        option, _, joined = argument.partition("=")
        pair = argument if previous in _OPENING else joined if option in _OPENING else ""
        name, _, value = pair.partition("=")
        learn(options={name: value})


def is_secret(name: str) -> bool:
    """Return whether an option of this name holds a secret."""
    return bool(_SECRET_NAME.search(name)) and not _HARMLESS_NAME.search(name)


def _userinfo(match: re.Match[str]) -> str:
    """Return the begin of a URL with user and password hidden.

    It is unchanged if the scheme has a plain name there, such as that of a container.
    """
    if match["password"] is None and match["scheme"].lower() in _USER_IS_NO_SECRET:
        return match[0]
    return f"{match['scheme']}://{HIDDEN}@"


def _without(text: str, secrets: Iterable[str]) -> str:
    """Return a text with ``***`` in place of each secret."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text


def _of_url(url: str) -> Iterator[str]:
    """Yield the secrets of a URL: password, a user that is a secret, and parameters."""
    match = _WHOLE_URL.match(url)
    if match is not None:
        scheme, user, password = match.groups()
        if password is not None:
            yield from (password, password.partition("@")[0])  # a path may have an "@" too
        elif scheme.lower() not in _USER_IS_NO_SECRET:
            yield user
    for parameter in _URL_PARAMETER.finditer(url):
        yield parameter[0][len(parameter[1]) :]


def _of_options(options: Mapping[str, str]) -> set[str]:
    """Return the secrets in the values of options, without those that are too short."""
    secrets: set[str] = set()
    for name, value in options.items():
        secrets.update(_leaves(name, value), *map(_of_url, _URL.findall(str(value))))
    return {text for text in secrets if len(text) >= SHORTEST}


def _leaves(name: str, value: object) -> Iterator[str]:
    """Yield the secret texts in an option's value, which may be JSON."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(str(key), item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(name, item)
    elif isinstance(value, str) and is_secret(name) and value.lower() not in ("true", "false"):
        yield value


def _spellings(secret: str) -> Iterator[str]:
    """Yield a secret, its percent-decoded form, and both as URLs, JSON and HTML escape them.

    A form with fewer than :data:`SHORTEST` characters yields nothing. Texts may repeat.
    """
    for plain in {secret, unquote(secret)}:
        if len(plain) >= SHORTEST:
            yield from (plain, quote(plain), quote(plain, safe=""), plain.translate(_ENTITIES))
            yield from (json.dumps(plain)[1:-1], json.dumps(plain, ensure_ascii=False)[1:-1])
