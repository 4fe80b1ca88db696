"""Blocks that a library of pyarrow's compressed; apart, so that ``sniff`` does not import it."""

from __future__ import annotations

from typing import Literal

import pyarrow as pa

from inspector.exceptions import FrameError


class RawCodec:
    """A codec without framing.

    Args:
        name: as pyarrow spells it.
        title: as messages spell it.
    """

    def __init__(self, name: Literal["lz4_raw", "snappy"], title: str) -> None:
        self._codec, self._title = pa.Codec(name), title

    def block(self, block: memoryview, size: int, start: int) -> bytes:
        """One block, decompressed.

        pyarrow does not report one that is shorter than ``size``.

        Raises:
            FrameError: it is corrupt; at ``start``.
        """
        try:
            return self._codec.decompress(block, size, asbytes=True)
        except (OSError, pa.ArrowException) as error:
            raise FrameError(f"{self._title} block: {error}", offset=start) from error
