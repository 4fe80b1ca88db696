"""Which files make a version (chain), and the map that their records make (replay)."""
