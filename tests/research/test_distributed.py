"""PS-DSF: Algorithm I, the distributed version, rates, merging, the theorems as models, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
import fairlp_research
import per_server_oracle as oracle
from fairlp import Instance, examples
from fairlp.errors import NotConvergedError, UnknownNameError
from fairlp.mechanisms.per_server.algorithm_1 import separate_start, server_procedure
from fairlp.mechanisms.per_server.market import PerServerMarket
from fairlp_research.distributed import Clocks, Network
from instances import random_instance
from profiles import by_day, many

DIVISIONS = ("rdm", "tdm")


def allocate(instance, division, method="auto", **options):
    return fairlp.allocate(instance, f"psdsf-{division}", method=method, **options)


# --- Algorithm I -----------------------------------------------------------------------------------------------------


def test_algorithm_1_starts_with_drf_on_each_server():
    for seed in range(many(24)):
        instance = random_instance(seed)
        expected = fairlp.allocate(instance, "naive-drf", merge=False).tasks_array
        assert separate_start(PerServerMarket.of(instance, "rdm")) == pytest.approx(
            expected, rel=1e-9, abs=1e-12
        ), seed


def test_the_server_procedure_keeps_capacities_and_raises_the_lowest_level():
    """From any state of one server; a holder chosen for two resources gives its tasks once."""
    updates = 0
    for seed in range(many(80)):
        rng = np.random.default_rng(seed)
        instance = random_instance(seed, integers=False)
        market = PerServerMarket.of(instance, "rdm")
        start = separate_start(market) * rng.uniform(0, 1, (len(instance.users), 1))
        for i, server_users in enumerate(market.users):
            if not server_users.size:
                continue
            totals = start[server_users].sum(axis=1)
            update = server_procedure(market, i, start[server_users, i], totals)
            updates += update.updates
            assert (update.tasks >= 0).all()
            assert (update.tasks @ market.demands[i] <= market.capacity[i] * (1 + 1e-12)).all()
            after = totals - start[server_users, i] + update.tasks
            assert (after <= np.maximum(market.limits[server_users], totals) * (1 + 1e-12)).all()
            assert (after / market.rate[i]).min() >= (totals / market.rate[i]).min() * (1 - 1e-12)
            # the water-filling of this server would not move anything any more
            best = market.respond(i, update.tasks, after).tasks
            assert best == pytest.approx(
                update.tasks, rel=1e-7, abs=1e-7 * market.gamma[server_users, i].max()
            ), (seed, i)
    assert updates > 10 * many(80)


def test_one_user_that_holds_two_saturated_resources():
    """The erratum: user b is n_r of cpu and of memory. Releasing it twice would give out more than there is."""
    instance = Instance.from_arrays([[1, 1], [2, 2]], [[4, 4], [4, 4]], eligible=[[1, 0], [1, 1]])
    market = PerServerMarket.of(instance, "rdm")
    server_tasks, totals = np.array([0.0, 2.0]), np.array([0.0, 4.0])
    update = server_procedure(market, 0, server_tasks, totals)
    assert update.tasks.tolist() == pytest.approx([4, 0]) and update.updates == 1
    answer = allocate(instance, "rdm", "algorithm-1")
    assert answer.totals.tolist() == pytest.approx([4, 2]) and list(answer.rounds.columns) == [
        "change",
        "updates",
    ]
    # naive DRF, where it starts, gives user a 2 tasks of 4
    assert answer.rounds["updates"].tolist() == [1, 0]


# --- distributed -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("division", DIVISIONS)
@pytest.mark.parametrize("procedure", ["best-response", "algorithm-1"])
@pytest.mark.parametrize("delay", [0, 0.4, 2])
def test_distributed_servers_reach_a_fixed_point(division, procedure, delay):
    for seed in range(many(8)):
        instance = random_instance(30_000 + seed, integers=seed % 2 == 0)
        allocation = allocate(
            instance, division, "distributed", procedure=procedure, delay=delay, clock_seed=seed
        )
        assert oracle.holds(instance, allocation.tasks_array, division), seed


def test_distributed_is_reproducible_and_traced():
    instance = examples.load("khamse-ashari-table-3")
    first, second, other = (
        allocate(instance, "rdm", "distributed", clock_seed=seed, delay=0.3).rounds
        for seed in (1, 1, 2)
    )
    assert first.equals(second) and not first.equals(other)
    assert list(first.columns) == ["time", "server", "change", "violation", "distance"]
    assert first["time"].is_monotonic_increasing and set(first["server"]) == set("ABCD")
    # every server acts once a period, give or take the jitter
    for server in "ABCD":
        waits = first.loc[first["server"] == server, "time"].diff().dropna()
        assert waits.between(0.9, 1.1).all()
    sampled = first.dropna()
    assert sampled["distance"].iloc[0] > 0.1 and sampled["distance"].iloc[-1] < 1e-9


def test_servers_never_exceed_their_capacity_on_the_way():
    instance = random_instance(3, integers=False)
    network = Network(PerServerMarket.of(instance, "rdm"), Clocks(delay=3.0, seed=5))
    for _ in network.run(40.0):
        used = network.tasks.T @ instance.demands
        assert (used <= instance.capacities * instance.counts[:, None] * (1 + 1e-12)).all()


@pytest.mark.slow
@pytest.mark.parametrize("division", DIVISIONS)
def test_late_messages_oscillate_without_damping(division):
    """Servers that hear of each other after three periods give and take, until chance ends it; damped, they settle."""
    instance = Instance.from_arrays([[3, 5], [4, 4]], [[28, 7], [24, 24], [23, 17], [5, 39]])
    for seed in by_day(range(3), 3):
        options = {"delay": 3, "clock_seed": seed, "seconds": 400}
        with pytest.raises(
            NotConvergedError, match=r"400 simulated seconds .*could run .*smaller damping"
        ):
            allocate(instance, division, "distributed", damping=1, **options)
        damped = allocate(instance, division, "distributed", **options)
        assert oracle.holds(instance, damped.tasks_array, division)


# --- users who come and go -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def figure_6():
    cluster = examples.load("khamse-ashari-table-3")
    return fairlp_research.distributed.track(cluster, {"user4": (100, 250)}, until=300)


def test_figure_6(figure_6):
    used = figure_6.utilization
    assert used.index.tolist() == list(range(301))
    assert figure_6.mechanisms == ["psdsf-rdm", "tsf", "c-drfh"]
    instance = figure_6.instance
    without = instance.select_users(np.arange(3))
    for time, cluster in ((99, instance), (249, without), (300, instance)):
        for mechanism in figure_6.mechanisms:
            static = fairlp.allocate(cluster, mechanism)
            totals = figure_6.tasks.loc[time, mechanism]
            assert totals[list(cluster.users)].to_numpy() == pytest.approx(
                static.totals.to_numpy(), rel=1e-6
            )
            assert totals.drop(list(cluster.users)).eq(0).all()
    # the paper: C's CPUs are full under PS-DSF, and not under its rivals; D's are full
    assert used.loc[99, ("psdsf-rdm", "C", "cpu")] == pytest.approx(1, rel=1e-6)
    assert used.loc[99, ("tsf", "C", "cpu")] == pytest.approx(0.8048, abs=1e-4)
    assert used.loc[99, ("c-drfh", "C", "cpu")] == pytest.approx(0.7995, abs=1e-4)
    assert used.loc[99, ("psdsf-rdm", "D", "cpu")] == pytest.approx(1, rel=1e-6)
    # servers converge promptly
    assert figure_6.changes["event"].tolist() == ["leaves", "enters"]
    assert (figure_6.changes["seconds"] <= 3).all()
    assert figure_6.distance[[99, 249, 300]].max() < 1e-6


def test_tracking_averages_and_plots(figure_6):
    samples = figure_6.utilization
    assert figure_6.average().to_numpy().mean() == pytest.approx(samples.to_numpy().mean())
    means = figure_6.average(110, 250)
    assert list(means.columns) == figure_6.mechanisms and means.index.names == [
        "server",
        "resource",
    ]
    assert means.loc[("C", "cpu"), "psdsf-rdm"] == pytest.approx(1, rel=1e-6)
    pytest.importorskip("matplotlib")
    figure = fairlp_research.plots.plot_tracking(figure_6, "cpu", servers=["C", "D"])
    assert [axis.get_title() for axis in figure.axes] == ["cpu of C", "cpu of D"]
    for axis in figure.axes:
        assert axis.get_xlabel() == "time [s]" and len(axis.lines) == 3
    assert figure.axes[0].get_ylabel() == "fraction of capacity in use"
    assert (
        figure.axes[0].lines[0].get_ydata().tolist()
        == figure_6.utilization[("psdsf-rdm", "C", "cpu")].tolist()
    )
    with pytest.raises(UnknownNameError, match="no server is called 'E'"):
        fairlp_research.plots.plot_tracking(figure_6, "cpu", servers=["E"])
    series = {
        "sweeps": allocate(figure_6.instance, "rdm", "sweeps").rounds["change"],
        "other": [1.0, 0.1, 0.0],
    }
    figure = fairlp_research.plots.plot_convergence(series)
    (axis,) = figure.axes
    assert axis.get_yscale() == "log" and axis.lines[1].get_ydata().tolist() == [1.0, 0.1]
    assert axis.get_xlabel() == "sweep" and "fraction" in axis.get_ylabel()


@pytest.mark.slow
@pytest.mark.parametrize("division", DIVISIONS)
def test_users_who_come_late_leave_and_come_back(division):
    for seed in by_day(range(8), 4):
        instance = random_instance(40_000 + seed)
        first = instance.users[0]
        tracking = fairlp_research.distributed.track(
            instance,
            {first: [(0, 20), (150, 300)]},
            until=400,
            beside=(),
            division=division,
            delay=0.2,
            clock_seed=seed,
        )
        name = f"psdsf-{division}"
        other_users = np.arange(1, len(instance.users))
        assert tracking.tasks.loc[[0, 19, 200], (name, first)].eq(0).all()
        if other_users.size:  # without the first user the others were at a fixed point of their own
            small = instance.select_users(other_users)
            final = fairlp_research.distributed.track(
                small, until=60, beside=(), division=division, clock_seed=seed
            )
            assert final.distance.iloc[-1] < 0.01
        assert tracking.changes["event"].tolist() == ["leaves", "enters", "leaves", "enters"]
        assert tracking.distance.iloc[-1] < 0.01, seed


# --- given rates -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("division", DIVISIONS)
@pytest.mark.parametrize(
    "method", ["best-response", "sweeps", "algorithm-1", "distributed", "milp"]
)
def test_figure_4_wireless_channels(division, method):
    allocation = allocate(examples.load("khamse-ashari-figure-4"), division, method)
    assert allocation.totals.tolist() == pytest.approx([1500, 1000], rel=1e-9)  # 1.5 and 1 Mb/s
    assert allocation.tasks_array == pytest.approx(
        np.array([[750, 750, 0], [0, 500, 500]]), rel=1e-9, abs=1e-6
    )
    assert (
        allocation.utilization.to_numpy() == pytest.approx(1, rel=1e-9)
        and allocation.residual < 1e-9
    )


@pytest.mark.parametrize("division", DIVISIONS)
def test_rates_scale_demands(division):
    """Rates that equal the computed γ change nothing; others satisfy the theorem with the scaled demands."""
    for seed in range(many(40)):
        plain = random_instance(50_000 + seed, integers=seed % 2 == 0)
        per_server = plain.gamma() / plain.counts
        scaled_instance = plain.replace(rates=per_server)
        expected = allocate(plain, division)
        assert allocate(scaled_instance, division).totals.to_numpy() == pytest.approx(
            expected.totals.to_numpy(), rel=1e-8
        ), seed
        rng = np.random.default_rng(seed)
        case = plain.replace(rates=per_server * rng.integers(0, 4, per_server.shape))
        allocation = allocate(case, division)
        assert oracle.holds(case, allocation.tasks_array, division), seed
        assert allocation.residual < 1e-9
        alone = case.select_users(np.array([0]))
        if np.isinf(alone.task_limits[0]):
            assert allocate(alone, division).tasks_array[0] == pytest.approx(
                alone.gamma()[0], rel=1e-9
            ), seed


def test_a_coprocessor_draws_its_user():
    """Two equal servers; the coprocessor of the second makes tasks of b four times lighter there."""
    demands, capacities = [[1, 1], [1, 1]], [[8, 8], [8, 8]]
    with_it = Instance.from_arrays(demands, capacities, rates=[[8, 8], [8, 32]])
    assert allocate(
        Instance.from_arrays(demands, capacities), "rdm"
    ).totals.tolist() == pytest.approx([8, 8])
    for division in DIVISIONS:
        answer = allocate(with_it, division)
        assert answer.tasks_array == pytest.approx(np.array([[8, 0], [0, 32]]), abs=1e-9)
        assert answer.usage.to_numpy() == pytest.approx(8) and answer.residual < 1e-9


# --- best responses at a larger scale --------------------------------------------------------------------------------


@pytest.mark.parametrize("division", DIVISIONS)
@pytest.mark.parametrize("limits", [False, True])
def test_pivots_settle_larger_clusters_in_few_sweeps(division, limits):
    """150 × 50 log-normal, 30 % of the servers each, a third of the users at their limits: tens of sweeps."""
    for seed in by_day(range(4), 4):
        rng = np.random.default_rng(seed)
        demands, capacities = rng.lognormal(0, 1, (150, 3)), rng.lognormal(3, 1, (50, 3))
        eligible = rng.random((150, 50)) < 0.3
        eligible[np.arange(150), rng.integers(0, 50, 150)] = True
        fields = {"eligible": eligible, "weights": rng.integers(1, 4, 150)}
        if limits:
            fields["task_limits"] = rng.lognormal(2.5, 1, 150)
        instance = Instance.from_arrays(demands, capacities, **fields)
        allocation = allocate(instance, division, most_sweeps=300)
        assert allocation.certificate.violation < 1e-9
        assert oracle.holds(instance, allocation.tasks_array, division), seed
