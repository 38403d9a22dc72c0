"""How a statement that holds in general is checked: on random instances from a seed, or by the audits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..api import allocate
from ..auditing import audit
from ..auditing.promises import count_broken, counterexample
from ..models.instances.instance import Instance
from ..progress import progress_bar
from .registry import Run
from .verdicts import Answer, Verdict, holds, in_words

#: Instances that a statement is checked on, by scale.
FEW, MANY = 20, 1000
#: The same for the audits that run a mechanism again for every lie.
FEW_LIES, MANY_LIES = 5, 200

#: What breaks a statement on one instance, in words; None where it holds, and False where there is nothing to check.
Broken = str | None | bool


def over(
    run: Run,
    draw: Callable[[np.random.Generator], Any],
    broken: Callable[[Any], Broken],
    *,
    few: int = FEW,
    many: int = MANY,
    why: str = "",
) -> Answer:
    """Return whether a statement holds on random instances; those with nothing to check are drawn again."""
    rng, count = run.rng, run.of(few, many)
    found: list[str] = []
    done = 0
    with progress_bar(run.key, count, 0, run.progress) as advance:
        for _ in range(20 * count):
            if done == count:
                break
            told = broken(draw(rng))
            if told is False:
                continue
            done += 1
            advance()
            if told:
                found.append(str(told))
    return holds(done, found, why)


def kept(run: Run, mechanism: str, *properties: str, lies: bool = False, why: str = "") -> Answer:
    """Return whether audits find a mechanism to keep properties on random instances that meet their conditions."""
    count = run.of(FEW_LIES, MANY_LIES) if lies else run.of(FEW, MANY)
    total, wrong = 0, []
    for name in properties:
        audited, broken, *_ = count_broken(mechanism, name, count, run.seed)
        total += audited
        wrong += [f"{name}: {broken} of {audited}"] * broken
    each = f"{count} instances for each of {len(properties)} properties" if len(properties) > 1 else ""
    return holds(total, wrong, "; ".join(filter(None, [each, why])))


def breaks(mechanism: str, property: str, why: str = "", **how: Any) -> Answer:
    """Return *refuted* where the counterexample that ships breaks a property, as an audit finds it now."""
    instance = counterexample(mechanism, property)
    assert instance is not None
    found = audit(instance, allocate(instance, mechanism), [property], **how).iloc[0]
    broken = found["holds"] is False
    verdict = Verdict.REFUTED if broken else Verdict.HOLDS
    return Answer(verdict, str(found["witness"]), why, count=1, witness=in_words(instance))


def integers(
    rng: np.random.Generator,
    *,
    users: tuple[int, int] = (2, 6),
    servers: tuple[int, int] = (1, 1),
    resources: tuple[int, int] = (1, 4),
    zeros: float = 0.0,
    **how: Any,
) -> Instance:
    """Return a small random instance of whole numbers, of which some demands may be 0."""
    n, k, r = (int(rng.integers(low, high + 1)) for low, high in (users, servers, resources))
    demands = rng.integers(1, 10, (n, r)).astype(float)
    if zeros:
        absent = rng.random((n, r)) < zeros
        absent[np.arange(n), rng.integers(0, r, n)] = False
        demands[absent] = 0
    capacities = rng.integers(20, 100, (k, r)).astype(float)
    return Instance.from_arrays(demands, capacities, **how)
