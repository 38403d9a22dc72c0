"""Papers and their items: each statement, and the function that computes it again."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np

from fairlp import Instance, allocate, audit, auditing, counterexample

from ..runner import run_calls
from .golden import other_than
from .verdicts import Agreement, ItemAnswer, holds, in_words, not_checkable, on_instance, shown


class Scale(StrEnum):
    """The number of random draws: a size for every day, or the paper's."""

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
        Of the item, so that each item draws other numbers.
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
        """Random numbers of the item, the same at each call."""
        return np.random.default_rng([self.seed, zlib.crc32(self.key.encode())])


#: A function that computes an item again.
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
        The statement of the paper.
    function : callable
        Computes it again: :class:`Run` → :class:`~fairlp_research.papers.ItemAnswer`.
    of : tuple of str
        Mechanisms that the statement is of: where what is computed is another, the item *differs*.
    """

    paper: Paper
    item: str
    says: str
    function: Computes
    of: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Paper and item in one."""
        return f"{self.paper.number} {self.item}"

    def compute(self, run: Run) -> ItemAnswer:
        """Return the answer, computed again."""
        for other in filter(None, map(other_than, self.of)):
            return ItemAnswer(Agreement.DIFFERS, other)
        return self.function(replace(run, key=self.key))


@dataclass(frozen=True)
class Paper:
    """A paper and its items; a paper of yours is computed again, judged and printed as ours are.

    Parameters
    ----------
    number : str
        The name in tables and commands.
    title : str
        Authors, title, place and year.
    names : tuple of str
        Other names.

    Examples
    --------
    >>> from fairlp import allocate, examples
    >>> from fairlp_research import papers
    >>> paper = papers.Paper("ghodsi-2011", "A. Ghodsi et al., Dominant Resource Fairness, NSDI 2011")
    >>> @paper.item("§4.1, example", "A runs 3 tasks, and B 2")
    ... def example(run):
    ...     return papers.beside({"tasks of A": 3, "tasks of B": 2}, allocate(examples.ghodsi(), "drf").totals)
    >>> papers.reproduce(paper)
    <Ledger: 1 item, equal 1>
    """

    number: str
    title: str
    names: tuple[str, ...] = ()
    items: dict[str, Item] = field(default_factory=dict, init=False, repr=False, compare=False)

    def item(self, item: str, says: str, *of: str) -> Callable[[Computes], Computes]:
        """Return a decorator that makes a function an item.

        Parameters
        ----------
        item : str
            The paper's name of it, such as ``Figure 1`` or ``§4, strategy-proofness``.
        says : str
            The statement of the paper.
        *of : str
            Mechanisms that it is of, where the property may hold of others, too.

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

        def registered(function: Computes) -> Computes:
            self.items[item] = Item(self, item, says, function, of)
            return function

        return registered

    def statement(
        self, item: str, says: str, draw: Draw, *, of: Sequence[str] = (), **how: Any
    ) -> Callable[[Check], Check]:
        """Return a decorator that makes a check of one instance an item for a theorem.

        Parameters
        ----------
        item, says : str
        draw : callable
            NumPy generator → instance; :func:`integers` is one.
        of : sequence of str
            Mechanisms that it is of, as in :meth:`item`.
        how
            ``few=`` and ``many=``: instances at the reduced scale (20) and at the paper's (1,000);
            ``why=``: a remark.

        Returns
        -------
        callable
            A decorator of a function of an instance. It returns whether the statement holds there,
            or how it fails in words, or None where there is nothing to check (another instance is
            drawn).
        """

        def registered(check: Check) -> Check:
            @self.item(item, says, *of)
            @wraps(check)
            def checked(run: Run) -> ItemAnswer:
                return over(run, draw, check, **how)

            return check

        return registered

    def audited(self, item: str, says: str, mechanism: str, *properties: str, **how: Any) -> None:
        """Register a promise as an item, judged by audits of a mechanism on random instances.

        Parameters
        ----------
        item, says, mechanism : str
        properties : str
            Names of :func:`fairlp.properties`.
        how
            ``lies=True`` for properties that run the mechanism again for each lie: fewer instances;
            ``why=``: a remark.
        """
        self.item(item, says, mechanism)(lambda run: kept(run, mechanism, *properties, **how))

    def shipped(
        self, item: str, says: str, mechanism: str, property: str, why: str = "", **how: Any
    ) -> None:
        """Make a promise that a known instance breaks (:func:`fairlp.counterexample`) an item.

        Parameters
        ----------
        item, says, mechanism, property, why : str
        how
            ``missing=True`` where the paper itself says that the property is missing; options of
            :func:`fairlp.audit`.
        """
        self.item(item, says, mechanism)(lambda run: breaks(mechanism, property, why, **how))

    def uncheckable(self, item: str, says: str, why: str) -> None:
        """Make a statement that no computation can check an item.

        Parameters
        ----------
        item, says, why : str
        """
        self.item(item, says)(lambda run: not_checkable(why))


# Checks of general statements: on random instances from a seed, or by audits.

#: Number of instances for a statement, by scale.
FEW = 20
MANY = 1000
#: The same for the audits that run a mechanism again for every lie.
FEW_LIES = 5
MANY_LIES = 200

#: The verdict of a check on one instance: true where the statement holds, false or words where the
#: instance breaks it, None where there is nothing to check.
CheckAnswer = object
#: A check of a statement on one random instance.
Check = Callable[[Any], CheckAnswer]
#: A function that draws an instance.
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
        # No more draws than are missing, so that several workers check the same instances.
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
                broken.append(told(instance))
    return holds(checked, broken, why)


def told(drawn: object) -> str:
    """Return what was drawn, in words: an instance, or what a statement is about besides.

    >>> told((np.eye(2), 0.5))
    '1, 0; 0, 1; 0.5'
    """
    if isinstance(drawn, Instance):
        return in_words(drawn)
    if isinstance(drawn, tuple):
        return "; ".join(told(part) for part in drawn if not isinstance(part, np.random.Generator))
    return shown(drawn)


def kept(
    run: Run, mechanism: str, *properties: str, lies: bool = False, why: str = ""
) -> ItemAnswer:
    """Return whether a mechanism keeps properties on random instances.

    The instances meet the conditions of the properties. Properties about ``lies`` are audited on
    fewer instances.
    """
    count = run.of(FEW_LIES, MANY_LIES) if lies else run.of(FEW, MANY)
    total = 0
    messages = []
    for name in properties:
        audited, broken, *_ = auditing.count_broken(mechanism, name, count, run.seed)
        total += audited
        messages += [f"{name}: {broken} of {audited}"] * broken
    remarks = [why] if why else []
    if len(properties) > 1:
        remarks.insert(0, f"{count} instances for each of {len(properties)} properties")
    return holds(total, messages, "; ".join(remarks))


def breaks(
    mechanism: str, property: str, why: str = "", *, missing: bool = False, **how: Any
) -> ItemAnswer:
    """Return *refuted* where an audit finds that the counterexample of fairlp breaks a property.

    Where the paper says that the property is ``missing``, the statement then *holds*.
    """
    instance = counterexample(mechanism, property)
    assert instance is not None
    verdict = audit(instance, allocate(instance, mechanism), property, **how).iloc[0]
    is_broken = verdict["holds"] is False
    return on_instance(instance, is_broken, verdict["witness"], why, missing=missing)


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
        The fraction of demands that are 0; each user keeps a positive demand.
    how
        More arguments of :meth:`fairlp.Instance.from_arrays`.

    Returns
    -------
    Instance
    """
    n_users = rng.integers(users[0], users[1] + 1)
    n_servers = rng.integers(servers[0], servers[1] + 1)
    n_resources = rng.integers(resources[0], resources[1] + 1)
    demands = rng.integers(1, 10, (n_users, n_resources)).astype(float)
    if zeros:
        is_zero = rng.random((n_users, n_resources)) < zeros
        is_zero[np.arange(n_users), rng.integers(0, n_resources, n_users)] = False
        demands[is_zero] = 0
    capacities = rng.integers(20, 100, (n_servers, n_resources)).astype(float)
    return Instance.from_arrays(demands, capacities, **how)
