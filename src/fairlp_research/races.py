"""Max-min fair allocation, exact, and as the systems community approximates it.

Demands d have flows along ways p: traffic along paths over links, or time of a job on kinds of
accelerators. Fair is the leximin of their levels. Beside ``fairlp``'s, in our own writing: SWAN (Hong
et al., SIGCOMM 2013), rounds of programs after Danna, Mandal and Singh (INFOCOM 2012), the geometric
and equi-depth binners and the waterfillers of Soroush (Namyar et al., NSDI 2024), POP (Narayanan et
al., SOSP 2021), and an alternation as DeDe's (OSDI 2025).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from time import process_time
from typing import Any

import numpy as np
import pandas as pd

from fairlp import Index, Instance, Model, allocate, formulate, leximin
from fairlp.errors import SolverError
from fairlp.toolkit import tolerances

NOISE = tolerances.NOISE

#: Factor of one bin to the next, of SWAN and the geometric binner.
ALPHA = 2.0
#: The worth of flow in the last bin of the geometric binner, beside 1 in the first.
LAST_BIN = 1e-8
#: Bins of the equi-depth binner; passes of the adaptive waterfiller, and of the alternation.
BINS = 10
PASSES = 10
ALTERNATIONS = 200
#: A demand is worse off below this part of its exact level.
WORSE = 0.99


class Demands:
    """Demands that are met by flows along ways, which use what has a capacity.

    Attributes
    ----------
    owners : ndarray of int, shape (P,)
        The demand of each way, in order.
    worth : ndarray, shape (P,)
        Level of a unit of flow.
    use : sparse array, shape (E, P)
        What a unit of flow uses.
    capacities : ndarray, shape (E,)
    limits : ndarray, shape (D,)
        The largest sum of a demand's flows.
    units : ndarray, shape (D,)
        Sums of flows that waterfillers take for equal.
    """

    owners: np.ndarray
    worth: np.ndarray
    use: Any
    capacities: np.ndarray
    limits: np.ndarray
    units: np.ndarray

    @cached_property
    def of_demand(self) -> Any:
        """1 where a way is of a demand, sparse, (D, P)."""
        from scipy.sparse import csr_array

        n_ways = len(self.owners)
        shape = (len(self.limits), n_ways)
        return csr_array((np.ones(n_ways), (self.owners, np.arange(n_ways))), shape=shape)

    @cached_property
    def level_of_flow(self) -> Any:
        """The worth where a way is of a demand, sparse, (D, P)."""
        from scipy.sparse import diags_array

        return (self.of_demand @ diags_array(self.worth)).tocsr()

    def levels(self, flows: np.ndarray) -> np.ndarray:
        """Return the level of each demand at flows along ways."""
        return np.asarray(self.level_of_flow @ flows)

    def overuse(self, flows: np.ndarray) -> float:
        """Return by which part a capacity, or the limit of a demand, is exceeded at most."""
        over = self.use @ flows / np.where(self.capacities > 0, self.capacities, 1.0)
        return float(max(over.max(), (self.of_demand @ flows / self.limits).max()) - 1)

    def total(self, flows: np.ndarray) -> float:
        """Return what all demands have together."""
        return float(self.levels(flows).sum())

    def leximin(self) -> tuple[np.ndarray, Callable[[], Any]]:
        """Return the flows of the leximin of levels by fairlp, and what proves them."""
        raise NotImplementedError

    def of_some(self, demands: np.ndarray, part: float) -> Demands:
        """Return some demands on a part of every capacity."""
        raise NotImplementedError


@dataclass(frozen=True)
class Traffic(Demands):
    """Demands of volumes v[d] on paths that share links; a level is flow over volume.

    Attributes
    ----------
    capacities : ndarray, shape (E,)
    volumes : ndarray, shape (D,)
        Above 0.
    paths : sequence of sequences of sequences of int
        For each demand its paths, each a list of links.

    Examples
    --------
    >>> import numpy as np
    >>> both = Traffic(np.array([3.0, 1.0]), np.array([2.0, 2.0]), [[[0], [1]], [[0]]])
    >>> both.levels(exact(both)).round(6).tolist()
    [1.0, 1.0]
    """

    capacities: np.ndarray
    volumes: np.ndarray
    paths: Sequence[Sequence[Sequence[int]]]

    @cached_property
    def owners(self) -> np.ndarray:  # type: ignore[override]
        """The demand of each path."""
        return np.repeat(np.arange(len(self.paths)), [len(paths) for paths in self.paths])

    @cached_property
    def use(self) -> Any:
        """1 where a path uses a link."""
        from scipy.sparse import csr_array

        rows = [links for paths in self.paths for links in paths]
        starts = np.append(0, np.cumsum([len(links) for links in rows]))
        shape = (len(rows), len(self.capacities))
        by_path = csr_array((np.ones(starts[-1]), np.concatenate(rows), starts), shape=shape)
        return by_path.T.tocsr()

    @property
    def limits(self) -> np.ndarray:  # type: ignore[override]
        """Volumes."""
        return self.volumes

    units = limits

    @cached_property
    def worth(self) -> np.ndarray:  # type: ignore[override]
        """1 over the volume."""
        return np.asarray(1 / self.volumes[self.owners])

    def total(self, flows: np.ndarray) -> float:
        """Return the sum of all flows."""
        return float(flows.sum())

    def model(self) -> Model:
        """Return the model whose leximin is fair."""
        p = Index("p", range(len(self.owners)), "path")
        d = Index("d", range(len(self.volumes)), "demand")
        e = Index("e", range(len(self.capacities)), "link")
        model = Model("Traffic", "Danna, Mandal and Singh, INFOCOM 2012", (d, p, e))
        flow = model.variable("f", p, doc="flow on p")
        of = model.parameter("P", (p, d), self.of_demand.T.tocsr(), "1 where p is a path of d")
        on = model.parameter("L", (p, e), self.use.T.tocsr(), "1 where p uses e")
        v = model.parameter("v", d, self.volumes, "volume of d")
        c = model.parameter("c", e, self.capacities, "capacity of e")
        model.constraint("link", (on * flow).sum(p) <= c)
        rate = (of * flow).sum(p)
        model.constraint("volume", rate <= v)
        model.leximin(rate / v)
        return model

    def leximin(self) -> tuple[np.ndarray, Callable[[], Any]]:
        """Return the flows of ``fairlp.leximin``, and what proves them."""
        answer = leximin(self.model())
        return np.asarray(answer.x[: len(self.owners)]), answer.certify

    def of_some(self, demands: np.ndarray, part: float) -> Traffic:
        """Return the traffic of some demands on a part of every capacity."""
        paths = [self.paths[d] for d in demands]
        return Traffic(self.capacities * part, self.volumes[demands], paths)


@dataclass(frozen=True)
class Jobs(Demands):
    """Jobs that divide their time among kinds of accelerators; levels are those of ``gavel``.

    Attributes
    ----------
    instance : Instance
        One resource, of which a job demands so many devices at once (its scale factor), and rates.

    Examples
    --------
    >>> from fairlp import Instance
    >>> kinds = Instance.from_arrays([[1], [2]], [[1], [1]], counts=[1, 2], rates=[[1, 3], [2, 4]])
    >>> jobs = Jobs(kinds)
    >>> jobs.levels(exact(jobs)).round(3).tolist()
    [0.536, 0.75]
    """

    instance: Instance

    @cached_property
    def _pairs(self) -> tuple[np.ndarray, np.ndarray]:
        jobs, kinds = np.nonzero(self.instance.runnable())
        return jobs, kinds

    @property
    def owners(self) -> np.ndarray:  # type: ignore[override]
        """The job of each pair of job and kind."""
        return self._pairs[0]

    @cached_property
    def use(self) -> Any:
        """Devices of a kind that a job takes at once."""
        from scipy.sparse import csr_array

        jobs, kinds = self._pairs
        devices = self.instance.demands[jobs, 0]
        shape = (len(self.instance.servers), len(jobs))
        return csr_array((devices, (kinds, np.arange(len(jobs)))), shape=shape)

    @cached_property
    def capacities(self) -> np.ndarray:  # type: ignore[override]
        """Devices of each kind."""
        return np.asarray(self.instance.total_capacities[:, 0])

    @property
    def limits(self) -> np.ndarray:  # type: ignore[override]
        """All of a job's time."""
        return np.ones(len(self.instance.users))

    @cached_property
    def units(self) -> np.ndarray:  # type: ignore[override]
        """Weight over devices: Soroush's waterfillers share devices by weight."""
        return np.asarray(self.instance.user_weights / self.instance.demands[:, 0])

    @cached_property
    def _parameters(self) -> Mapping[str, Any]:
        return formulate(self.instance, "gavel").parameters

    @cached_property
    def throughputs(self) -> np.ndarray:
        """Tasks of a job in all its time on a kind, shape (P,)."""
        return np.asarray(self._parameters["v"].values[self._pairs])

    @cached_property
    def worth(self) -> np.ndarray:  # type: ignore[override]
        """Level of a job on a kind alone, over the largest of all."""
        alone = self.instance.user_weights * self._parameters["Gamma"].values
        worth = self.throughputs / alone[self.owners]
        return np.asarray(worth / worth.max())

    def leximin(self) -> tuple[np.ndarray, Callable[[], Any]]:
        """Return the parts of time by ``gavel``, and what proves them."""
        allocation = allocate(self.instance, "gavel")
        return allocation.tasks_array[self._pairs] / self.throughputs, allocation.certify

    def of_some(self, demands: np.ndarray, part: float) -> Jobs:
        """Return some jobs on a part of every kind."""
        less = self.instance.derived(capacities=self.instance.capacities * part)
        return Jobs(less.select_users(demands))


