"""Hierarchical DRF (Bhattacharya et al., SoCC 2013): max-min along a tree of queues, in rounds.

Every round is one program.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..models.instances.instance import Instance
from ..models.instances.queues import Queues
from ..models.notation.model import Model
from ..models.paths.path import ConstantPath
from ..models.trees.tree import Tree, tree_of_shares
from ..models.trees.tree_path import FirstPath, first_path
from . import normalisers
from .max_min import in_global_shares
from .region import runnable_users

_SOURCE = "Bhattacharya et al., SoCC 2013"


def path_on_tree(
    instance: Instance, counted: bool = False, past: np.ndarray | None = None
) -> FirstPath:
    """Return the path of what users ask for while the root gives out units of dominant share.

    It is a function of guaranteed tasks, task limits, who can run, and what levels count.
    ``counted``: whether users that have all their tasks count for their queues. ``past`` are the
    levels from which users rise, dominant share over weight, shape (N,).
    """
    if instance.queues is None:
        gamma = normalisers.dominant(instance)
        per_level = normalisers.tasks_at_level_1(instance, gamma)
        return partial(ConstantPath.first, per_level, past=past)
    return partial(first_path, rates_on_tree(instance, counted, past))


def rates_on_tree(
    instance: Instance, counted: bool = False, past: np.ndarray | None = None
) -> Tree:
    """Return what active users ask for along the tree of queues."""
    share = normalisers.normalised_demands(instance)
    gamma = normalisers.dominant(instance)
    branches = instance.tree.branches
    return tree_of_shares(branches, instance.user_weights, share, gamma, counted, past)


def _first_rates(instance: Instance) -> np.ndarray:
    """Return the tasks of each user for one unit of the root, all runnable users active."""
    runnable = runnable_users(instance)
    if instance.queues is None:
        per_level = normalisers.tasks_at_level_1(instance, normalisers.dominant(instance))
        return np.where(runnable, per_level, 0.0)
    return np.asarray(rates_on_tree(instance)(runnable))


def h_drf(instance: Instance, count: str = "total") -> Model:
    """H-DRF: every leaf rises at the rate that the tree gives it; the first round.

    After a round the rates are those of the tree of the users who can still be raised.
    """
    return _first_round("H-DRF", instance, count)


def h_drf_counted(instance: Instance, count: str = "total") -> Model:
    """H-DRF with satisfied leaves counted; the first round, in which no user has all its tasks yet.

    After it rates are those of the tree of active leaves, with the tasks of satisfied leaves as
    part of their queues.
    """
    return _first_round("H-DRF, satisfied leaves counted", instance, count)


def _first_round(name: str, instance: Instance, count: str) -> Model:
    """Return the model with the rates of a tree where no user has all its tasks."""
    model = Model(name, _SOURCE, (instance.users, instance.servers, instance.resources))
    rate = _first_rates(instance) / normalisers.dominant(instance)
    meaning = "rate of n: dominant share for one unit of the root, by the weights on its way up"
    return in_global_shares(
        model, instance, ("rho", rate, meaning), "units that the root gives out", count
    )


def at_level_1(instance: Instance) -> np.ndarray:
    """Return each user's tasks for one unit of the root, all runnable users active; else φΓ."""
    rates = _first_rates(instance)
    alone = normalisers.tasks_at_level_1(instance, normalisers.dominant(instance))
    return np.asarray(np.where(rates > 0, rates, alone))


def collapsed_drfh(instance: Instance, count: str = "total") -> Model:
    """DRFH on the tree made flat: a leaf's weight is the product of its parts on its way up."""
    model = Model(
        "H-DRF, collapsed", f"{_SOURCE}, §3", (instance.users, instance.servers, instance.resources)
    )
    meaning = "product of the parts of n and the queues above it, each among its siblings"
    return in_global_shares(
        model, instance, ("phi", collapsed(instance), meaning), "smallest weighted share", count
    )


def collapsed_at_level_1(instance: Instance) -> np.ndarray:
    """Return the tasks at level 1 on the tree made flat."""
    return normalisers.weighted(instance, collapsed(instance), normalisers.dominant(instance))


def collapsed(instance: Instance) -> np.ndarray:
    """Return the weight of each user on a flat tree: the product of its parts on its way up.

    The part of a queue, or user, is its weight divided by those of its siblings together, itself
    included; queues without a user who can run are no siblings.
    """
    weights = instance.user_weights
    runnable = runnable_users(instance)
    parts, inside = parts_of_queues(instance.tree, weights, runnable)
    of = instance.tree.of
    return np.asarray(
        np.where(runnable, parts[of] * weights / np.where(inside > 0, inside, 1.0)[of], weights)
    )


def parts_of_queues(
    queues: Queues, weights: np.ndarray, runnable: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return each queue's part of the root by weights, and its children's total weight.

    Queues without a user who can run, and users who cannot, are no queue's siblings.
    """
    has_runnable = np.asarray(queues.below @ runnable.astype(float)) > 0
    weights_in_use = np.where(has_runnable, queues.weights, 0.0)
    weights_in_use[0] = 0.0  # the root is no queue's sibling
    inside = np.bincount(queues.parents, weights=weights_in_use, minlength=len(queues))
    inside = inside + np.bincount(
        queues.of, weights=np.where(runnable, weights, 0.0), minlength=len(queues)
    )
    parts = has_runnable.astype(float)
    for v in range(1, len(queues)):  # parents come first
        if has_runnable[v]:
            parts[v] = parts[queues.parents[v]] * weights_in_use[v] / inside[queues.parents[v]]
    return parts, inside
