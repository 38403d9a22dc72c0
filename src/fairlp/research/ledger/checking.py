"""How a statement that holds in general is checked: on random instances from a seed, or by the audits."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ...api import allocate
from ...auditing import audit
from ...auditing.promises import count_broken, counterexample
from ...models.instances.instance import Instance
from ...progress import progress_bar
from .registry import Run, entry
from .verdicts import Answer, holds, in_words, not_checkable, on_instance

#: Instances that a statement is checked on, by scale.
FEW, MANY = 20, 1000
#: The same for the audits that run a mechanism again for every lie.
FEW_LIES, MANY_LIES = 5, 200

#: What a check says of one drawn instance: true where the statement holds, false or words where the instance breaks it,
#: None where there is nothing to check.
Told = object
#: What draws an instance.
Draw = Callable[[np.random.Generator], Any]


def over(
    run: Run, draw: Draw, check: Callable[[Any], Told], *, few: int = FEW, many: int = MANY, why: str = ""
) -> Answer:
    """Return whether a statement holds on random instances; those with nothing to check are drawn again."""
    rng, count = run.rng, run.of(few, many)
    broken: list[str] = []
    done = 0
    with progress_bar(run.key, count, 0, run.progress) as advance:
        for _ in range(20 * count):
            if done == count:
                break
            drawn = draw(rng)
            told = check(drawn)
            if told is None:
                continue
            done += 1
            advance()
            if isinstance(told, str):
                broken.append(told)
            elif not told:
                broken.append(in_words(drawn))
    return holds(done, broken, why)


def statement(
    paper: str, item: str, says: str, draw: Draw, **how: Any
) -> Callable[[Callable[[Any], Told]], Callable[[Any], Told]]:
    """Return what makes an entry of a check of one instance: it is done on random ones, as by ``over``."""

    def made(check: Callable[[Any], Told]) -> Callable[[Any], Told]:
        @entry(paper, item, says)
        @wraps(check)
        def checked(run: Run) -> Answer:
            return over(run, draw, check, **how)

        return check

    return made


def audited(paper: str, item: str, says: str, mechanism: str, *properties: str, **how: Any) -> None:
    """Make an entry of a promise: audits find a mechanism to keep the properties, as by ``kept``."""
    entry(paper, item, says)(lambda run: kept(run, mechanism, *properties, **how))


def shipped(paper: str, item: str, says: str, mechanism: str, property: str, why: str = "", **how: Any) -> None:
    """Make an entry of what the counterexample that ships shows, as by ``breaks``."""
    entry(paper, item, says)(lambda run: breaks(mechanism, property, why, **how))


def uncheckable(paper: str, item: str, says: str, why: str) -> None:
    """Make an entry of what is not checkable by computation."""
    entry(paper, item, says)(lambda run: not_checkable(why))


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


def breaks(mechanism: str, property: str, why: str = "", *, missing: bool = False, **how: Any) -> Answer:
    """Return *refuted* where the counterexample that ships breaks a property, as an audit finds it now.

    Where the paper says that the property is ``missing``, the statement then *holds*.
    """
    instance = counterexample(mechanism, property)
    assert instance is not None
    found = audit(instance, allocate(instance, mechanism), property, **how).iloc[0]
    return on_instance(instance, found["holds"] is False, found["witness"], why, missing=missing)


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
    n, k, r = (rng.integers(low, high + 1) for low, high in (users, servers, resources))
    demands = rng.integers(1, 10, (n, r)).astype(float)
    if zeros:
        absent = rng.random((n, r)) < zeros
        absent[np.arange(n), rng.integers(0, r, n)] = False
        demands[absent] = 0
    capacities = rng.integers(20, 100, (k, r)).astype(float)
    return Instance.from_arrays(demands, capacities, **how)
