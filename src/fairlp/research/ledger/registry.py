"""The ledger's items: what each paper has, and the function that computes it again."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np

from ...api import allocate
from ...auditing import audit
from ...auditing.promises import count_broken, counterexample
from ...models.instances.instance import Instance
from ..running import run_calls
from .verdicts import ItemAnswer, holds, in_words, not_checkable, on_instance


class Scale(StrEnum):
    """How large what is drawn at random is: a size for every day, or the paper's."""

    REDUCED = "reduced"
    PAPER = "paper"


@dataclass(frozen=True)
class Run:
    """The scale of an item, the seed of its random numbers, and the folder of finished runs.

    Attributes
    ----------
    scale : Scale
    seed : int
    folder : Path or None
        Where studies and simulations keep finished runs, so that an item that was stopped goes on.
    progress : bool or None
    key : str
        Of the entry, so that each draws numbers of its own.
    """

    scale: Scale = Scale.REDUCED
    seed: int = 0
    folder: Path | None = None
    progress: bool | None = False
    key: str = ""

    def of(self, reduced: int, paper: int) -> int:
        """Return the number of runs or instances of this scale.

        Parameters
        ----------
        reduced, paper : int

        Returns
        -------
        int
        """
        return paper if self.scale is Scale.PAPER else reduced

    @property
    def rng(self) -> np.random.Generator:
        """Random numbers from the entry's own beginning, the same at each call."""
        return np.random.default_rng([self.seed, zlib.crc32(self.key.encode())])


#: What computes an item again.
Computes = Callable[[Run], ItemAnswer]


@dataclass(frozen=True)
class Item:
    """One item of a paper.

    Attributes
    ----------
    paper : Paper
    item : str
        As the paper calls it.
    says : str
        What the paper says.
    function : callable
        Computes it again: :class:`Run` → :class:`~fairlp.ledger.ItemAnswer`.
    """

    paper: Paper
    item: str
    says: str
    function: Computes

    @property
    def key(self) -> str:
        """Paper and item in one."""
        return f"{self.paper.number} {self.item}"

    def compute(self, run: Run) -> ItemAnswer:
        """Return what comes of it."""
        return self.function(replace(run, key=self.key))


@dataclass(frozen=True)
class Paper:
    """A paper and its items; yours is computed again, judged and printed as ours are.

    Parameters
    ----------
    number : str
        The name that it has in tables and commands.
    title : str
        Authors, title, place and year.
    names : tuple of str
        Other names that it goes by.

    Examples
    --------
    >>> from fairlp import allocate, examples, ledger
    >>> paper = ledger.Paper("ghodsi-2011", "A. Ghodsi et al., Dominant Resource Fairness, NSDI 2011")
    >>> @paper.item("§4.1, example", "A runs 3 tasks, and B 2")
    ... def example(run):
    ...     return ledger.beside({"tasks of A": 3, "tasks of B": 2}, allocate(examples.ghodsi(), "drf").totals)
    >>> ledger.reproduce(paper)
    <Ledger: 1 item, equal 1>
    """

    number: str
    title: str
    names: tuple[str, ...] = ()
    items: dict[str, Item] = field(default_factory=dict, init=False, repr=False, compare=False)

    def item(self, item: str, says: str) -> Callable[[Computes], Computes]:
        """Return what makes an item of a function.

        Parameters
        ----------
        item : str
            What the paper calls it, such as ``Figure 1`` or ``§4, strategy-proofness``.
        says : str
            What the paper says.

        Returns
        -------
        callable
            A decorator of a function from a :class:`Run` to an :class:`ItemAnswer`.

        Raises
        ------
        ValueError
            When the paper has an item of this name.
        """
        if item in self.items:
            raise ValueError(f"paper {self.number!r} has an item {item!r} already")

        def made(function: Computes) -> Computes:
            self.items[item] = Item(self, item, says, function)
            return function

        return made

    def statement(self, item: str, says: str, draw: Draw, **how: Any) -> Callable[[Check], Check]:
        """Return what makes an item of a theorem, from a check of one instance.

        Parameters
        ----------
        item, says : str
        draw : callable
            NumPy generator → instance; :func:`integers` is one.
        how
            ``few=`` and ``many=``: instances at the reduced scale (20) and at the paper's (1,000);
            ``why=``: a remark.

        Returns
        -------
        callable
            A decorator of a function of an instance. It returns whether the statement holds there,
            or words that tell how it fails, or None where there is nothing to check (another
            instance is drawn).
        """

        def made(check: Check) -> Check:
            @self.item(item, says)
            @wraps(check)
            def checked(run: Run) -> ItemAnswer:
                return over(run, draw, check, **how)

            return check

        return made

    def audited(self, item: str, says: str, mechanism: str, *properties: str, **how: Any) -> None:
        """Make an item of a promise: on random instances audits find that a mechanism keeps properties.

        Parameters
        ----------
        item, says, mechanism : str
        properties : str
            Names of :func:`fairlp.properties`.
        how
            ``lies=True`` for properties that run the mechanism again for each lie: fewer instances;
            ``why=``: a remark.
        """
        self.item(item, says)(lambda run: kept(run, mechanism, *properties, **how))

    def shipped(
        self, item: str, says: str, mechanism: str, property: str, why: str = "", **how: Any
    ) -> None:
        """Make an item of a promise that a known instance breaks (:func:`fairlp.counterexample`).

        Parameters
        ----------
        item, says, mechanism, property, why : str
        how
            ``missing=True`` where the paper itself says that the property is missing; options of
            :func:`fairlp.audit`.
        """
        self.item(item, says)(lambda run: breaks(mechanism, property, why, **how))

    def uncheckable(self, item: str, says: str, why: str) -> None:
        """Make an item of what cannot be checked by computation.

        Parameters
        ----------
        item, says, why : str
        """
        self.item(item, says)(lambda run: not_checkable(why))


