"""Demands whose paths share links, as a program says them, and the proof of their leximin by prices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...tolerances import ACCEPTED, AGREEMENT, ROUNDING
from .levels import Levels

#: How often demands choose their first keys, by prices of what all have chosen so far.
CHOICES = 10
#: Paths a demand, on average, up to which a simplex on paths is quicker than rounds of programs.
MOST_PATHS = 8


@dataclass(frozen=True)
class Network:
    """Demands, whose paths share links.

    Attributes
    ----------
    uses : sparse array of 1, paths × links
    capacity : ndarray, by link
    demand : ndarray of int, by path, ascending
    volume : ndarray, by demand
        The rate at level 1.
    limit : ndarray, by demand
        The largest level; infinite without a limit.
    """

    uses: Any
    capacity: np.ndarray
    demand: np.ndarray
    volume: np.ndarray
    limit: np.ndarray

    @cached_property
    def first(self) -> np.ndarray:
        """The first path of each demand."""
        return np.searchsorted(self.demand, np.arange(len(self.volume)))

    @cached_property
    def links(self) -> np.ndarray:
        """Links of each path; shorter ones and the last row are filled up with a number that is no link."""
        counts = np.append(np.diff(self.uses.indptr), 0)
        links = np.full((len(counts), counts.max()), len(self.capacity))
        links[np.arange(links.shape[1]) < counts[:, None]] = self.uses.indices
        return links

    @cached_property
    def of_links(self) -> Any:
        """The paths of each link, links × paths."""
        return self.uses.tocsc()

    def spread(self) -> np.ndarray:
        """Return a path of each demand, by prices of a spread of the volumes: keys to begin with."""
        capacity = np.maximum(self.capacity, ACCEPTED * self.capacity.max() or 1.0)
        flow: Any = np.bincount(self.first, self.volume, len(self.demand))
        for n in range(CHOICES):
            prices = (self.uses.T @ flow / capacity) ** 2 / capacity
            chosen = self._least(self.uses @ prices)
            flow += (np.bincount(chosen, self.volume, len(flow)) - flow) * 2 / (n + 3)
        return self._least(-flow)

    def _least(self, costs: np.ndarray) -> np.ndarray:
        """Return the path of least cost of each demand."""
        least = np.minimum.reduceat(costs, self.first)[self.demand]
        (paths,) = (costs == least).nonzero()
        chosen = self.first.copy()
        chosen[self.demand[paths]] = paths
        return chosen

    def load(self, paths: np.ndarray, flows: np.ndarray) -> np.ndarray:
        """Return what flows take of each link."""
        links = self.links[paths]
        weights = flows.repeat(links.shape[1])
        return np.bincount(links.reshape(-1), weights, len(self.capacity) + 1)[:-1]


@dataclass(frozen=True)
class Round:
    """Prices of links that show that the settled cannot have more; none at a limit."""

    settled: np.ndarray
    links: np.ndarray
    prices: np.ndarray


@dataclass(frozen=True)
class PathProof:
    """Prices of rounds, from which weak duality tells each level, whoever found them.

    In a round, prices y ≥ 0 of links bound Σ y·capacity ≥ Σ volume·level·(cost of the cheapest
    path) for any flows. With what settled demands have, this bounds the lowest level of the others.
    Where it is attained, whoever pays has just this level, dearer paths are empty, and links with a
    price full, in every leximin; so later prices of these links may have any sign.

    Attributes
    ----------
    network : Network
    rounds : sequence of Round
    """

    network: Network
    rounds: Sequence[Round]

    def bounds(self) -> tuple[np.ndarray, float]:
        """Return the largest level of each demand, NaN where nothing tells it, and their error."""
        network = self.network
        levels = np.full(len(network.volume), np.nan)
        is_open = np.ones(len(network.demand), dtype=bool)
        is_full = np.zeros(len(network.capacity), dtype=bool)
        error = last = 0.0
        for end in self.rounds:
            is_free = np.isnan(levels)
            if not end.links.size:
                settled = end.settled[is_free[end.settled]]
                levels[settled] = network.limit[settled]
            else:
                prices = np.zeros(len(is_full))
                prices[end.links] = end.prices
                zero = AGREEMENT * abs(end.prices).max()
                costs = np.where(is_open, network.uses @ prices, np.inf)
                cheapest = np.minimum.reduceat(costs, network.first)
                (settled,) = (is_free & (cheapest > zero)).nonzero()
                is_short = (
                    prices[~is_full].min(initial=0.0) < 0
                    or cheapest[is_free].min(initial=0.0) < -zero
                )
                if is_short or not settled.size:
                    break
                pays = network.volume * cheapest
                due = np.where(is_free, 0.0, pays * levels)
                worth = prices * network.capacity
                each = pays[is_free].sum()
                bound = max((worth.sum() - due.sum()) / each, 0.0)
                size = (abs(worth).sum() + abs(due).sum()) / each
                levels[settled] = bound
                is_open &= costs - cheapest[network.demand] <= zero
                is_full |= prices != 0
                error = max(error, ROUNDING * size / bound if bound else 0.0)
            if not settled.size or levels[settled].min() < last * (1 - AGREEMENT):
                break
            last = levels[settled].max()
        return levels, error


@dataclass(frozen=True)
class Paths:
    """A network, and where a program has its parts.

    Attributes
    ----------
    network : Network
    columns, links : ndarray of int
        The column of each path, the row of each link.
    entries : ndarray, by row
        The coefficient of all flows in a row.
    """

    network: Network
    columns: np.ndarray
    links: np.ndarray
    entries: np.ndarray

    def row_duals(self, end: Round, places: np.ndarray) -> np.ndarray:
        """Return the duals of the program that a round ends, the levels' rows included."""
        network = self.network
        prices = np.zeros(len(self.links))
        prices[end.links] = end.prices
        costs = np.minimum.reduceat(network.uses @ prices, network.first)
        duals = np.zeros(len(self.entries))
        duals[self.links] = prices
        duals[places] = -costs
        np.divide(duals, self.entries * (costs @ network.volume), out=duals, where=self.entries > 0)
        return duals


