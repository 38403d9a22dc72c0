"""Max-min fair traffic engineering, exact, and as the systems community approximates it.

Demands d of volumes v[d] go along given paths over links of capacities c[e]. Fair is the leximin of
their levels, flow over volume. Beside ``fairlp.leximin``, in our own writing: SWAN (Hong et al.,
SIGCOMM 2013), rounds of programs after Danna, Mandal and Singh (INFOCOM 2012), the geometric and
equi-depth binners and the adaptive waterfiller of Soroush (Namyar et al., NSDI 2024), and POP
(Narayanan et al., SOSP 2021).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from time import process_time
from typing import Any

import numpy as np
import pandas as pd

from fairlp import Index, Model, leximin
from fairlp.errors import SolverError
from fairlp.toolkit import tolerances

NOISE = tolerances.NOISE

#: Factor of one bin to the next, of SWAN and the geometric binner.
ALPHA = 2.0
#: The worth of flow in the last bin of the geometric binner, beside 1 in the first.
LAST_BIN = 1e-8
#: Bins of the equi-depth binner; passes of the adaptive waterfiller.
BINS = 10
PASSES = 10
#: A demand is worse off below this part of its exact level.
WORSE = 0.99


@dataclass(frozen=True)
class Traffic:
    """Demands on paths that share links.

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
    def owners(self) -> np.ndarray:
        """The demand of each path, shape (P,)."""
        return np.repeat(np.arange(len(self.paths)), [len(paths) for paths in self.paths])

    @cached_property
    def on_link(self) -> Any:
        """1 where a path uses a link, sparse, (E, P)."""
        from scipy.sparse import csr_array

        rows = [links for paths in self.paths for links in paths]
        starts = np.append(0, np.cumsum([len(links) for links in rows]))
        shape = (len(rows), len(self.capacities))
        by_path = csr_array((np.ones(starts[-1]), np.concatenate(rows), starts), shape=shape)
        return by_path.T.tocsr()

    @cached_property
    def of_demand(self) -> Any:
        """1 where a path is of a demand, sparse, (D, P)."""
        from scipy.sparse import csr_array

        n_paths = len(self.owners)
        shape = (len(self.volumes), n_paths)
        return csr_array((np.ones(n_paths), (self.owners, np.arange(n_paths))), shape=shape)

    @cached_property
    def level_of_flow(self) -> Any:
        """1 over the volume where a path is of a demand, sparse, (D, P)."""
        from scipy.sparse import diags_array

        return (diags_array(1 / self.volumes) @ self.of_demand).tocsr()

    def levels(self, flows: np.ndarray) -> np.ndarray:
        """Return flow over volume of each demand at flows of paths."""
        return np.asarray(self.level_of_flow @ flows)

    def overuse(self, flows: np.ndarray) -> float:
        """Return by which part of its capacity a link, or of its volume a demand, is exceeded at most."""
        over = self.on_link @ flows / np.where(self.capacities > 0, self.capacities, 1.0)
        return float(max(over.max(), self.levels(flows).max()) - 1)

    def model(self) -> Model:
        """Return the model whose leximin is fair."""
        p = Index("p", range(len(self.owners)), "path")
        d = Index("d", range(len(self.volumes)), "demand")
        e = Index("e", range(len(self.capacities)), "link")
        model = Model("Traffic", "Danna, Mandal and Singh, INFOCOM 2012", (d, p, e))
        flow = model.variable("f", p, doc="flow on p")
        of = model.parameter("P", (p, d), self.of_demand.T.tocsr(), "1 where p is a path of d")
        on = model.parameter("L", (p, e), self.on_link.T.tocsr(), "1 where p uses e")
        v = model.parameter("v", d, self.volumes, "volume of d")
        c = model.parameter("c", e, self.capacities, "capacity of e")
        model.constraint("link", (on * flow).sum(p) <= c)
        rate = (of * flow).sum(p)
        model.constraint("volume", rate <= v)
        model.leximin(rate / v)
        return model

    def of_some(self, demands: np.ndarray, part: float) -> Traffic:
        """Return the traffic of some demands on a part of every capacity."""
        paths = [self.paths[d] for d in demands]
        return Traffic(self.capacities * part, self.volumes[demands], paths)


