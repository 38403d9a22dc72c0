"""``certify()`` of max-min mechanisms: by prices, from the instance's numbers, whatever made the answer."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.optimize import linprog

import fairlp
import leximin_oracle
from fairlp import Instance
from fairlp.errors import NotDefinedError
from fairlp.formulations import region as model_region
from fairlp.formulations.normalisers import tasks_at_level_1
from fairlp.mechanisms.max_min import methods
from fairlp.mechanisms.max_min.proof import PricedRegion, prove_rounds
from fairlp.mechanisms.table import find
from fairlp.models.paths import engine
from fairlp.models.trees import guarantees, tree, tree_path
from fairlp.solvers.leximin import leximin, programs
from fairlp_research.library.numerics import SHAPES, shaped
from profiles import many
from tree_instances import tree_instance

MECHANISMS = (
    "drf",
    "edrf",
    "asset",
    "drfh",
    "c-drfh",
    "cdrf",
    "tsf",
    "h-drf",
    "h-drf-counted",
    "h-drf-collapsed",
)


def limited_in_a_queue() -> Instance:
    """Return two servers of 36 CPUs, and a queue that is guaranteed 20 of them for a user who has 7 tasks."""
    return Instance.from_arrays(
        [[1], [1]],
        [[36], [36]],
        users=["a", "b"],
        resources=["cpu"],
        task_limits=[7, np.inf],
        queue=["q", None],
        queues={"q": {"guarantee": {"cpu": 20}}},
    )


def two_sizes_of_task(guarantee: float) -> Instance:
    return Instance.from_arrays(
        [[4], [2]],
        [[24], [16]],
        users=["ann", "bob"],
        resources=["memory"],
        task_limits=[15, 5],
        queue=["q", "q"],
        queues={"q": {"guarantee": {"memory": guarantee}}},
    )


def drawn(seed: int) -> Instance:
    """Return an instance with a tree, and one without guarantees where those of the first cannot be kept."""
    rng = np.random.default_rng(seed)
    return tree_instance(
        rng, servers=3, guarantees=seed % 2 == 0, caps=seed % 3 == 0, flat=seed % 5 == 0
    )


def allocations(instance, names=MECHANISMS, methods=("auto", "lp", "interior-point"), **options):
    for name in names:
        for method in methods:
            try:
                yield fairlp.allocate(instance, name, method=method, **options)
            except (NotDefinedError, fairlp.errors.UnknownNameError):
                continue  # one server only, or no such method
            except fairlp.errors.InstanceError as error:
                assert "cannot all be kept" in str(error)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_what_a_guarantee_reserves_depends_on_task_limits(mechanism):
    instance = limited_in_a_queue()
    instance = instance.pooled() if find(mechanism).shares_one_server else instance
    proved_allocations = list(allocations(instance, [mechanism]))
    assert proved_allocations
    for allocation in proved_allocations:
        assert allocation.totals.to_numpy() == pytest.approx([7, 65]), allocation.method
        assert allocation.certify() and allocation.certify(exact=True)
    assert fairlp.allocate(
        limited_in_a_queue(), "alpha-fair", alpha=np.inf
    ).totals.tolist() == pytest.approx([7, 65])


@pytest.mark.parametrize("guarantee", [31, 36, 40])
@pytest.mark.parametrize("mechanism", ["drfh", "h-drf", "h-drf-counted"])
def test_guarantees_of_more_than_their_users_can_use_are_kept(mechanism, guarantee):
    for allocation in allocations(two_sizes_of_task(guarantee), [mechanism]):
        assert allocation.totals.to_numpy() == pytest.approx([7.5, 5])
        assert allocation.certify()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(many(20)))
def test_answers_are_proved_by_prices_and_by_rationals(seed):
    count = "borrowed" if seed % 4 == 0 else "total"
    for allocation in allocations(drawn(seed), count=count):
        assert allocation.certify(), allocation
        assert allocation.certify(exact=True), allocation


@pytest.mark.parametrize("seed", range(many(20)))
def test_other_tasks_are_refused(seed):
    """One user has a little less, or gives it to another one who can use it."""
    rng = np.random.default_rng(seed)
    for allocation in allocations(drawn(seed), methods=("auto",)):
        tasks = allocation.tasks_array.copy()
        user = int(rng.choice(np.flatnonzero(tasks.sum(axis=1) > 0)))
        tasks[user] *= 1 - 1e-3
        assert not dataclasses.replace(allocation, tasks_array=tasks).certify(), allocation
        assert not dataclasses.replace(allocation, tasks_array=tasks * 0).certify(), allocation


@pytest.mark.parametrize("mechanism", ["drfh", "tsf", "h-drf", "h-drf-counted"])
def test_a_proof_by_prices_calls_nothing_that_made_the_answer(mechanism, monkeypatch):
    instance = limited_in_a_queue()
    allocation = fairlp.allocate(instance, mechanism)

    def called(*_, **__):
        raise AssertionError("the proof calls what it proves")

    for module, name in (
        (leximin, "leximin"),
        (leximin, "climb"),
        (leximin, "merge_servers"),
        (methods, "floors"),
        (model_region, "floors"),
        (guarantees, "floors"),
        (engine, "rise"),
        (programs.ServersByPrograms, "__init__"),
        (tree_path.TreePath, "__init__"),
        (tree.Tree, "pace"),
    ):
        monkeypatch.setattr(module, name, called)
    prices = allocation.round_prices
    counted = {"h-drf": False, "h-drf-counted": True}.get(mechanism)
    row = dataclasses.replace(find(mechanism), at_level_1=None)
    assert prove_rounds(
        row, instance, allocation.tasks_array, prices, counted=counted, may_solve=False
    )


@pytest.mark.parametrize("seed", range(many(15)))
def test_the_region_of_proofs_is_that_of_the_printed_model(seed):
    """The most that users can have together, at random weights: by the model, and by the region's own numbers."""
    instance = drawn(seed).replace(queues=None) if seed % 2 else drawn(3 * seed + 3)
    rng = np.random.default_rng(seed)
    region = PricedRegion(instance)
    users, servers = instance.shape
    values = rng.uniform(0.1, 1, users)
    model = fairlp.formulate(instance, "tsf")
    if "guarantee" in model.constraints:
        model.remove("guarantee")
    model.remove(model.constraints["fairness"].name)
    w = model.parameter("worth", instance.users, values)
    model.maximize((w * model["x"].sum(instance.servers)).sum(instance.users))
    right = model.solve().require_optimal().objective

    pairs = np.argwhere(region.runs)
    use = np.zeros((servers * instance.demands.shape[1], len(pairs)))
    totals = np.zeros((users, len(pairs)))
    for k, (n, i) in enumerate(pairs):
        use[i * instance.demands.shape[1] : (i + 1) * instance.demands.shape[1], k] = (
            instance.demands[n]
        )
        totals[n, k] = 1
    finite = np.isfinite(instance.task_limits)
    A = np.vstack([use, totals[finite], region.caps.toarray() @ totals])
    b = [
        *instance.total_capacities.ravel(),
        *instance.task_limits[finite],
        *region.room[instance.demands.shape[1] :],
    ]
    optimum = linprog(-(values @ totals), A, b)
    assert -optimum.fun == pytest.approx(right, rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("seed", range(many(10)))
def test_levels_of_a_proved_allocation_are_those_of_the_definition(seed):
    """In rationals, by a simplex method that shares nothing with fairlp."""
    rng = np.random.default_rng(seed)
    instance = tree_instance(rng, servers=2, flat=True)
    for allocation in allocations(instance, ["drfh", "tsf"], ("auto",)):
        due = tasks_at_level_1(instance, find(allocation.mechanism).gamma(instance)).tolist()
        levels = leximin_oracle.leximin(
            instance.demands.tolist(),
            instance.capacities.tolist(),
            instance.counts.tolist(),
            due,
            instance.task_limits.tolist(),
            instance.eligible.tolist(),
        )
        assert allocation.certify()
        assert allocation.levels.to_numpy() == pytest.approx(
            [float(level) for level in levels], rel=1e-9, abs=1e-12
        )


#: Shapes of which floats cannot tell enough: users who take next to nothing, and levels that hang
#: on rounding.
HARD = ("weights", "spread", "windows")


@pytest.mark.parametrize("shape", [name for name in SHAPES if name not in HARD])
def test_large_instances_are_proved_without_a_program(shape):
    instance = shaped(shape, 60)
    allocation = fairlp.allocate(instance, "drfh")
    proof = prove_rounds(
        find("drfh"), instance, allocation.tasks_array, allocation.round_prices, may_solve=False
    )
    assert proof and proof.gap < 1e-6


def test_without_prices_programs_of_the_model_give_some():
    instance = shaped("log-normal", 30)
    allocation = fairlp.allocate(instance, "drfh")
    row, tasks = find("drfh"), allocation.tasks_array
    assert prove_rounds(row, instance, tasks).gap < 1e-6
    assert "prices allow it up to" in prove_rounds(row, instance, tasks, may_solve=False).message
    worse = tasks * np.where(np.arange(len(tasks)) == 3, 0.9, 1.0)[:, None]
    assert "not optimal: user 'user4'" in prove_rounds(row, instance, worse).message


FAR_APART = {
    "a queue of weight 1e8": {"queue": ["q", None], "queues": {"q": 1e8}},
    "a queue of weight 1e10": {"queue": ["q", None], "queues": {"q": 1e10}},
    "against the weights of users": {
        "queue": ["q", None],
        "queues": {"q": 1e8},
        "weights": [1, 0.01],
    },
    "with the weights of users": {"queue": ["q", None], "queues": {"q": 1e8}, "weights": [0.01, 1]},
}


@pytest.mark.parametrize("name", FAR_APART)
@pytest.mark.parametrize("mechanism", ["h-drf", "h-drf-counted", "h-drf-collapsed"])
def test_weights_along_a_tree_may_be_far_apart(name, mechanism):
    """The second user has 12/(w + 1) tasks, right to eight digits or said not to be proved."""
    instance = Instance.from_arrays([[1], [1]], [[6], [6]], users=["a", "b"], **FAR_APART[name])
    weight = FAR_APART[name]["queues"]["q"]
    if "weights" in FAR_APART[name]:
        weight /= instance.weights[1]
    for allocation in allocations(instance, [mechanism]):
        assert allocation.totals.to_numpy() == pytest.approx(
            [12 * weight / (1 + weight), 12 / (1 + weight)], rel=1e-8
        )
        assert not allocation.unproved


@pytest.mark.parametrize("mechanism", ["h-drf", "h-drf-counted"])
@pytest.mark.parametrize(
    ("demands", "capacities", "limit", "right"),
    [
        ([[0, 5], [4, 1], [5, 0]], [[6, 4], [6, 2]], 0.48, [0.48, 1.2, 1.44]),
        ([[0, 5, 0], [4, 1, 0], [5, 0, 4]], [[150, 100, 200], [150, 50, 75]], 12, [12, 30, 36]),
    ],
)
def test_a_limit_that_is_reached_where_a_resource_ends(
    mechanism, demands, capacities, limit, right
):
    instance = Instance.from_arrays(
        demands, capacities, task_limits=[limit, np.inf, np.inf], queue=["b/d", "b/d", "b"]
    )
    proved_allocations = list(allocations(instance, [mechanism]))
    assert len(proved_allocations) == 3
    for allocation in proved_allocations:
        assert allocation.totals.to_numpy() == pytest.approx(right)
        assert allocation.certify()


@pytest.mark.parametrize("size", [1e-6, 2e-7, 8e-8, 2e-8, 5e-9, 2e-9])
@pytest.mark.parametrize("exact", [False, True])
def test_tasks_that_break_a_capacity_are_refused_however_little(size, exact):
    pool = Instance.from_arrays([[1, 1], [1, 1]], [[4, 4], [4, 4]])
    allocation = fairlp.allocate(pool, "drfh")
    tasks = allocation.tasks_array.copy()
    tasks[0] += np.array([size, -size]) * 4  # what one server gains the other loses
    moved = dataclasses.replace(allocation, tasks_array=tasks)
    proof = moved.certify(exact=exact)
    assert not proof.holds and proof.message.startswith("infeasible")
