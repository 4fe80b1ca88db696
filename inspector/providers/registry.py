"""Which providers there are, and which of them wrote a checkpoint.

A provider is a package in this folder with a ``PROVIDER``; adding one takes nothing else.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import lru_cache

from inspector import providers
from inspector.exceptions import UnsupportedProviderError
from inspector.model import FileKind, Version
from inspector.providers.provider import Listing, Provider, Recognizer, Unsupported


def recognizers() -> tuple[Recognizer, ...]:
    """All of them, in the order in which they are asked."""
    return _found(tuple(providers.__path__))


@lru_cache(maxsize=8)
def _found(folders: tuple[str, ...]) -> tuple[Recognizer, ...]:
    packages = [each.name for each in pkgutil.iter_modules(folders) if each.ispkg]
    modules = [importlib.import_module(f"{providers.__name__}.{name}") for name in packages]
    found: list[Recognizer] = [module.PROVIDER for module in modules]
    return tuple(sorted(found, key=lambda each: (each.rank, each.name)))


def classify(name: str, *, is_dir: bool = False) -> tuple[FileKind, Version | None]:
    """The kind of a file in a store's folder, and the state version in its name.

    The first provider that knows such a name decides; what none knows is OTHER.
    """
    for each in recognizers():
        kind, version = each.classify(name, is_dir=is_dir)
        if kind is not FileKind.OTHER:
            return kind, version
    return FileKind.OTHER, None


def provider_for(listing: Listing, root: str) -> Provider:
    """The provider that wrote a checkpoint.

    Args:
        listing: what it is recognised by.
        root: the checkpoint, for the error.

    Raises:
        UnsupportedProviderError: it is recognised, and cannot be read here; or none is recognised.
    """
    found = next((each for each in recognizers() if each.detect(listing)), None)
    if isinstance(found, Provider):
        return found
    reason = found.reason if isinstance(found, Unsupported) else "got state of an unknown provider"
    raise UnsupportedProviderError(reason, root)


def provider_named(name: str) -> Provider:
    """The provider of a task.

    Raises:
        UnsupportedProviderError: this process has no such provider.
    """
    for each in recognizers():
        if each.name == name and isinstance(each, Provider):
            return each
    raise UnsupportedProviderError(f"got a task for the provider {name!r}, which is not here")
