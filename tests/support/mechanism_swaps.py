"""Items of the ledger with another mechanism in the place of theirs: whether they notice.

An item that claims something of a mechanism computes it by ``allocate``. Here that returns what
another mechanism gives to the same instance, under the name and with the methods that were asked for.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import fairlp
from fairlp.errors import FairlpError
from fairlp_research import papers as ledger
from fairlp_research.papers.registry import Item, Run
from fairlp_research.papers.verdicts import ItemAnswer

#: A mechanism → those that stand in for it; the first that takes the instance.
OTHERS = {
    "drf": ("asset", "njc"),
    "edrf": ("asset", "njc"),
    "asset": ("drfh",),
    "drfh": ("asset", "naive-drf"),
    "c-drfh": ("tsf", "asset"),
    "cdrf": ("asset", "naive-drf"),
    "tsf": ("asset", "naive-drf"),
    "naive-drf": ("asset", "tsf"),
    "psdsf-rdm": ("tsf", "naive-drf"),
    "psdsf-tdm": ("tsf", "naive-drf"),
    "njc": ("drfh", "asset"),
    "ceei": ("drfh", "asset"),
    "dynamic-drf": ("cautious-lp",),
    "cautious-lp": ("dynamic-drf",),
    "pdrf": ("drf-discrete",),
    "drf-discrete": ("pdrf",),
    "h-drf": ("h-drf-counted",),
    "h-drf-counted": ("h-drf",),
    "h-drf-collapsed": ("drf",),
    "h-drf-discrete": ("drf-discrete",),
    "h-drf-naive": ("drf-discrete",),
    "h-drf-counted-whole": ("drf-discrete",),
}
#: Modules of the ledger.
MODULES = tuple(
    importlib.import_module(f"{ledger.__name__}.{module.name}")
    for module in pkgutil.iter_modules(ledger.__path__)
)


@dataclass
class Swaps:
    """The mechanisms in whose place another one answered."""

    swapped: set[str] = field(default_factory=set)

    def allocate(self, instance: Any, mechanism: Any, **options: Any) -> Any:
        """Return what another mechanism gives; the mechanism's own where none is defined."""
        right = fairlp.allocate(instance, mechanism, **options)
        for other in OTHERS.get(str(mechanism), ()):
            try:
                answer = fairlp.allocate(instance, other)
            except FairlpError:
                continue
            self.swapped.add(str(mechanism))
            return answer
        return right


@contextmanager
def others() -> Iterator[Swaps]:
    """Put other mechanisms in the place of all that items ask for."""
    swaps = Swaps()
    modules = [module for module in MODULES if "allocate" in vars(module)]
    before = [module.allocate for module in modules]
    for module in modules:
        module.allocate = swaps.allocate
    try:
        yield swaps
    finally:
        for module, function in zip(modules, before, strict=True):
            module.allocate = function


def with_another_mechanism(item: Item, run: Run) -> tuple[Swaps, ItemAnswer | None]:
    """Return an item's answer where others stand in; None where it cannot be computed."""
    with others() as swaps:
        try:
            return swaps, item.compute(run)
        except Exception:  # what one mechanism says of itself, another one has not
            return swaps, None
