"""Which providers there are (packages here with a ``PROVIDER``), and which wrote a checkpoint."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Collection
from functools import lru_cache

from inspector import providers
from inspector.exceptions import UnsupportedProviderError
from inspector.model import KINDS_OF_VERSION, FileKind, StoreFile, Version
from inspector.providers.provider import Provider


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


def provider_for(recorded: str | None, files: Collection[StoreFile], root: str) -> Provider:
    """The provider that wrote a checkpoint; UnsupportedProviderError: not read here, or unknown."""
    # recorded: the class in the offset log, None if it has none.
    provider = next((item for item in all_providers() if item.detect(recorded, files)), None)
    classes = [item.spark_class for item in all_providers()]
    # A class that nobody here knows, and no file is named as any of them names it.
    kinds = {file.kind for file in files}
    unknown = recorded is not None and not any(name in recorded for name in classes)
    unknown &= FileKind.OTHER in kinds and kinds.isdisjoint(KINDS_OF_VERSION)
    if provider is None or unknown:
        got = (recorded or "an unknown provider")[:200]
        message = f"got state of {got}, expected one of {', '.join(classes)}"
        raise UnsupportedProviderError(message, root)
    return provider


def provider_by_name(name: str) -> Provider:
    """The provider of a task (UnsupportedProviderError: this process has no such provider)."""
    for provider in all_providers():
        if provider.name == name:
            return provider
    raise UnsupportedProviderError(f"got a task for the provider {name!r}, which is not here")