def exact(traffic: Traffic) -> np.ndarray:
    """Return the flows of the leximin of levels, shape (P,), by ``fairlp.leximin``."""
    return np.asarray(leximin(traffic.model()).x[: len(traffic.owners)])


def danna(traffic: Traffic) -> np.ndarray:
    """Return the flows of the leximin by a program a level, whose duals say who is settled.

    Danna, Mandal and Singh (INFOCOM 2012) look for these demands by binary search.
    """
    settled = np.zeros(len(traffic.volumes), dtype=bool)
    level = np.zeros(len(settled))
    flows = np.zeros(len(traffic.owners))
    while not settled.all():
        free = ~settled
        rows = _stacked(traffic.level_of_flow, -free.astype(float)[:, None])
        least = np.where(settled, level - NOISE, 0.0)
        cost = np.append(np.zeros(len(flows)), 1.0)
        solution = _best(traffic, cost, at_least=(rows, least), extra_upper=[1.0])
        flows, t = np.asarray(solution.x[:-1]), solution.x[-1]
        prices = -solution.ineqlin.marginals[-len(settled) :]
        now = free & ((prices > NOISE * prices.max()) | (t >= 1 - NOISE))
        level[now] = t
        settled |= now
    return flows


def swan(traffic: Traffic, alpha: float = ALPHA) -> np.ndarray:
    """Return flows by SWAN's bins: T + 1 programs, each within α times the levels of the last."""
    ends = _ends_of_bins(traffic, alpha)
    frozen = np.full(len(traffic.volumes), np.nan)
    flows = np.zeros(len(traffic.owners))
    for before, end in zip(np.append(0.0, ends), ends, strict=False):
        free = np.isnan(frozen)
        most = np.where(free, end, frozen)
        least = np.where(free, before, frozen) - NOISE
        cost = np.ones(len(flows))
        solution = _best(traffic, cost, at_least=(traffic.level_of_flow, least), most=most)
        flows = np.asarray(solution.x)
        levels = traffic.levels(flows)
        frozen = np.where(free & (levels < end - NOISE), levels, frozen)
    return flows


def geometric_binner(
    traffic: Traffic, alpha: float = ALPHA, last_bin: float = LAST_BIN
) -> np.ndarray:
    """Return flows by Soroush's geometric binner: one program, in which later bins are worth less."""
    from scipy.sparse import csr_array, kron

    ends = _ends_of_bins(traffic, alpha)
    n_demands, n_bins = len(traffic.volumes), len(ends)
    # costs about 1, so that none lies below a solver's tolerance
    worth = last_bin ** (np.arange(n_bins) / max(n_bins - 1, 1) - 0.5)
    in_bins = kron(csr_array(np.eye(n_demands)), csr_array(np.ones((1, n_bins))))
    solution = _best(
        traffic,
        np.concatenate([np.zeros(len(traffic.owners)), np.tile(worth, n_demands)]),
        at_least=(_stacked(traffic.level_of_flow, -in_bins), np.zeros(n_demands)),
        extra_upper=np.tile(np.diff(ends, prepend=0.0), n_demands),
    )
    return np.asarray(solution.x[: len(traffic.owners)])