def exact(demands: Demands) -> np.ndarray:
    """Return the flows of the leximin of levels, shape (P,), by fairlp."""
    return demands.leximin()[0]


def danna(demands: Demands) -> np.ndarray:
    """Return the flows of the leximin by a program a level, whose duals say who is settled.

    Danna, Mandal and Singh (INFOCOM 2012) look for these demands by binary search.
    """
    highest = _highest(demands)
    settled = np.zeros(len(highest), dtype=bool)
    level = np.zeros(len(settled))
    flows = np.zeros(len(demands.owners))
    while not settled.all():
        free = ~settled
        rows = _stacked(demands.level_of_flow, -free.astype(float)[:, None])
        least = np.where(settled, level - NOISE, 0.0)
        cost = np.append(np.zeros(len(flows)), 1.0)
        solution = _best(demands, cost, at_least=(rows, least), extra_upper=[highest[free].min()])
        flows, t = np.asarray(solution.x[:-1]), solution.x[-1]
        prices = -solution.ineqlin.marginals[-len(settled) :]
        now = free & ((prices > NOISE * prices.max()) | (t >= highest - NOISE))
        level[now] = t
        settled |= now
    return flows


def swan(demands: Demands, alpha: float = ALPHA) -> np.ndarray:
    """Return flows by SWAN's bins: T + 1 programs, each within α times the levels of the last."""
    highest = _highest(demands)
    ends = _ends_of_bins(demands, alpha)
    frozen = np.full(len(highest), np.nan)
    flows = np.zeros(len(demands.owners))
    for before, end in zip(np.append(0.0, ends), ends, strict=False):
        free = np.isnan(frozen)
        most = np.where(free, end, frozen)
        least = np.where(free, before, frozen) - NOISE
        cost = demands.worth * demands.units[demands.owners]
        solution = _best(demands, cost, at_least=(demands.level_of_flow, least), most=most)
        flows = np.asarray(solution.x)
        levels = demands.levels(flows)
        ends_here = (levels < end - NOISE) | (levels >= highest - NOISE)
        frozen = np.where(free & ends_here, levels, frozen)
    return flows


