"""Put the folder ``scripts`` and the repository on the path, for programs that import from them."""

from __future__ import annotations

import sys
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[1]
sys.path[1:1] = [str(SCRIPTS), str(SCRIPTS.parent)]
