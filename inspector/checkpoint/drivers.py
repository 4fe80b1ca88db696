"""Connections to storages; the only module that knows fsspec.

All readers of one place with equal options share a connection: it takes a tenth of a second to
make.
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

MOST_KEPT = 8  # connections that are kept for later readers of the same place


@dataclass
class _Kept:
    """A connection that is kept."""

    system: Any  # the fsspec file system
    refused: bool = False  # True if the storage has refused it a request


# kept connections by process, driver and settings; the last used one is last
_kept: OrderedDict[tuple[Any, ...], _Kept] = OrderedDict()
_lock = threading.Lock()  # guards ``_kept``


def connect(url: str, options: Mapping[str, str], *, anew: bool = False) -> tuple[Any, str]:
    """Return the fsspec file system for a URL (None for a local disk), and the path in it.

    With ``anew`` no connection is reused that the storage has refused, because the process may have
    other credentials now. EngineError: the driver is not installed. OSError: it refuses URL or
    options.
    """
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
    """Return a new connection. EngineError: no complete driver. OSError: refused options."""
    try:
        return driver(skip_instance_cache=True, use_listings_cache=False)
    except Exception as error:  # noqa: BLE001 - drivers raise whatever their makers liked
        reason = redact(f"{type(error).__name__}: {error}", options)
        if isinstance(error, ImportError) or "libhdfs" in reason or "libjvm" in reason:
            raise EngineError(missing_driver(protocol, error), redact(url)) from None
        raise OSError(f"{redact(url)}: cannot be opened: {reason}") from None


def note_refusal(system: Any) -> None:
    """Mark the kept connection of a file system as refused, so that ``anew`` makes a new one."""
    with _lock:
        for driver in _kept.values():
            driver.refused |= driver.system is system


def is_async(system: Any) -> bool:
    """Return True if a driver's requests are coroutines that any thread may start."""
    return system is not None and system.async_impl and not system.asynchronous


def lists_recursively(system: Any) -> bool:
    """Return True if a driver can list everything below a path with one call."""
    # Object stores do, whose folders are parts of names. Others list one folder after the other.
    if not is_async(system):
        return False
    return str(type(system)._find.__module__) != "fsspec.asyn"
