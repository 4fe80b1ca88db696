"""Connections to storages; the only module that knows fsspec.

All who read from one place with the same options share one: it takes a tenth of a second to make.
"""

from __future__ import annotations

import json
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from inspector.checkpoint.urls import missing_driver, parse_options, translate
from inspector.credentials import redact
from inspector.exceptions import EngineError
from inspector.light_dataclasses import dataclass

MOST_KEPT = 8  # connections that are kept for whoever reads from the same place next


@dataclass
class _Kept:
    """A connection, and whether the storage has refused it anything."""

    system: Any
    refused: bool = False


_kept: OrderedDict[tuple[Any, ...], _Kept] = OrderedDict()
_lock = threading.Lock()


def connect(url: str, options: Mapping[str, str], *, anew: bool = False) -> tuple[Any, str]:
    """The driver for a URL (None: a local disk), and the path in it; EngineError: not installed."""
    # OSError: it refuses URL or options. anew: not by a connection that was refused anything, as
    # the process may have other credentials now.
    address = translate(url)
    if address.protocol == "file":
        return None, address.target
    import fsspec  # noqa: PLC0415 - a local checkpoint starts without it, and without its asyncio

    try:
        driver = fsspec.get_filesystem_class(address.protocol)
    except (ImportError, ValueError) as error:
        raise EngineError(missing_driver(address.protocol, error), redact(url)) from error
    target = str(driver._strip_protocol(address.target))
    settings = {**driver._get_kwargs_from_urls(address.target), **address.options}
    if address.protocol == "s3":
        # The client's own is 10: fewer than are asked for at once.
        settings["config_kwargs"] = {"max_pool_connections": 64}
    settings |= parse_options(options)
    # A connection is of no use to a process that was forked from the one that made it.
    location = (os.getpid(), driver, json.dumps(settings, sort_keys=True, default=repr))
    with _lock:
        kept = _kept.get(location)
        if kept is not None and not (anew and kept.refused):
            _kept.move_to_end(location)
            return kept.system, target
    system = _connect(url, options, address.protocol, partial(driver, **settings))
    with _lock:
        _kept[location] = _Kept(system)
        while len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)
    return system, target


def _connect(
    url: str, options: Mapping[str, str], protocol: str, driver: Callable[..., Any]
) -> Any:
    try:
        return driver(skip_instance_cache=True, use_listings_cache=False)
    except Exception as error:  # noqa: BLE001 - drivers raise whatever their makers liked
        reason = redact(f"{type(error).__name__}: {error}", options)
        if isinstance(error, ImportError) or "libhdfs" in reason or "libjvm" in reason:
            raise EngineError(missing_driver(protocol, error), redact(url)) from None
        raise OSError(f"{redact(url)}: cannot be opened: {reason}") from None


def note_refusal(system: Any) -> None:
    """Mark a kept connection as refused by the storage, so that the next open makes a new one."""
    with _lock:
        for driver in _kept.values():
            driver.refused |= driver.system is system


def is_async(system: Any) -> bool:
    """Return whether a driver's requests are coroutines that any thread may start."""
    return system is not None and system.async_impl and not system.asynchronous


def lists_recursively(system: Any) -> bool:
    """Return whether a driver can list everything below a path with one call."""
    # Object stores do, whose folders are parts of names. Others list one folder after the other.
    if not is_async(system):
        return False
    return str(type(system)._find.__module__) != "fsspec.asyn"
