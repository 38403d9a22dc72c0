"""Mechanism × property: promises of the literature, results of audits, counterexamples."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any, NamedTuple, Unpack

import numpy as np
import pandas as pd

from ..api import allocate
from ..errors import FairlpError, UnknownNameError, quoted, require_known
from ..keywords import lists
from ..mechanisms.mechanism import Mechanism
from ..mechanisms.table import TABLE, find as find_mechanism
from ..models.instances.arithmetic import tasks_alone
from ..models.instances.instance import Instance
from ..models.instances.rounds import rounds_of
from ..progress import progress_bar
from .audits import audit
from .properties import DYNAMIC, PROPERTIES, known, table
from .search import CounterexampleOptions, Search, letters, random_past

__all__ = ["count_broken"]

# Claims: what a row of the table says of a mechanism, under which condition, and what an instance
# says of a claim.


def _busy_at_most(instance: Instance) -> bool:
    """Whether no user, with its part of every server, would be busy for more than all its time."""
    weights = instance.weights.reshape(len(instance.users), -1)
    parts = weights / weights.sum(axis=0)
    tasks_of_all_servers = tasks_alone(instance.demands, instance.total_capacities)
    copies = tasks_of_all_servers * (instance.gamma() > 0)
    busy_time = parts * copies.sum(axis=1, keepdims=True)
    return bool((busy_time <= 1).all())


def _one_server_a_round(instance: Instance) -> bool:
    """Whether no round has more than one server; without rounds, whether there is only one."""
    return bool((rounds_of(instance).belongs @ instance.counts <= 1).all())


#: what a claim may be under → whether an instance is so
CONDITIONS: dict[str, Callable[[Instance], bool]] = {
    "all demands are positive": lambda instance: bool((instance.demands > 0).all()),
    "an equal part keeps no job busy for more than all its time": _busy_at_most,
    "a task needs at most one unit of each resource": lambda instance: bool(
        np.isin(instance.demands, (0, 1)).all()
    ),
    "anyone may run anywhere": lambda instance: not instance.has_constraints,
    "all weights are equal": lambda instance: bool(np.ptp(instance.weights, axis=0).max() == 0),
    "all run on one server": lambda instance: instance.n_servers == 1,
    "each round has one server": _one_server_a_round,
    "no entitlements are given": lambda instance: instance.entitlements is None,
    "no queue has a guarantee or a cap": lambda instance: not instance.tree.has_limits,
    "no rates are given": lambda instance: not instance.has_rates,
    "no resource has several flavors": lambda instance: (
        instance.tree.quotas is None or not instance.quotas.has_flavors
    ),
    "no user has a task limit": lambda instance: bool(np.isinf(instance.task_limits).all()),
}


def _credits_for_all(instance: Instance, options: Mapping[str, Any]) -> bool:
    """Whether the users' credits of an earlier quantum are at least as many as there are slices."""
    state = options.get("state")
    slices = tasks_alone(instance.demands, instance.total_capacities).sum(axis=1).max()
    return state is None or bool((state >= slices).all())


#: the same of an instance and options of the mechanism
OPTION_CONDITIONS: dict[str, Callable[[Instance, Mapping[str, Any]], bool]] = {
    "no past counts": lambda instance, options: options.get("state") is None,
    "no earlier progress counts": lambda instance, options: options.get("earlier_progress") is None,
    "every user has a credit for each slice": _credits_for_all,
}
_OURS = " (ours)"
#: source of what is proved here and nowhere else
OUR_RESULTS = "fairlp, docs/results.md"