def geometric_binner(
    demands: Demands, alpha: float = ALPHA, last_bin: float = LAST_BIN
) -> np.ndarray:
    """Return flows by Soroush's geometric binner: one program, in which later bins are worth less."""
    from scipy.sparse import csr_array, kron

    ends = _ends_of_bins(demands, alpha)
    n_demands, n_bins = len(demands.limits), len(ends)
    # costs about 1, so that none lies below a solver's tolerance
    worth = last_bin ** (np.arange(n_bins) / max(n_bins - 1, 1) - 0.5)
    in_bins = kron(csr_array(np.eye(n_demands)), csr_array(np.ones((1, n_bins))))
    solution = _best(
        demands,
        np.concatenate([np.zeros(len(demands.owners)), np.tile(worth, n_demands)]),
        at_least=(_stacked(demands.level_of_flow, -in_bins), np.zeros(n_demands)),
        extra_upper=np.tile(np.diff(ends, prepend=0.0), n_demands),
    )
    return np.asarray(solution.x[: len(demands.owners)])


def equi_depth_binner(demands: Demands, n_bins: int = BINS) -> np.ndarray:
    """Return flows by Soroush's equi-depth binner, without its slack.

    Demands in the order of the waterfiller's levels are in bins of equal number. One program keeps the
    levels of a bin between two barriers, which are variables, and lower bins are worth more.
    """
    from scipy.sparse import csr_array

    n_demands = len(demands.limits)
    n_bins = min(n_bins, n_demands)
    order = np.argsort(demands.levels(adaptive_waterfiller(demands)), kind="stable")
    bins = np.empty(n_demands, dtype=int)
    bins[order] = np.arange(n_demands) * n_bins // n_demands
    above = np.flatnonzero(bins > 0)
    below = np.flatnonzero(bins < n_bins - 1)
    members = np.concatenate([above, below])
    signs = np.where(np.arange(len(members)) < len(above), 1.0, -1.0)
    barriers = np.concatenate([bins[above] - 1, bins[below]])
    at = csr_array((-signs, (np.arange(len(members)), barriers)), shape=(len(members), n_bins - 1))
    worth = (LAST_BIN ** (bins / n_bins - 0.5))[demands.owners] * demands.worth
    solution = _best(
        demands,
        np.concatenate([worth, np.zeros(n_bins - 1)]),
        at_least=(
            _stacked(demands.level_of_flow[members] * signs[:, None], at),
            np.zeros(len(members)),
        ),
        extra_upper=np.full(n_bins - 1, np.inf),
    )
    return np.asarray(solution.x[: len(demands.owners)])


