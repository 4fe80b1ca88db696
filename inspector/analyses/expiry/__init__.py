"""Tables of ``audit``, ``leftovers`` and the page about rows that should be gone."""
