"""Which providers there are (packages here with a ``PROVIDER``), and which wrote a checkpoint."""

from __future__ import annotations

import importlib
import pkgutil
from functools import lru_cache

from inspector import providers
from inspector.exceptions import UnsupportedProviderError
from inspector.model import FileKind, Version
from inspector.providers.provider import Listing, Provider


def all_providers() -> tuple[Provider, ...]:
    """All of them, in the order in which they are asked."""
    return _load(tuple(providers.__path__))


@lru_cache(maxsize=8)
def _load(folders: tuple[str, ...]) -> tuple[Provider, ...]:
    packages = [module.name for module in pkgutil.iter_modules(folders) if module.ispkg]
    modules = [importlib.import_module(f"{providers.__name__}.{name}") for name in packages]
    result: list[Provider] = [module.PROVIDER for module in modules]
    return tuple(sorted(result, key=lambda provider: (provider.rank, provider.name)))


def classify(name: str, *, is_dir: bool = False) -> tuple[FileKind, Version | None]:
    """The kind of a file in a store's folder, and the state version in its name."""
    # The first provider that knows such a name decides; what none knows is OTHER.
    for provider in all_providers():
        kind, version = provider.classify(name, is_dir=is_dir)
        if kind is not FileKind.OTHER:
            return kind, version
    return FileKind.OTHER, None


def provider_for(listing: Listing, root: str) -> Provider:
    """The provider that wrote a checkpoint; UnsupportedProviderError: not read here, or unknown."""
    provider = next((item for item in all_providers() if item.detect(listing)), None)
    if provider is None or _is_unknown(listing):
        names = ", ".join(item.spark_class for item in all_providers())
        got = (listing.provider_class or "an unknown provider")[:200]
        raise UnsupportedProviderError(f"got state of {got}, expected one of {names}", root)
    return provider


def _is_unknown(listing: Listing) -> bool:
    """Whether a class that nobody here knows is recorded, and no file is named as any names it."""
    recorded = listing.provider_class
    if recorded is None or any(provider.spark_class in recorded for provider in all_providers()):
        return False
    kinds = {file.kind for file in listing.files}
    return FileKind.OTHER in kinds and kinds.isdisjoint((FileKind.DELTA, FileKind.SNAPSHOT))


def provider_by_name(name: str) -> Provider:
    """The provider of a task (UnsupportedProviderError: this process has no such provider)."""
    for provider in all_providers():
        if provider.name == name:
            return provider
    raise UnsupportedProviderError(f"got a task for the provider {name!r}, which is not here")