def equi_depth_binner(traffic: Traffic, n_bins: int = BINS) -> np.ndarray:
    """Return flows by Soroush's equi-depth binner, without its slack.

    Demands in the order of the waterfiller's levels are in bins of equal number. One program keeps the
    levels of a bin between two barriers, which are variables, and lower bins are worth more.
    """
    from scipy.sparse import csr_array

    n_demands = len(traffic.volumes)
    n_bins = min(n_bins, n_demands)
    order = np.argsort(traffic.levels(adaptive_waterfiller(traffic)), kind="stable")
    bins = np.empty(n_demands, dtype=int)
    bins[order] = np.arange(n_demands) * n_bins // n_demands
    above = np.flatnonzero(bins > 0)
    below = np.flatnonzero(bins < n_bins - 1)
    members = np.concatenate([above, below])
    signs = np.where(np.arange(len(members)) < len(above), 1.0, -1.0)
    barriers = np.concatenate([bins[above] - 1, bins[below]])
    at = csr_array((-signs, (np.arange(len(members)), barriers)), shape=(len(members), n_bins - 1))
    worth = LAST_BIN ** (bins / n_bins - 0.5) / traffic.volumes
    solution = _best(
        traffic,
        np.concatenate([worth[traffic.owners], np.zeros(n_bins - 1)]),
        at_least=(
            _stacked(traffic.level_of_flow[members] * signs[:, None], at),
            np.zeros(len(members)),
        ),
        extra_upper=np.full(n_bins - 1, np.inf),
    )
    return np.asarray(solution.x[: len(traffic.owners)])


def adaptive_waterfiller(traffic: Traffic, passes: int = PASSES) -> np.ndarray:
    """Return flows by Soroush's adaptive waterfiller: no program.

    In a pass links in the order of capacity over weights cut what is over their capacity to a level
    a unit of weight. Then the weights of a demand's paths become the parts of its flow on them.
    """
    owners = traffic.owners
    volumes = traffic.volumes[owners]
    weights = volumes / np.bincount(owners)[owners]
    flows = np.zeros(len(owners))
    for _ in range(passes):
        flows = weights * _one_pass(traffic, weights)
        rates = (traffic.of_demand @ flows)[owners]
        weights = np.where(rates > 0, volumes * flows / np.where(rates > 0, rates, 1.0), weights)
    return flows


def _one_pass(traffic: Traffic, weights: np.ndarray) -> np.ndarray:
    """Return the rate of each path a unit of weight, at most 1, after one pass over the links."""
    rates = np.ones(len(weights))
    on_link = traffic.on_link
    loads = on_link @ weights
    used = np.flatnonzero(loads > 0)
    order = used[np.argsort(traffic.capacities[used] / loads[used])]
    for link in order.tolist():
        paths = on_link.indices[on_link.indptr[link] : on_link.indptr[link + 1]]
        capacity = traffic.capacities[link]
        if not weights[paths] @ rates[paths] > capacity:
            continue
        by_rate = paths[np.argsort(rates[paths])]
        # if the k lowest keep their rates, the others share what they leave
        kept = np.append(0.0, np.cumsum(weights[by_rate] * rates[by_rate])[:-1])
        others = np.cumsum(weights[by_rate][::-1])[::-1]
        levels = (capacity - kept) / np.where(others > 0, others, np.inf)
        level = levels[np.argmax(levels <= rates[by_rate])]
        rates[paths] = np.minimum(rates[paths], level)
    return np.asarray(rates)


def pop(traffic: Traffic, n_parts: int = 8, seed: int = 0) -> np.ndarray:
    """Return flows by POP: demands in parts at random, each with as large a part of every capacity."""
    order = np.random.default_rng(seed).permutation(len(traffic.volumes))
    flows = np.zeros(len(traffic.owners))
    for demands in np.array_split(order, min(n_parts, len(order))):
        some = np.sort(demands)
        flows[np.isin(traffic.owners, some)] = exact(traffic.of_some(some, 1 / n_parts))
    return flows


#: What races, by name.
METHODS: Mapping[str, Callable[[Traffic], np.ndarray]] = {
    "exact": exact,
    "danna": danna,
    "swan": swan,
    "geometric binner": geometric_binner,
    "equi-depth binner": equi_depth_binner,
    "adaptive waterfiller": adaptive_waterfiller,
    "pop-8": pop,
}