def paths_of(problem: Levels) -> Paths | None:
    """Return the network that a program is of, None where it is of another form.

    The form: flows are ≥ 0; a level is a sum of flows over its weight, and a flow is in one level;
    each other row is a sum of flows that is at most some capacity.
    """
    program = problem.program
    matrix = problem.without_t
    is_level = np.zeros(program.n_rows, dtype=bool)
    is_level[problem.places] = True
    (columns,) = (np.arange(program.n_columns) != problem.t).nonzero()
    entries = np.zeros(program.n_rows)
    entries[matrix.indices] = matrix.data
    if (
        program.is_mip
        or len(columns) > MOST_PATHS * len(problem.places)
        or problem.outcomes is not None
        or (entries[matrix.indices] != matrix.data).any()
        or (entries < 0).any()
        or not entries[is_level].all()
        or program.row_lower[is_level].any()
        or (program.row_lower[~is_level] > 0).any()
        or (program.row_upper < 0).any()
        or (program.col_lower[columns] != 0).any()
        or program.col_lower[problem.t] > 0
        or np.isfinite(program.col_upper).any()
    ):
        return None
    by_row = matrix.tocsr()
    rates = by_row[problem.places].tocoo()
    demand, paths = rates.row, rates.col
    if not np.array_equal(np.sort(paths), columns):
        return None
    volume = problem.weights / entries[problem.places]

    (rows,) = (~is_level & (entries > 0) & np.isfinite(program.row_upper)).nonzero()
    users = by_row[rows][:, paths]
    users.sort_indices()
    capacity = program.row_upper[rows] / entries[rows]
    first = demand[users.indices[users.indptr[:-1]]]
    last = demand[users.indices[users.indptr[1:] - 1]]
    is_limit = (first == last) & (np.diff(users.indptr) == np.bincount(demand)[first])
    is_alone = np.bincount(users[~is_limit].indices, minlength=len(demand)) == 0
    is_limit &= ~np.isin(first, demand[is_alone])  # each path keeps a link
    limit = np.full(len(volume), np.inf)
    np.minimum.at(limit, first[is_limit], (capacity / volume[first])[is_limit])
    uses = users[~is_limit].T.tocsr()
    uses.data[:] = 1.0
    if not np.diff(uses.indptr).all():
        return None
    network = Network(uses, capacity[~is_limit], demand, volume, limit)
    return Paths(network, paths, rows[~is_limit], entries)