# How a statement that holds in general is checked: on random instances from a seed, or by the
# audits.

#: Instances that a statement is checked on, by scale.
FEW, MANY = 20, 1000
#: The same for the audits that run a mechanism again for every lie.
FEW_LIES, MANY_LIES = 5, 200

#: What a check says of one drawn instance: true where the statement holds, false or words where the
#: instance breaks it, None where there is nothing to check.
Told = object
#: What checks a statement on one drawn instance.
Check = Callable[[Any], Told]
#: What draws an instance.
Draw = Callable[[np.random.Generator], Any]


def over(
    run: Run, draw: Draw, check: Check, *, few: int = FEW, many: int = MANY, why: str = ""
) -> ItemAnswer:
    """Return whether a statement holds on random instances.

    Instances with nothing to check are drawn again.
    """
    rng = run.rng
    count = run.of(few, many)
    draws_left = 20 * count
    checked = 0
    broken = []
    while checked < count and draws_left > 0:
        # No more draws than are missing, so that a check of several workers sees the same instances.
        instances = [draw(rng) for _ in range(min(count - checked, draws_left))]
        draws_left -= len(instances)
        calls = [(instance,) for instance in instances]
        verdicts = dict(run_calls(run.key, check, calls, progress=run.progress))
        for position, instance in enumerate(instances):
            verdict = verdicts[position]
            if verdict is None:
                continue
            checked += 1
            if isinstance(verdict, str):
                broken.append(verdict)
            elif not verdict:
                broken.append(in_words(instance))
    return holds(checked, broken, why)


def kept(
    run: Run, mechanism: str, *properties: str, lies: bool = False, why: str = ""
) -> ItemAnswer:
    """Return whether audits find a mechanism to keep properties on random instances that meet their conditions."""
    count = run.of(FEW_LIES, MANY_LIES) if lies else run.of(FEW, MANY)
    total, wrong = 0, []
    for name in properties:
        audited, broken, *_ = count_broken(mechanism, name, count, run.seed)
        total += audited
        wrong += [f"{name}: {broken} of {audited}"] * broken
    each = (
        f"{count} instances for each of {len(properties)} properties" if len(properties) > 1 else ""
    )
    return holds(total, wrong, "; ".join(filter(None, [each, why])))


def breaks(
    mechanism: str, property: str, why: str = "", *, missing: bool = False, **how: Any
) -> ItemAnswer:
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
    """Return a small random instance of whole numbers.

    Parameters
    ----------
    rng : Generator
    users, servers, resources : tuple of int
        At least and at most so many.
    zeros : float
        The part of demands that is 0; each user demands something.
    how
        More arguments of :meth:`fairlp.Instance.from_arrays`.

    Returns
    -------
    Instance
    """
    n, k, r = (rng.integers(low, high + 1) for low, high in (users, servers, resources))
    demands = rng.integers(1, 10, (n, r)).astype(float)
    if zeros:
        absent = rng.random((n, r)) < zeros
        absent[np.arange(n), rng.integers(0, r, n)] = False
        demands[absent] = 0
    capacities = rng.integers(20, 100, (k, r)).astype(float)
    return Instance.from_arrays(demands, capacities, **how)
