"""View of one store, for rules about its rows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from inspector.findings.views.base_store import StoreFacts
from inspector.findings.views.store_expiry import StoreExpiry
from inspector.findings.views.store_history import StoreHistory
from inspector.findings.views.store_keys import StoreKeys
from inspector.findings.views.store_sizes import StoreSizes


class StoreView(StoreFacts):
    """View of one store at the judged version, with groups of numbers that several rules read."""

    @cached_property
    def history(self) -> StoreHistory:
        """View of the changes over the versions that can be read."""
        return StoreHistory(self)

    @cached_property
    def expiry(self) -> StoreExpiry:
        """View of the expiry of the rows, and of the calls of a group state's function."""
        return StoreExpiry(self)

    @cached_property
    def keys(self) -> StoreKeys:
        """View of a sample of the newest keys."""
        return StoreKeys(self)

    @cached_property
    def sizes(self) -> StoreSizes:
        """View of the rows and bytes of the judged version, by partition."""
        return StoreSizes(self)

    @property
    def numbers(self) -> Mapping[str, Any]:
        """Values by name that the templates of every rule about a store may use."""
        return {
            "all": self.rows,
            "noun": self.noun,
            "store": self.store_name,
            "window": self.history.window,
            "puts": self.history.puts,
            "inserts": self.history.inserts,
            "removals": self.history.removals,
        }
