"""The package for type checkers; python scripts/refresh_docs.py writes it."""

from inspector.api.opened import open_checkpoint as open_checkpoint
from inspector.exceptions import CheckpointError as CheckpointError
from inspector.exceptions import DecodeError as DecodeError
from inspector.exceptions import EngineError as EngineError
from inspector.exceptions import InspectorError as InspectorError
from inspector.exceptions import MissingVersionError as MissingVersionError
from inspector.exceptions import NotACheckpointError as NotACheckpointError
from inspector.exceptions import UnsupportedProviderError as UnsupportedProviderError

__version__: str
__all__: list[str]
