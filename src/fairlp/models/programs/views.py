"""``BlockView``: the values of a solution by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...errors import UnknownNameError, nearest
from .program import Block


class BlockView(Mapping[str, Any]):
    """Values by block name, as labelled pandas objects, made when asked for."""

    def __init__(self, blocks: tuple[Block, ...], values: np.ndarray) -> None:
        self._blocks = {block.name: block for block in blocks}
        self._values = values

    def __getitem__(self, name: str) -> Any:
        if name not in self._blocks:
            raise UnknownNameError(f"no block is called {name!r}; {nearest(name, self._blocks)}")
        return self._blocks[name].unpack(self._values)

    def __contains__(self, name: object) -> bool:
        return name in self._blocks

    def __iter__(self) -> Iterator[str]:
        return iter(self._blocks)

    def __len__(self) -> int:
        return len(self._blocks)

    def __repr__(self) -> str:
        return "\n".join(f"{name}:\n{self[name]}" for name in self)
