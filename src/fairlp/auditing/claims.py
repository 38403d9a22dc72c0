"""Claims: what a row of the table says of a mechanism, under which condition, and what an instance says of a claim."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import UnknownNameError, nearest
from ..mechanisms.mechanism import Mechanism
from ..models.instances.instance import Instance
from .properties import known

#: what a claim may be under → whether an instance is so
CONDITIONS: dict[str, Callable[[Instance], bool]] = {
    "all demands are positive": lambda instance: bool((instance.demands > 0).all()),
    "anyone may run anywhere": lambda instance: not instance.has_constraints,
    "all weights are equal": lambda instance: bool(np.ptp(instance.weights, axis=0).max() == 0),
    "all run on one server": lambda instance: instance.n_servers == 1,
    "no queue has a guarantee or a cap": lambda instance: instance.queues is None or not instance.queues.has_limits,
    "nobody has a task limit": lambda instance: bool(np.isinf(instance.task_limits).all()),
}
_OURS = " (ours)"
#: source of what is proved here and nowhere else
OUR_RESULTS = "fairlp, docs/results.md"


@dataclass(frozen=True)
class Claim:
    """A property that a mechanism is said to have.

    Attributes
    ----------
    wanted : str
        The property.
    conditions : tuple of str
        Names of :data:`CONDITIONS`; all must be met.
    source : str
        Who says so.
    """

    wanted: str
    conditions: tuple[str, ...] = ()
    source: str = ""

    @classmethod
    def of(cls, text: str, source: str) -> Claim:
        """Return the claim that a row writes as "PROPERTY [if CONDITION [and CONDITION …]] [(ours)]".

        >>> Claim.of("population-monotonic if all demands are positive", "somebody")
        Claim(wanted='population-monotonic', conditions=('all demands are positive',), source='somebody')
        """
        ours = text.endswith(_OURS)
        name, _, condition = text.removesuffix(_OURS).partition(" if ")
        conditions = tuple(condition.split(" and ")) if condition else ()
        for one in conditions:
            if one not in CONDITIONS:
                raise UnknownNameError(f"no condition is called {one!r}; {nearest(one, CONDITIONS)}")
        return cls(known(name), conditions, OUR_RESULTS if ours else source)

    @property
    def condition(self) -> str:
        """The conditions in words, empty where there is none."""
        return " and ".join(self.conditions)

    def covers(self, instance: Instance) -> bool:
        """Whether the instance meets all conditions, so that the claim is about it."""
        return all(CONDITIONS[name](instance) for name in self.conditions)

    def standing(self, counterexample: Instance | None) -> str:
        """Return what an instance that breaks the property leaves of the claim."""
        if counterexample is None:
            return "stands"
        return "refuted" if self.covers(counterexample) else "stands under its condition"


def claims(row: Mechanism) -> dict[str, Claim]:
    """Return property → claim of a row of the table."""
    try:
        made = [Claim.of(text, row.source) for text in row.promises]
    except UnknownNameError as error:
        raise UnknownNameError(f"promises of mechanism {row.name!r}: {error}") from None
    return {claim.wanted: claim for claim in made}