def adaptive_waterfiller(demands: Demands, passes: int = PASSES) -> np.ndarray:
    """Return flows by Soroush's adaptive waterfiller, or with one pass by its approximate one.

    In a pass, what has a capacity and whoever has a limit, the scarcest first, cuts what is over it to
    one rate a unit of weight. Then the weights of a demand's ways become the parts of its level that
    they give.
    """
    owners = demands.owners
    units = demands.units[owners]
    parts = 1 / np.bincount(owners)[owners]
    flows = np.zeros(len(owners))
    for _ in range(passes):
        weights = parts * units
        flows = weights * _one_pass(demands, weights)
        levels = demands.levels(flows)[owners]
        parts = np.where(levels > 0, demands.worth * flows / np.where(levels > 0, levels, 1), parts)
    return flows


def _one_pass(demands: Demands, weights: np.ndarray) -> np.ndarray:
    """Return the rate of each way a unit of weight after one pass over capacities and limits."""
    owners = demands.owners
    use = demands.use
    rates = np.where(weights > 0, np.inf, 0.0)
    loads = use @ weights
    used = np.flatnonzero(loads > 0)
    scarcity = demands.capacities[used] / loads[used]
    of_demands = demands.limits / np.bincount(owners, weights)
    by_scarcity = np.argsort(of_demands, kind="stable")
    # after how many capacities a demand's limit comes
    turns = np.empty(len(by_scarcity), dtype=int)
    turns[by_scarcity] = np.searchsorted(np.sort(scarcity), of_demands[by_scarcity])
    turns = turns[owners]
    is_turn = np.bincount(turns, minlength=len(used) + 1) > 0
    for turn, e in enumerate([*used[np.argsort(scarcity, kind="stable")].tolist(), None]):
        if is_turn[turn]:
            (ways,) = (turns == turn).nonzero()
            rates[ways] = _lowered(rates[ways], weights[ways], owners[ways], demands.limits)
        if e is not None:
            entries = slice(use.indptr[e], use.indptr[e + 1])
            ways = use.indices[entries]
            amounts = use.data[entries] * weights[ways]
            rates[ways] = _cut(rates[ways], amounts, float(demands.capacities[e]))
    return rates


def _cut(rates: np.ndarray, amounts: np.ndarray, room: float) -> np.ndarray:
    """Return rates of which the highest are lowered to one, so that their amounts fit the room."""
    if amounts @ rates <= room:
        return rates
    order = np.argsort(rates)
    rates_in_order, amounts_in_order = rates[order], amounts[order]
    # if the k lowest keep their rates, the others share what they leave
    kept = np.append(0.0, np.cumsum(amounts_in_order * rates_in_order)[:-1])
    others = np.cumsum(amounts_in_order[::-1])[::-1]
    levels = (room - kept) / np.where(others > 0, others, np.inf)
    return np.asarray(np.minimum(rates, levels[np.argmax(levels <= rates_in_order)]))


