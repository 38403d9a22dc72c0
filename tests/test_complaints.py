"""No justified complaints: the paper's numbers, every method, the check, DRF beside it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairlp
from fairlp import complaints, examples
from fairlp.errors import InstanceError, NotDefinedError, UnknownNameError
from fairlp.tolerances import CONVEX_POINT

SINGLE = ("eg", "convex")
CLOSE = {"eg": 1e-14, "convex": 1e-6}
GOLDEN = {
    "dolev-figure-2": [1 / 3, 1 / 3, 5 / 6],
    "dolev-section-4": [1, 1 / 2],
    "dolev-section-5": [1 / 2, 1 / 2, 1 / 2],
    "dolev-circle": [1 / 3] * 4,
    "ghodsi": [45 / 11, 18 / 11],
}


def totals(instance, **options):
    return fairlp.allocate(instance, "njc", **options).totals.to_numpy()


@pytest.mark.parametrize("method", SINGLE)
@pytest.mark.parametrize("name", GOLDEN)
def test_the_papers_examples(name, method):
    assert totals(examples.load(name), method=method) == pytest.approx(
        GOLDEN[name], rel=CLOSE[method]
    )


@pytest.mark.parametrize("method", SINGLE)
def test_section_3_as_printed(method):
    user_totals = totals(examples.load("dolev-section-3"), method=method)
    assert user_totals.round(6).tolist() == [0.978703, 0.607937, 0.130688]


def test_figure_2_beside_drf():
    comparison = complaints.against_drf(examples.load("dolev-figure-2"))
    assert comparison.users["njc"].tolist() == pytest.approx([1 / 3, 1 / 3, 5 / 6])
    assert comparison.users["drf"].tolist() == pytest.approx([0.4, 0.4, 0.5])
    assert comparison.resources["njc"].tolist() == pytest.approx(
        [1, 0.8]
    )  # of resource 2: 2/30 + 2/30 + 2/3
    assert comparison.users["gain"].idxmax() == "user3" and comparison.complaints.complaining == (
        "user3",
    )


def test_section_4_where_drf_uses_more():
    comparison = complaints.against_drf(examples.load("dolev-section-4"))
    assert comparison.users["drf"].tolist() == pytest.approx([2 / 3, 2 / 3])
    assert comparison.resources["drf"].tolist() == pytest.approx([1, 2 / 3, 2 / 3, 2 / 3])
    assert comparison.resources["njc"].tolist() == pytest.approx([1, 1 / 2, 1 / 2, 1])


def test_of_the_circle_of_four_more_is_fair_than_the_paper_counts():
    instance = examples.load("dolev-circle")
    # the one that the paper does not count, and one of its six
    for x, names in (([0.3, 0.45, 0.25, 0.25], [1, 2]), ([0.25, 0.25, 0.375, 0.375], [3, 4])):
        verdict = complaints.check(instance, x)
        assert verdict and list(verdict.bottlenecks) == [f"resource{k}" for k in names]
    # to use the most leads to the symmetric one, as the paper says
    assert totals(instance, method="milp") == pytest.approx([1 / 3] * 4)


def test_users_who_ask_for_less_than_their_entitlement_have_all():
    instance = examples.requests([[0.1, 0.2], [1, 0.5], [0.3, 1]], [0.5, 0.25, 0.25])
    for method in ("eg", "convex", "milp"):
        allocation = fairlp.allocate(instance, "njc", method=method)
        assert allocation.totals["user1"] == pytest.approx(1, rel=1e-6), method
    # §5.1: removed, with capacities and entitlements of the others scaled up, the rest is the same
    rest = fairlp.Instance.from_arrays(
        [[1, 0.5], [0.3, 1]], [[0.9, 0.8]], task_limits=[1, 1], entitlements=[0.5, 0.5]
    )
    assert totals(rest) == pytest.approx(totals(instance)[1:], rel=1e-12)


def test_users_entitled_to_nothing_get_what_others_leave():
    table = [[1, 0], [0.4, 0.2], [0.8, 0.1], [0, 0.5], [0, 0.5]]
    instance = examples.requests(table, [0.5, 0.5, 0, 0, 0])
    for method in SINGLE:
        allocation = fairlp.allocate(instance, "njc", method=method)
        # 60 % and all of user 2's: the third needs what is used up, the others share 0.8 of the
        # second resource
        assert allocation.totals.tolist() == pytest.approx(
            [0.6, 1, 0, 0.8, 0.8], rel=1e-5, abs=1e-5
        ), method
        assert complaints.check(instance, allocation, CONVEX_POINT)
    heavier = instance.replace(weights=np.array([1.0, 1, 1, 3, 1]))
    assert totals(heavier).tolist() == pytest.approx([0.6, 1, 0, 1, 0.6])
    # with nothing saturated that it uses, even a user entitled to nothing may ask for more
    idle = complaints.check(instance, [0.6, 1, 0, 0, 0])
    assert idle.complaining == ("user4", "user5") and idle.table.loc["user4", "bottleneck"] == ""
    assert idle.table.loc["user4", "room"] == 1 and idle.table.loc["user3", "room"] == 0


def test_requests_of_nothing_and_of_more_than_there_is():
    instance = fairlp.Instance.from_arrays(
        [[1, 1], [2, 1], [1, 3]],
        [[4, 6]],
        task_limits=[0, 100, np.inf],
        entitlements=[0.2, 0.4, 0.4],
    )
    for method in ("eg", "convex", "milp"):
        allocation = fairlp.allocate(instance, "njc", method=method)
        assert allocation.totals.iloc[0] == 0 and complaints.check(
            instance, allocation, CONVEX_POINT
        ), method
        # to ask for 100 tasks is to ask for all that one could run alone
        answer = fairlp.allocate(
            instance.replace(task_limits=np.array([0.0, 2, np.inf])), "njc", method=method
        )
        assert answer.totals.to_numpy() == pytest.approx(allocation.totals.to_numpy(), rel=1e-6)
    table = complaints.check(instance, allocation, CONVEX_POINT).table
    assert not table["complains"].iloc[0] and table["owed"].iloc[0] == 0


def test_nothing_is_contended():
    instance = examples.requests([[0.2, 0.3], [0.3, 0.1]], [0.01, 0.99])
    for method in ("eg", "convex", "milp"):
        allocation = fairlp.allocate(instance, "njc", method=method)
        assert (
            allocation.totals.tolist() == pytest.approx([1, 1], rel=1e-6)
            and not allocation.certificate.bottlenecks
        ), method


def test_entitlements_are_weights_by_default():
    demands, weights = [[1, 4], [3, 1]], np.array([3.0, 1.0])
    by_weights = fairlp.Instance.from_arrays(demands, [[9, 18]], weights=weights)
    by_entitlements = fairlp.Instance.from_arrays(demands, [[9, 18]], entitlements=weights / 4)
    assert totals(by_weights) == pytest.approx(totals(by_entitlements), rel=1e-15)


def test_who_complains_and_what_is_owed():
    instance = examples.load("ghodsi")
    drf = fairlp.allocate(instance, "drf")
    verdict = complaints.check(instance, drf)
    assert not verdict and verdict.complaining == ("A",) and verdict.bottlenecks == ("cpu",)
    row = verdict.table.loc["A"]
    # it has 3 of 9 CPUs and is entitled to 4.5
    assert (
        row["owed"] == pytest.approx(1.5)
        and row["fraction"] == pytest.approx(1 / 3)
        and row["room"] == 0
    )
    assert verdict.complaint == pytest.approx(1 / 3) and verdict.margin == pytest.approx(-1 / 3)
    assert str(verdict) == "'A' is owed 1.5 tasks (bottlenecks: cpu)"
    for other in (drf.totals, drf.tasks, drf.totals.to_dict(), [3, 2], drf.totals.iloc[::-1]):
        pd.testing.assert_frame_equal(complaints.check(instance, other).table, verdict.table)
    over = complaints.check(instance, [9, 9])
    assert (
        not over
        and "'cpu' is given out 4 times" in over.violations[0]
        and over.margin == pytest.approx(-3)
    )
    limited = examples.load("dolev-figure-2")
    assert "asked for 1" in complaints.check(limited, [0, 0, 1.5]).violations[1]
    idle = complaints.check(instance, [0, 0])
    assert idle.complaining == ("A", "B") and not idle.bottlenecks
    assert idle.table["room"].tolist() == [4.5, 3]
    for tasks, message in (
        ([1], "shape"),
        ([1, -1], "'B'"),
        ([np.nan, 1], "'A'"),
        ({"A": 1}, "'B'"),
    ):
        with pytest.raises(InstanceError, match=message):
            complaints.check(instance, tasks)


def test_criteria_and_their_errors():
    instance = examples.load("dolev-section-5")
    best = fairlp.allocate(instance, "njc", criterion="user1")
    assert best.method == "milp" and best.totals["user1"] == pytest.approx(0.7)
    mixed = fairlp.allocate(instance, "njc", criterion={"user2": 1, "user3": 2})
    assert mixed.totals.tolist() == pytest.approx([0.5] * 3)
    assert fairlp.allocate(instance, "njc", criterion="least-served").totals.min() == pytest.approx(
        0.5
    )
    for method in SINGLE:
        with pytest.raises(UnknownNameError, match="one of milp"):
            fairlp.allocate(instance, "njc", method=method, criterion="user1")
    with pytest.raises(UnknownNameError, match="did you mean 'utilization'"):
        fairlp.allocate(instance, "njc", criterion="utilisation")
    with pytest.raises(InstanceError, match="finite"):
        fairlp.allocate(instance, "njc", criterion={"user1": np.inf})
    with pytest.raises(UnknownNameError, match="candidates"):
        fairlp.allocate(instance, "njc", method="candidates")
    with pytest.raises(UnknownNameError, match="bottlenecks"):
        fairlp.formulate(instance, "njc", botlenecks=["resource1"])
    with pytest.raises(UnknownNameError, match="'threads'"):
        fairlp.allocate(instance, "njc", method="eg", threads=1)
    assert fairlp.allocate(instance, "njc", threads=1).method == "convex"


def test_defined_on_one_server_only():
    with pytest.raises(NotDefinedError, match=r"defined are: .*ceei"):
        fairlp.allocate(examples.load("wang-figure-1"), "njc")
    with pytest.raises(NotDefinedError):
        complaints.against_drf(examples.load("wang-figure-1"))
    with pytest.raises(NotDefinedError):
        complaints.check(examples.load("wang-figure-1"), [1, 1])


def test_units_of_data_do_not_matter():
    rng = np.random.default_rng(4)
    demands, capacity = rng.random((50, 6)), rng.random(6) * 10
    base = totals(fairlp.Instance.from_arrays(demands, [capacity]))
    unit = 10.0 ** rng.integers(-6, 10, 6)
    assert totals(fairlp.Instance.from_arrays(demands * unit, [capacity * unit])) == pytest.approx(
        base, rel=1e-11
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dolev-section-3", "dolev-circle", "ghodsi"])
def test_validate_compares_the_methods(name):
    table = fairlp.validate(examples.load(name), "njc")
    assert table["agrees"].all() and set(table.index) == set(
        fairlp.mechanisms.find("njc").method_names
    )
    chosen = fairlp.validate(examples.load(name), "njc", criterion="least-served")
    assert chosen["agrees"].all() and "milp" in chosen.index


def test_an_allocation_carries_its_proof():
    allocation = fairlp.allocate(examples.load("dolev-section-4"), "njc")
    assert allocation.certificate.bottlenecks == ("resource1", "resource4")
    assert allocation.certificate.holds and allocation.gap == allocation.certificate.gap
    assert allocation.levels.tolist() == pytest.approx([2, 1])  # of what would end a complaint
    assert allocation.prices.loc["pool"].tolist() == pytest.approx([1, 0, 0, 0])
    with_units = fairlp.allocate(examples.load("ghodsi"), "njc")
    assert with_units.prices.loc["pool"].tolist() == pytest.approx([0.9 / 9, 0.1 / 18])
    # one more unit of CPU: what Σ e·log x gains
    larger_instance = fairlp.Instance.from_arrays([[1, 4], [3, 1]], [[9.001, 18]])
    gain = 0.5 * np.log(totals(larger_instance)).sum() - 0.5 * np.log(with_units.totals).sum()
    assert gain == pytest.approx(0.001 * 0.1, rel=1e-3)


def test_the_definition_alone_does_not_exclude_envy():
    """§4 claims that no justified complaints imply strategy-proofness and thereby no envy; neither is so."""
    instance = examples.requests([[1], [1], [0.1]], [1 / 3] * 3)
    assert complaints.check(instance, [1 / 3, 17 / 30, 1])  # equal users, unequal shares
    assert totals(instance, criterion="user1")[0] == pytest.approx(17 / 30)
    assert totals(instance) == pytest.approx(
        [0.45, 0.45, 1]
    )  # the optimum's prices are the same for all
    # Ghodsi et al., §6.1.2: at market equilibrium the first user gains by asking for memory that it
    # does not need
    honest = fairlp.Instance.from_arrays([[16, 1], [1, 2]], [[100, 100]])
    lying = fairlp.Instance.from_arrays([[16, 8], [1, 2]], [[100, 100]])
    assert totals(honest) == pytest.approx([100 / 31, 1500 / 31]) and totals(lying)[
        0
    ] == pytest.approx(25 / 6)