class Claim(NamedTuple):
    """A property that a source promises of a mechanism.

    Attributes
    ----------
    property_name : str
    conditions : tuple of str
        Names of :data:`CONDITIONS` and :data:`OPTION_CONDITIONS`; all must be met.
    source : str
        Who says so.
    """

    property_name: str
    conditions: tuple[str, ...] = ()
    source: str = ""

    @classmethod
    def of(cls, text: str, source: str) -> Claim:
        """Return the claim of a row: "PROPERTY [if CONDITION [and CONDITION …]] [(ours)]".

        >>> Claim.of("population-monotonic if all demands are positive", "a paper")
        Claim(property_name='population-monotonic', conditions=('all demands are positive',), source='a paper')
        """
        is_own = text.endswith(_OURS)
        name, _, condition = text.removesuffix(_OURS).partition(" if ")
        conditions = tuple(condition.split(" and ")) if condition else ()
        for condition_name in conditions:
            names = [*CONDITIONS, *OPTION_CONDITIONS]
            require_known(condition_name, names, f"no condition is called {condition_name!r}")
        return cls(known(name), conditions, OUR_RESULTS if is_own else source)

    @property
    def condition(self) -> str:
        """The conditions in words, empty where there is none."""
        return " and ".join(self.conditions)

    def covers(self, instance: Instance, options: Mapping[str, Any] | None = None) -> bool:
        """Whether instance and options meet all conditions, so that the claim is about them."""
        return all(
            CONDITIONS[name](instance)
            if name in CONDITIONS
            else OPTION_CONDITIONS[name](instance, options or {})
            for name in self.conditions
        )

    def standing(self, counterexample: Instance | None) -> str:
        """Return what an instance that breaks the property leaves of the claim."""
        if counterexample is None:
            return "stands"
        return "refuted" if self.covers(counterexample) else "stands under its condition"


def claims(row: Mechanism) -> dict[str, Claim]:
    """Return property → claim of a row of the table."""
    try:
        listed = [Claim.of(text, row.source) for text in row.promises]
    except UnknownNameError as error:
        raise UnknownNameError(f"promises of mechanism {row.name!r}: {error}") from None
    return {claim.property_name: claim for claim in listed}


#: The properties that mechanisms may promise, in the order of the table of properties.
COLUMNS = (
    *(name for name, row in PROPERTIES.items() if row.promised and not row.answer_of),
    *DYNAMIC,
)
#: Files of ours: counterexamples that ship, and what depends on the options of a mechanism.
SHIPPED = "counterexamples.json"
BY_OPTION = "by_option.json"
#: Random instances behind each promise: benchmarks/audits.py writes them, and none broke it.
AUDITED = "audited.json"
#: Instances that are drawn for one that an audit can say something of, at most.
MOST_DRAWN = 200
#: Lies that are tried on a random instance, and on one that ships.
LIES = 30
LIES_ON_SHIPPED = 100
#: Properties that some mechanisms break on so few random instances (one of 70) that audits of them
#: begin with the instances that ship: each mechanism that is known to break them is seen to.
CONTROLLED = ("strategy-proof", "group strategy-proof", "Pareto-optimal")


_PROMISE_COLUMNS = [
    "promised",
    "source",
    "condition",
    "standing",
    "instances",
    "audited",
    "broken",
    "failed",
    "counterexample",
    "by_option",
]


def properties() -> pd.DataFrame:
    """Return the properties of audits: statement, source, whether the mechanism is run again.

    Returns
    -------
    DataFrame
        Indexed by property: ``asks``, ``source`` and ``reruns``.

    Examples
    --------
    >>> "envy-free" in properties().index
    True
    """
    return table()