def _lowered(
    rates: np.ndarray, amounts: np.ndarray, group: np.ndarray, room: np.ndarray
) -> np.ndarray:
    """Return rates of which the highest are lowered to one by group, so that amounts fit the room."""
    n_groups = len(room)
    is_high = amounts > 0
    is_low = np.zeros(len(rates), dtype=bool)
    while True:
        kept = np.bincount(group[is_low], rates[is_low] * amounts[is_low], n_groups)
        others = np.bincount(group, amounts * is_high, n_groups)
        level = (room - kept) / np.where(others > 0, others, 1.0)
        level = np.where(others > 0, level, np.inf)[group]
        is_lower = is_high & (rates < level)
        if not is_lower.any():
            return np.where(is_high, np.minimum(rates, level), rates)
        is_high &= ~is_lower
        is_low |= is_lower


def pop(demands: Demands, n_parts: int = 8, seed: int = 0) -> np.ndarray:
    """Return flows by POP: demands in parts at random, each with as large a part of every capacity."""
    order = np.random.default_rng(seed).permutation(len(demands.limits))
    flows = np.zeros(len(demands.owners))
    for members in np.array_split(order, min(n_parts, len(order))):
        some = np.sort(members)
        flows[np.isin(demands.owners, some)] = exact(demands.of_some(some, 1 / n_parts))
    return flows


def alternation(demands: Demands, passes: int = ALTERNATIONS, step: float = 1.0) -> np.ndarray:
    """Return flows by an alternation as DeDe's: small problems of capacities and of demands in turn.

    The alternating direction method of multipliers for the largest Σ log level, whose terms are of a
    demand each, as DeDe asks. A capacity moves its copies of flows to the nearest ones that fit; a
    demand chooses flows near the copies; multipliers add up what they differ by. In the end flows are
    lowered to fit.
    """
    from scipy.sparse import diags_array

    owners = demands.owners
    use = (demands.use @ diags_array(demands.limits[owners])).tocoo()  # flows in parts of limits
    n_ways, n_links = len(owners), len(demands.capacities)
    link = np.concatenate([use.row, n_links + owners])
    way = np.concatenate([use.col, np.arange(n_ways)])
    amount = np.concatenate([use.data, np.ones(n_ways)])
    room = np.concatenate([demands.capacities, np.ones(len(demands.limits))])
    worth = demands.worth * demands.limits[owners]
    copies = np.bincount(way)
    gain = np.bincount(owners, worth**2 / (step * copies))
    flows = np.zeros(n_ways)
    multipliers = np.zeros(len(way))
    for _ in range(passes):
        nearest = _nearest(flows[way] + multipliers, amount, link, room)
        mean = np.bincount(way, nearest - multipliers) / copies
        level = np.bincount(owners, worth * mean)
        price = (np.sqrt(level**2 + 4 * gain) - level) / (2 * gain)  # 1 / the new level
        flows = mean + worth * price[owners] / (step * copies)
        multipliers += flows[way] - nearest
    flows = np.maximum(flows, 0.0)
    used = np.bincount(link, amount * flows[way])
    part = np.minimum(np.where(used > 0, room / np.where(used > 0, used, 1.0), 1.0), 1.0)
    fitting = np.ones(n_ways)
    np.minimum.at(fitting, way, part[link])
    return np.asarray(flows * fitting * demands.limits[owners])


def _nearest(
    flows: np.ndarray, amount: np.ndarray, link: np.ndarray, room: np.ndarray
) -> np.ndarray:
    """Return the flows ≥ 0 nearest to these whose amounts fit the room of each link.

    They are lower by a price times the amount; the prices by Newton's method, from below.
    """
    price = np.zeros(len(room))
    while True:
        fitting = np.maximum(flows - price[link] * amount, 0.0)
        excess = np.bincount(link, amount * fitting, len(room)) - room
        slope = np.bincount(link, amount**2 * (fitting > 0), len(room))
        rise = np.where(slope > 0, excess / np.where(slope > 0, slope, 1.0), 0.0)
        if not (rise > NOISE * (price + NOISE)).any():
            return np.asarray(fitting)
        price += np.maximum(rise, 0.0)


#: What races, by name.
METHODS: Mapping[str, Callable[[Demands], np.ndarray]] = {
    "exact": exact,
    "danna": danna,
    "swan": swan,
    "geometric binner": geometric_binner,
    "equi-depth binner": equi_depth_binner,
    "adaptive waterfiller": adaptive_waterfiller,
    "pop-8": pop,
    "alternation": alternation,
}