def race(traffic: Traffic, methods: Iterable[str] = tuple(METHODS)) -> pd.DataFrame:
    """Return a row for each method beside the exact leximin.

    Parameters
    ----------
    traffic : Traffic
    methods : iterable of str
        Of :data:`METHODS`; the exact one comes first in any case.

    Returns
    -------
    DataFrame
        ``seconds`` of the processor, the ``least`` level over the exact least, the part of demands that
        are ``worse`` by more than 1 %, the ``total`` flow over the exact one, and whether it is
        ``proved`` (None: it claims nothing).

    Examples
    --------
    >>> import numpy as np
    >>> two = Traffic(np.array([1.0]), np.array([1.0, 1.0]), [[[0]], [[0]]])
    >>> race(two, ["swan"])[["least", "worse"]].round(3).to_dict("index")
    {'exact': {'least': 1.0, 'worse': 0.0}, 'swan': {'least': 1.0, 'worse': 0.0}}
    """
    model = traffic.model()
    begin = process_time()
    answer = leximin(model)
    seconds = {"exact": process_time() - begin}
    flows = {"exact": np.asarray(answer.x[: len(traffic.owners)])}
    for name in methods:
        if name != "exact":
            begin = process_time()
            flows[name] = METHODS[name](traffic)
            seconds[name] = process_time() - begin
    right = traffic.levels(flows["exact"])
    rows = []
    for name, of_paths in flows.items():
        levels = traffic.levels(of_paths)
        rows.append(
            {
                "method": name,
                "seconds": seconds[name],
                "least": levels.min() / right.min(),
                "worse": float((levels < WORSE * right).mean()),
                "total": float(of_paths.sum() / flows["exact"].sum()),
                "proved": answer.certify().holds if name == "exact" else None,
            }
        )
    return pd.DataFrame(rows).set_index("method")


def _ends_of_bins(traffic: Traffic, alpha: float) -> np.ndarray:
    """Return the levels U, αU, α²U, … up to 1; U is the least with everybody on its first path."""
    firsts = np.searchsorted(traffic.owners, np.arange(len(traffic.volumes)))
    loads = traffic.on_link[:, firsts] @ traffic.volumes
    used = (loads > 0) & (traffic.capacities > 0)
    least = min(1.0, float((traffic.capacities[used] / loads[used]).min(initial=1.0)))
    n_factors = int(np.ceil(np.log(1 / least) / np.log(alpha)))
    return np.asarray(np.minimum(least * alpha ** np.arange(n_factors + 1), 1.0))


def _stacked(left: Any, right: Any) -> Any:
    from scipy.sparse import csr_array, hstack

    return csr_array(hstack([csr_array(left), csr_array(right)]))


def _best(
    traffic: Traffic,
    cost: np.ndarray,
    *,
    at_least: tuple[Any, np.ndarray],
    most: np.ndarray | None = None,
    extra_upper: Sequence[float] | np.ndarray = (),
) -> Any:
    """Return SciPy's answer for flows, and columns behind them from 0 to ``extra_upper``, of most worth.

    Links and levels of at most 1 (or ``most``) hold, and rows @ columns ≥ sides of ``at_least``.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, vstack

    n_extra = len(extra_upper)
    nothing = csr_array((len(traffic.capacities), n_extra))
    none_of_demands = csr_array((len(traffic.volumes), n_extra))
    rows, sides = at_least
    matrix = vstack(
        [
            _stacked(traffic.on_link, nothing),
            _stacked(traffic.level_of_flow, none_of_demands),
            -csr_array(rows),
        ]
    )
    most = np.ones(len(traffic.volumes)) if most is None else most
    limits = np.concatenate([traffic.capacities, most, -np.asarray(sides)])
    upper = np.concatenate([np.full(len(traffic.owners), np.inf), extra_upper])
    bounds = np.column_stack([np.zeros(len(upper)), upper])
    solution = linprog(-cost, matrix, limits, bounds=bounds, method="highs")
    if solution.x is None:
        raise SolverError(f"SciPy ends without flows: {solution.message}")
    solution.x = np.maximum(solution.x, 0.0)
    return solution
