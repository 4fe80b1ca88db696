"""Known providers (packages here with a ``PROVIDER``), and the choice of one for a checkpoint."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Collection
from functools import lru_cache

from inspector import providers
from inspector.exceptions import UnsupportedProviderError
from inspector.model import FileKind, StoreFile, Version
from inspector.providers.provider import Provider


def list_providers() -> tuple[Provider, ...]:
    """Return all providers in the order in which they are asked."""
    return _load(tuple(providers.__path__))


@lru_cache(maxsize=8)
def _load(folders: tuple[str, ...]) -> tuple[Provider, ...]:
    """Return the providers in some folders, by rank."""
    packages = [module.name for module in pkgutil.iter_modules(folders) if module.ispkg]
    modules = [importlib.import_module(f"{providers.__name__}.{name}") for name in packages]
    result: list[Provider] = [module.PROVIDER for module in modules]
    return tuple(sorted(result, key=lambda provider: (provider.rank, provider.name)))


def classify(name: str, *, is_dir: bool = False) -> tuple[FileKind, Version | None]:
    """Return the kind and version of a file in a store's folder, by its name.

    The first provider that knows the name decides. The kind is OTHER if none does.
    """
    for provider in list_providers():
        kind, version = provider.classify(name, is_dir=is_dir)
        if kind is not FileKind.OTHER:
            return kind, version
    return FileKind.OTHER, None


def provider_for(
    recorded: str | None,  # the class in the offset log; None if it has none
    files: Collection[StoreFile],  # of the stores
    root: str,
    provider_format: str | None = None,  # the name of a provider; the user knows its format
) -> Provider:
    """Return the provider that wrote a checkpoint.

    UnsupportedProviderError: there is state, its class is of no provider here, and the user names
    no format. The names of files prove nothing then: a foreign provider may write anything under
    them.
    """
    if provider_format is not None:
        return provider_by_name(provider_format)
    candidates = list_providers()
    if recorded is not None and files and not any(item.has_class(recorded) for item in candidates):
        classes = ", ".join(item.spark_class for item in candidates)
        formats = " or ".join(f"--provider-format {item.name}" for item in candidates)
        message = (
            f"got state of {recorded[:200]}, expected one of {classes}; if its files have the "
            f"format of one of these, name it: {formats}"
        )
        raise UnsupportedProviderError(message, root)
    provider = next((item for item in candidates if item.detect(recorded, files)), None)
    if provider is None:
        raise UnsupportedProviderError("got state of an unknown provider", root)
    return provider


def provider_by_name(name: str) -> Provider:
    """Return the provider of a task. UnsupportedProviderError: this process lacks it."""
    for provider in list_providers():
        if provider.name == name:
            return provider
    raise UnsupportedProviderError(f"got a task for the provider {name!r}, which is not here")