def race(demands: Demands, methods: Iterable[str] = tuple(METHODS)) -> pd.DataFrame:
    """Return a row for each method beside the exact leximin.

    Parameters
    ----------
    demands : Demands
    methods : iterable of str
        Of :data:`METHODS`; the exact one comes first in any case.

    Returns
    -------
    DataFrame
        ``seconds`` of the processor, the ``least`` level over the exact least, the part of demands that
        are ``worse`` by more than 1 %, the ``total`` over the exact one, and whether it is ``proved``
        (None: it claims nothing).

    Examples
    --------
    >>> import numpy as np
    >>> two = Traffic(np.array([1.0]), np.array([1.0, 1.0]), [[[0]], [[0]]])
    >>> race(two, ["swan"])[["least", "worse"]].round(3).to_dict("index")
    {'exact': {'least': 1.0, 'worse': 0.0}, 'swan': {'least': 1.0, 'worse': 0.0}}
    """
    begin = process_time()
    exact_flows, certify = demands.leximin()
    seconds = {"exact": process_time() - begin}
    flows = {"exact": exact_flows}
    right = demands.levels(exact_flows)
    for name in methods:
        if name != "exact":
            begin = process_time()
            flows[name] = METHODS[name](demands)
            seconds[name] = process_time() - begin
    rows = []
    for name, of_ways in flows.items():
        levels = demands.levels(of_ways)
        rows.append(
            {
                "method": name,
                "seconds": seconds[name],
                "least": levels.min() / right.min(),
                "worse": float((levels < WORSE * right).mean()),
                "total": demands.total(of_ways) / demands.total(exact_flows),
                "proved": certify().holds if name == "exact" else None,
            }
        )
    return pd.DataFrame(rows).set_index("method")


def _highest(demands: Demands) -> np.ndarray:
    """Return the level of each demand with its limit on its best way."""
    highest = np.zeros(len(demands.limits))
    np.maximum.at(highest, demands.owners, demands.worth)
    return np.asarray(highest * demands.limits)


def _ends_of_bins(demands: Demands, alpha: float) -> np.ndarray:
    """Return the levels U, αU, α²U, … up to the highest; U is the least with all on first ways."""
    firsts = np.searchsorted(demands.owners, np.arange(len(demands.limits)))
    loads = demands.use[:, firsts] @ demands.limits
    used = (loads > 0) & (demands.capacities > 0)
    part = min(1.0, float((demands.capacities[used] / loads[used]).min(initial=1.0)))
    least = part * float((demands.worth[firsts] * demands.limits).min())
    highest = _highest(demands).max()
    n_factors = int(np.ceil(np.log(highest / least) / np.log(alpha)))
    return np.asarray(np.minimum(least * alpha ** np.arange(n_factors + 1), highest))


def _stacked(left: Any, right: Any) -> Any:
    from scipy.sparse import csr_array, hstack

    return csr_array(hstack([csr_array(left), csr_array(right)]))


def _best(
    demands: Demands,
    cost: np.ndarray,
    *,
    at_least: tuple[Any, np.ndarray],
    most: np.ndarray | None = None,
    extra_upper: Sequence[float] | np.ndarray = (),
) -> Any:
    """Return SciPy's answer for flows, and columns behind them from 0 to ``extra_upper``, of most worth.

    Capacities, limits and levels of at most ``most`` hold, and rows @ columns ≥ sides of ``at_least``.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, vstack

    blocks = [(demands.use, demands.capacities), (demands.of_demand, demands.limits)]
    if most is not None:
        blocks.append((demands.level_of_flow, most))
    rows, sides = at_least
    nothing = len(extra_upper)
    matrix = vstack(
        [
            *(_stacked(block, csr_array((len(room), nothing))) for block, room in blocks),
            -csr_array(rows),
        ]
    )
    limits = np.concatenate([*(room for _, room in blocks), -np.asarray(sides)])
    upper = np.concatenate([np.full(len(demands.owners), np.inf), extra_upper])
    bounds = np.column_stack([np.zeros(len(upper)), upper])
    solution = linprog(-cost, matrix, limits, bounds=bounds, method="highs")
    if solution.x is None:
        raise SolverError(f"SciPy ends without flows: {solution.message}")
    solution.x = np.maximum(solution.x, 0.0)
    return solution
