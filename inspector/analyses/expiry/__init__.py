"""What ``audit``, ``leftovers`` and the page say of rows that should be gone."""