def promises(
    audits: int = 0,
    *,
    seed: int = 0,
    mechanisms: Sequence[str | Mechanism] | None = None,
    generator: Callable[[np.random.Generator], Instance] | None = None,
    time_limit: float | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Return the properties that mechanisms promise, and what shows that they keep or break them.

    Parameters
    ----------
    audits : int
        Random instances to audit for each promise, now, all of which meet its condition; 0 reads
        the table only.
    seed : int
    mechanisms : sequence of (str or Mechanism), optional
        By default all that have promises or counterexamples.
    generator : callable, optional
        NumPy generator → Instance: what is audited in place of random small instances.
    time_limit : float, optional
        Seconds after which no other instance is audited; a warning says what was not.
    progress : bool, optional
        False hides the progress (a bar in a terminal or notebook, lines elsewhere).

    Returns
    -------
    DataFrame
        Indexed by mechanism and property:

        * ``promised``: whether a source says so, ``source``: which, ``condition``: under which
          condition;
        * ``standing``: "stands", "stands under its condition" (an instance breaks the property and
          does not meet the condition), "refuted" (an instance that ships breaks the promise), or
          "not promised". With audits also "broken by audits", and where none could be made why,
          such as "0 of 200 instances in its domain" or "failed on all of 47 instances";
        * ``instances``: random instances with something to check behind the promise, none of which
          breaks it (those of the release, and those audited now);
        * ``audited``: random instances with something to check, ``broken``: on how many of them it
          was broken (of lies and of Pareto-optimality also: of the instances that ship on which
          other mechanisms break it), ``failed``: on how many others the mechanism, or the audit,
          ended with an error;
        * ``counterexample``: the name of one that ships (:func:`counterexample` loads it);
        * ``by_option``: all that is about the mechanism as it is by default; here, where that
          depends on an option, for which of its values the property holds, and for which an
          instance ships that breaks it.

    Examples
    --------
    >>> import fairlp
    >>> fairlp.promises(mechanisms=["drf"]).loc[("drf", "population-monotonic"), ["condition", "standing"]].tolist()
    ['all demands are positive and no queue has a guarantee or a cap', 'stands under its condition']
    """
    names = (
        list(TABLE) if mechanisms is None else [find_mechanism(name).name for name in mechanisms]
    )
    pairs = product(names, COLUMNS)
    claims_by_pair = {pair: _claim(*pair) for pair in pairs if fits(*pair)}
    promised = sum(map(bool, claims_by_pair.values()))

    rows = {}
    audited_less = 0
    search = Search(seed=seed, everything=True, generator=generator, time_limit=time_limit)
    with progress_bar("promises", audits * promised, 0, progress) as count_done:
        for (name, property_name), claim in claims_by_pair.items():
            broken_by = _loaded(name, property_name)
            if claim is None and broken_by is None:
                continue
            standing = "not promised"
            tally = Tally()
            if claim is not None:
                tally = count_broken(name, property_name, audits, seed, search, count_done)
                audited_less += tally.audited < audits
                standing = claim.standing(broken_by)
                if audits:
                    standing = tally.standing(standing)
            rows[name, property_name] = {
                "promised": claim is not None,
                "source": claim.source if claim else "",
                "condition": claim.condition if claim else "",
                "standing": standing,
                "instances": behind(name, property_name) + tally.audited * (not tally.broken),
                "audited": tally.audited,
                "broken": tally.broken,
                "failed": tally.failed,
                "counterexample": broken_by.name if broken_by else "",
                "by_option": by_option(name, property_name),
            }
    if search.time_is_up and audited_less:
        search.warn(
            f"{audited_less} of {promised} promises were audited on fewer than {audits} instances"
        )
    index = pd.MultiIndex.from_tuples(rows, names=["mechanism", "property"])
    return pd.DataFrame(list(rows.values()), index=index, columns=_PROMISE_COLUMNS)


def fits(mechanism: str, property_name: str) -> bool:
    """Whether the property is asked of such a mechanism at all."""
    row = TABLE[mechanism]
    if property_name in DYNAMIC or row.arrivals:
        return property_name in DYNAMIC and row.arrivals
    property_row = PROPERTIES[property_name]
    fits_tree = row.along_tree or not property_row.tree
    return fits_tree and (row.whole_tasks or not property_row.whole_only)


def _claim(mechanism: str, property_name: str) -> Claim | None:
    """Return the claim that the mechanism has the property: its row's, or a refuted source's."""
    row = claims(TABLE[mechanism])
    source = entries(SHIPPED).get((mechanism, property_name), {}).get("claimed", "")
    return row.get(property_name) or (Claim(property_name, source=source) if source else None)


@lists(CounterexampleOptions)
def counterexample(
    mechanism: str | Mechanism,
    property: str,
    *,
    search: bool = False,
    **how: Unpack[CounterexampleOptions],
) -> Instance | None:
    """Return the smallest known instance on which the mechanism breaks the property, or search.

    Parameters
    ----------
    mechanism : str or Mechanism
    property : str
        Names from :func:`fairlp.mechanisms` and :func:`fairlp.properties`.
    search : bool
        Look at random small instances instead of those that ship, and simplify what is found. None
        when nothing was found, which proves nothing.
    **how
        Of the search: ``seed`` (the same finds the same instance), ``tries`` (instances to look at,
        1000), ``users``, ``servers``, ``resources`` (largest sizes: 4, 3, 3), ``lies`` (tried on
        each, for strategy-proofness, 60), ``shrink`` (True), ``everything`` (False: draw given rates,
        and guarantees and caps of queues, too), ``options`` (of the mechanism),
        ``generator`` (NumPy generator → Instance, in place of random small instances),
        ``time_limit`` (seconds; a warning says what was not looked at) and ``progress``
        (False hides it). Without ``search``,
        ``options`` choose among the instances that ship for a mechanism with such options.

    Returns
    -------
    Instance or None

    Raises
    ------
    UnknownNameError
        When no such instance ships.

    Examples
    --------
    >>> import fairlp
    >>> instance = fairlp.counterexample("naive-drf", "Pareto-optimal", search=True)
    >>> len(instance.users), len(instance.servers), len(instance.resources)
    (2, 2, 2)
    """
    mechanism = find_mechanism(mechanism).name
    if search:
        return Search(**how).run(mechanism, property).instance
    property_name = known(property)
    if set(how) == {"options"}:
        return _with_options(mechanism, property_name, how["options"])
    instance = _loaded(mechanism, property_name)
    if instance is None:
        raise UnknownNameError(
            f"no instance is known on which {quoted(mechanism)} breaks {quoted(property)}; search=True "
            "(--search) searches for one"
        )
    if how:
        raise UnknownNameError(f"option {next(iter(how))!r} is one of the search; give search=True")
    return instance


@cache
def _controls(property_name: str) -> tuple[Instance, ...]:
    """Return the instances that ship on which some mechanism breaks a property that is rare."""
    broken = [name for name, other in entries(SHIPPED) if other == property_name]
    instances = [_loaded(name, property_name) for name in broken if property_name in CONTROLLED]
    return tuple(instance for instance in instances if instance is not None)


def _loaded(mechanism: str, property_name: str) -> Instance | None:
    """Return the counterexample that ships, None where there is none."""
    if (mechanism, property_name) not in entries(SHIPPED):
        return None
    entry = entries(SHIPPED)[mechanism, property_name]
    return _instance_of(entry, f"{mechanism} breaks {property_name}")


def _instance_of(entry: Mapping[str, Any], name: str) -> Instance:
    """Return the instance of an entry: its arrays."""
    arrays = {key: value for key, value in entry.items() if key not in ("claimed", "options")}
    if "task_limits" in arrays:
        arrays["task_limits"] = [
            np.inf if value is None else value for value in arrays["task_limits"]
        ]
    return Instance.from_arrays(**arrays, users=letters(len(arrays["demands"])), name=name)


@cache
def entries(file: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Return (mechanism, property) → what a file of ours says of it.

    ``counterexamples.json`` has the instances that ship (`benchmarks/audits.py --write` keeps them).
    ``by_option.json`` has for which options the property ``holds``, in words; options with which
    audits find it ``kept``, under ``conditions``; options and instances on which it is ``broken``.
    """
    text = files(__package__).joinpath(file).read_text(encoding="utf-8")
    return {(entry.pop("mechanism"), entry.pop("property")): entry for entry in json.loads(text)}


def behind(mechanism: str, property_name: str) -> int:
    """Return on how many random instances the promise was audited for this release.

    >>> behind("drf", "envy-free") > 10
    True
    """
    return int(entries(AUDITED).get((mechanism, property_name), {}).get("instances", 0))


def by_option(mechanism: str, property_name: str) -> str:
    """Return the values of options for which the mechanism has the property, if they matter.

    >>> by_option("alpha-fair", "envy-free")
    'alpha >= 1; no: alpha = 0.5'
    """
    entry = entries(BY_OPTION).get((mechanism, property_name), {"holds": "", "broken": ()})
    broken = ", ".join(_spelt(case["options"]) for case in entry["broken"])
    return f"{entry['holds']}; no: {broken}" if broken else str(entry["holds"])


def _with_options(mechanism: str, property_name: str, options: Mapping[str, Any]) -> Instance:
    """Return the shipped instance on which the mechanism with these options breaks it."""
    broken = entries(BY_OPTION).get((mechanism, property_name), {"broken": ()})["broken"]
    for case in broken:
        if _spelt(case["options"]) == _spelt(options):
            name = f"{mechanism} with {_spelt(options)} breaks {property_name}"
            return _instance_of(case, name)
    raise UnknownNameError(
        f"no instance is known on which {quoted(mechanism)} with {_spelt(options) or 'no options'} breaks "
        f"{quoted(property_name)}; search=True (--search) searches for one"
    )


def _spelt(options: Mapping[str, Any]) -> str:
    """Return options as text, whole numbers without a point."""
    return ", ".join(
        f"{name} = {value:g}" if isinstance(value, int | float) else f"{name} = {value}"
        for name, value in sorted(options.items())
    )


class Tally(NamedTuple):
    """What audits of random instances came to.

    Attributes
    ----------
    audited, broken : int
        Random instances with something to check; and on how many of them, or of those that ship,
        the property was broken.
    fit, drawn : int
        Instances that met the condition, of all that were drawn.
    failed : int
        Of those that met the condition, on how many the mechanism or the audit ended with an error.
    error : str
        The first of these errors.
    """

    audited: int = 0
    broken: int = 0
    fit: int = 0
    drawn: int = 0
    failed: int = 0
    error: str = ""

    def standing(self, listed: str) -> str:
        """Return what audits leave of what the table lists."""
        if listed == "refuted":
            return listed
        if self.broken:
            return "broken by audits"
        if self.audited:
            return listed
        if not self.drawn:
            return "not audited: the time was up"
        if self.failed == self.fit > 0:
            return f"failed on all of {self.fit} instances: {self.error}"
        if self.failed:
            return (
                f"failed on {self.failed} of {self.fit} instances, and nothing to check on the "
                f"others: {self.error}"
            )
        some = f"nothing to check on {self.fit}" if self.fit else "0"
        return f"{some} of {self.drawn} instances in its domain"


def count_broken(
    mechanism: str,
    property_name: str,
    audits: int,
    seed: int,
    search: Search | None = None,
    count_done: Callable[[int], None] = lambda count: None,
) -> Tally:
    """Return how many random instances were audited, and on how many the property was broken.

    They meet the condition under which the property is promised, and those of which there is
    nothing to check, or for which the mechanism is not defined, do not count. Those on which it
    fails are counted by themselves. Where the property is one of ``CONTROLLED``, the instances
    that ship on which others break it are audited first; only those that break it count.
    """
    rng = np.random.default_rng(seed)
    row = find_mechanism(mechanism)
    claim = _claim(mechanism, property_name) or Claim(property_name)
    search = search or Search(everything=True)

    def finding_on(instance: Instance, options: Mapping[str, Any], tries: int) -> pd.Series[Any]:
        with warnings.catch_warnings(action="ignore"):
            allocation = allocate(instance, mechanism, **options)
            remaining = search.deadline.remaining
            findings = audit(
                instance, allocation, [property_name], tries=tries, time_limit=remaining
            )
        return findings.iloc[0]

    audited = broken = fit = drawn = failed = 0
    first_error = ""
    for instance in _controls(property_name) if audits and search.generator is None else ():
        if search.time_is_up:
            break
        if row.undefined(instance) is None and claim.covers(instance):
            with suppress(FairlpError):
                broken += finding_on(instance, {}, LIES_ON_SHIPPED)["holds"] is False
    while drawn < MOST_DRAWN * audits and audited < audits and not search.time_is_up:
        instance = search.draw(rng, row, property_name)
        drawn += 1
        if row.undefined(instance):
            continue
        past = random_past(rng, row, instance)
        options = past if claim.covers(instance, past) else {}
        if not claim.covers(instance, options):
            continue
        fit += 1
        try:
            finding = finding_on(instance, options, LIES)
        except FairlpError as error:
            failed += 1
            first_error = first_error or str(error)
            continue
        if np.isnan(finding["margin"]):
            continue
        if search.time_is_up and finding["holds"] is not False:  # not all lies were tried
            break
        audited += 1
        broken += finding["holds"] is False
        count_done(1)
    count_done(audits - audited)
    return Tally(audited, broken, fit, drawn, failed, first_error)
