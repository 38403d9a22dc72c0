"""Leximins of concave levels: against bisection with SciPy, closed forms, cones and Gavel's policy; and bad input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

import fairlp
from concave_levels import by_bisection, model_of, random_cluster
from fairlp import Index, Model, log, minimum, power
from fairlp.errors import ModelError, NoSolutionError, SolverError
from fairlp.formulations import gavel
from own_back_ends import Dual, liar
from profiles import by_day, many

#: What bisection over programs of a tolerance of 1e-7 is off by.
ORACLE = 1e-5


def cake(users=("ann", "bob"), size=10.0, **options):
    """One resource that all share, and the variable of who has how much."""
    n = Index("n", list(users), "user")
    model = Model("cake", indices=(n,))
    x = model.variable("x", n, **options)
    model.constraint("cake", x.sum(n) <= size)
    return model, x


def check_against_bisection(seed):
    """Return whether the answer is proved; where a power at 0 decides it may not be, and says so."""
    cluster = random_cluster(seed)
    answer = fairlp.leximin(model_of(cluster))
    proof = answer.certify()
    assert proof or 0 < cluster.exponent < 1, f"seed {seed}: {proof}"
    if answer.unproved and not proof:
        return False
    # no lower than those of bisection, whose floors have the slack of its programs, at the first that differs
    expected = np.sort(by_bisection(cluster))
    levels = np.sort(answer.levels.to_numpy())
    differs = abs(levels - expected) > ORACLE * np.maximum(1, abs(expected))
    first = int(differs.argmax())
    assert not differs.any() or levels[first] > expected[first], (
        f"seed {seed}: {levels}, {expected}"
    )
    x = answer["x"].to_numpy()
    used = np.einsum("nr,ni->ir", cluster.demands, x)
    assert (used <= cluster.capacities + 1e-8).all() and (x >= -1e-9).all(), f"seed {seed}"
    assert (x <= cluster.limits + 1e-8).all(), f"seed {seed}"
    reached = (cluster.rates * x).sum(axis=1)
    levels = [cluster.level(n, max(work, 0.0)) for n, work in enumerate(reached)]
    np.testing.assert_allclose(answer.levels, levels, rtol=1e-7, atol=1e-7, err_msg=f"seed {seed}")
    return bool(proof)


@pytest.mark.parametrize("seed", range(many(40)))
def test_mixtures_of_levels_are_those_of_bisection(seed):
    check_against_bisection(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", by_day(range(9), 3))
def test_many_mixtures_of_levels_are_those_of_bisection(block):
    seeds = range(20 * (block + 1), 20 * (block + 2))
    assert sum(check_against_bisection(seed) for seed in seeds) >= 17


def test_logarithms_of_one_more_with_a_limit():
    model, x = cake(("ann", "bob", "cyd"), upper=[1, np.inf, np.inf])
    model.leximin(log({"ann": 1, "bob": 1, "cyd": 2} * x + 1))
    answer = fairlp.leximin(model)
    # ann stops at log 2; 1 + y = 1 + 2z with y + z = 9
    np.testing.assert_allclose(answer["x"], [1.0, 6.0, 3.0], rtol=1e-7)
    assert answer.rounds["labels"].tolist() == [["ann"], ["bob", "cyd"]]


def test_least_of_lines_is_linear_and_proved_in_rationals():
    model, x = cake()
    model.leximin(minimum(2 * x, x + 1, 4))
    answer = fairlp.leximin(model)
    assert answer.levels.to_list() == [4.0, 4.0]
    assert answer.certify(exact=True)
    assert model.solve().objective == 4.0


def test_least_of_lines_with_integers():
    n = Index("n", ["ann", "bob"])
    model = Model("whole", indices=(n,))
    x = model.variable("x", n, integer=True, upper=9)
    model.constraint("cake", x.sum(n) <= 7)
    assert fairlp.leximin(model, levels=minimum(2 * x, x + 1)).levels.sum() == 9.0


def test_least_of_a_logarithm_and_a_line():
    model, x = cake(size=3.0)
    model.leximin(minimum(log(x + 1), 0.5 * x))
    # at 1.5 each the line is 0.75 and the logarithm log 2.5 = 0.916
    np.testing.assert_allclose(fairlp.leximin(model).levels, 0.75, rtol=1e-8)


@pytest.mark.parametrize("seed", by_day(range(4), 2))
def test_levels_of_several_terms_are_those_of_cones(seed):
    cp = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(seed)
    n, i = Index("n", range(3)), Index("i", range(4))
    scale = rng.uniform(0.5, 2.0, (3, 4))
    model = Model("sums", indices=(n, i))
    x = model.variable("x", n, i)
    model.constraint("capacity", x.sum(n) <= 1)
    s = model.parameter("s", (n, i), scale)
    model.leximin(log(s * x + 1).sum(i) + power(x, 0.5).sum(i))
    answer = fairlp.leximin(model)
    y = cp.Variable((3, 4), nonneg=True)
    levels = cp.sum(cp.log(cp.multiply(scale, y) + 1) + cp.sqrt(y), axis=1)
    problem = cp.Problem(cp.Maximize(cp.min(levels)), [cp.sum(y, axis=0) <= 1])
    problem.solve(solver="CLARABEL")
    np.testing.assert_allclose(answer.levels.min(), problem.value, rtol=1e-6)
    assert answer.certify()
    assert (answer.bracket["upper"] >= answer.bracket["lower"]).all()


@pytest.mark.parametrize("seed", range(many(32)))
def test_finish_time_fairness_of_gavel_is_one_line(seed):
    rng = np.random.default_rng(seed)
    rates = rng.uniform(1, 5, (5, 3)) * (rng.random((5, 3)) < 0.8)
    rates[:, 0] = np.maximum(rates[:, 0], 1.0)
    steps, age = rng.uniform(50, 500, 5), rng.choice([0.0, 10.0, 60.0], 5)
    cluster = fairlp.Instance.from_arrays(np.ones((5, 1)), [[1.0], [2.0], [1.0]], rates=rates)
    jobs = gavel.JobsThatEnd.of(cluster, steps, age, None)
    model = gavel.max_min(cluster)
    x, v = model["X"], model["v"]
    n, j = x.indices
    e, s, F = (
        model.parameter(*entry)
        for entry in (("e", n, age), ("s", n, steps), ("F", n, jobs.isolated_end))
    )
    answer = fairlp.leximin(model, levels=-(e + s * power((v * x).sum(j), -1)) / F)
    policy = fairlp.allocate(cluster, "gavel", objective="finish-time", steps=steps, age=age)
    rho = (age + steps / policy.totals.to_numpy()) / jobs.isolated_end
    np.testing.assert_allclose(-answer.levels, rho, rtol=1e-7)
    assert answer.certify()


def interchangeable(need, kinds, capacities):
    """Tasks that need so much of each group, from any kind of it that they can use."""
    n = Index("n", range(len(need)), "user")
    k = Index("k", range(len(capacities)), "kind")
    g = Index("g", range(len(need[0])), "group")
    model = Model("interchangeable", indices=(n, k, g))
    x = model.variable("x", n, doc="tasks of n")
    a = model.variable("a", n, k, doc="what n has of kind k")
    work = model.parameter("e", (n, k, g), kinds, "what a unit of k is to n, as one of group g")
    needs = model.parameter("d", (n, g), need, "what a task needs of group g")
    model.constraint("capacity", a.sum(n) <= model.parameter("c", k, capacities))
    model.constraint("met", needs * x <= (work * a).sum(k))
    return model, x


@pytest.mark.parametrize("seed", by_day(range(10), 2))
def test_interchangeable_resources_against_scipy(seed):
    rng = np.random.default_rng(seed)
    users, kinds, groups = 3, 4, 2
    need = rng.integers(0, 4, (users, groups)).astype(float)
    need[:, 0] = np.maximum(need[:, 0], 1)
    group_of = np.array([0, 0, 1, 1])
    work = rng.choice([0.5, 1.0, 2.0], (users, kinds))[:, :, None] * (
        group_of[:, None] == np.arange(2)
    )
    capacities = rng.choice([2.0, 5.0, 8.0], kinds)
    model, x = interchangeable(need, work, capacities)
    answer = fairlp.leximin(model, levels=x + 0)
    # the first level by hand: x[n] = t, a[n,k]
    size = 1 + users * kinds
    rows, sides = [], []
    for k in range(kinds):
        row = np.zeros(size)
        row[1 + k :: kinds] = 1
        rows.append(row)
        sides.append(capacities[k])
    for n in range(users):
        for g in range(groups):
            row = np.zeros(size)
            row[0] = need[n, g]
            row[1 + n * kinds : 1 + (n + 1) * kinds] = -work[n, :, g]
            rows.append(row)
            sides.append(0.0)
    expected = -linprog(-np.eye(size)[0], np.array(rows), sides).fun
    np.testing.assert_allclose(answer.levels.min(), expected, rtol=1e-7)
    assert answer.certify(exact=True)


def test_a_wrong_point_is_noticed():
    model, x = cake()
    model.leximin(log(x + 1))
    answer = fairlp.leximin(model)
    assert answer.certify()
    levels = np.log([2.0, 10.0])  # 1 and 9 are possible, and not the leximin
    x = answer.x.copy()
    x[[0, 1]] = [1.0, 9.0]
    x[answer.problem.program.column_block("log1").slice] = levels
    wrong = replace(answer, levels=answer.problem.labelled(levels), x=x)
    assert not wrong.certify()


def test_a_level_that_the_point_has_not_is_noticed():
    model, x = cake()
    model.leximin(log(x + 1))
    answer = fairlp.leximin(model)
    higher = replace(answer, levels=answer.levels + 1e-3)
    assert str(higher.certify()).startswith("not the leximin") and not higher.certify()


def test_planted_wrong_prices_are_noticed():
    liars = [
        liar(lambda raw: replace(raw, row_duals=2 * raw.row_duals), "twice"),
        liar(lambda raw: replace(raw, row_duals=raw.row_duals[::-1]), "turned"),
    ]
    for back_end in liars:
        model, x = cake(("ann", "bob", "cyd"), upper=[1, 9, 9])
        model.leximin(log(x + 1))
        with pytest.raises(SolverError):
            fairlp.leximin(model, solver=back_end)


def test_another_back_end_comes_to_the_same():
    model, x = cake(("ann", "bob", "cyd"), upper=[1, 9, 9])
    model.leximin(log(x + 1))
    answer = fairlp.leximin(model, solver=Dual())
    np.testing.assert_allclose(answer.levels, fairlp.leximin(model).levels, rtol=1e-8)


def test_an_argument_of_0_that_lower_levels_ask_for_is_said_not_to_be_proved():
    model, x = cake(size=1.0)
    model.leximin({"ann": 1, "bob": 0} * x + {"ann": 0, "bob": 1} * (10 + x**0.5))
    answer = fairlp.leximin(model)
    np.testing.assert_allclose(answer.levels, [1.0, 10.0], rtol=1e-6)
    width = answer.bracket["upper"] - answer.bracket["lower"]
    assert bool(answer.certify()) == bool((width <= 1e-8 * 11).all())
    assert answer.certify() or (answer.unproved and str(answer.certify()).startswith("not proved"))


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        (lambda x: x**2, "x[n]^2 is convex, and is added"),
        (lambda x: -log(x + 1), "log(x[n] + 1) is concave, and is subtracted"),
        (lambda x: {"ann": 1, "bob": -1} * log(x + 1), "is concave, and is subtracted"),
        (lambda x: power(x, -1), "is convex, and is added"),
        (lambda x: x - minimum(x, 1), "is concave, and is subtracted"),
        (lambda x: x - abs(x - 1), "minimum(e, -e)"),
        (lambda x: log(x).sum(), "an index"),
    ],
)
def test_levels_that_are_not_concave_are_refused(levels, words):
    model, x = cake()
    with pytest.raises(ModelError) as error:
        model.leximin(levels(x))
    assert words in str(error.value)
    assert list(model.variables) == ["x"] and list(model.constraints) == ["cake"]


def test_weights_that_become_negative_are_refused():
    model, x = cake()
    w = model.parameter("w", x.indices, [1, 1])
    model.leximin(w * log(x + 1))
    assert fairlp.leximin(model).certify()
    w.set([1, -1])
    with pytest.raises(ModelError, match="not concave"):
        fairlp.leximin(model)


def test_a_level_that_is_infinite_at_every_point_is_named():
    model, x = cake(upper=[0, 5])
    model.leximin(log(x))
    with pytest.raises(NoSolutionError, match="of 'ann' is infinite at every point"):
        fairlp.leximin(model)


def test_levels_for_some_labels_only():
    n = Index("n", ["ann", "bob"])
    model = Model("some", indices=(n,))
    x = model.variable("x", n, upper=[0, 5])
    model.leximin(log(x), where=[False, True])
    np.testing.assert_allclose(fairlp.leximin(model).levels, np.log(5), rtol=1e-8)


def test_an_infeasible_and_an_unbounded_model_have_none():
    model, x = cake()
    model.constraint("more", x.sum() >= 11)
    with pytest.raises(NoSolutionError, match="infeasible"):
        fairlp.leximin(model, levels=log(x + 1))
    endless = Model("endless")
    y = endless.variable("y", Index("n", ["ann"]))
    with pytest.raises(NoSolutionError, match="without end"):
        fairlp.leximin(endless, levels=log(y + 1))


def test_what_stands_for_terms_goes_with_the_levels_and_is_copied():
    model, x = cake()
    model.leximin(minimum(log(x + 1), 2 * x))
    copy = model.copy()
    with pytest.raises(ModelError, match="goes when that, or the objective"):
        model.remove("log1")
    model.maximize(x.sum())
    model.remove("levels")
    assert list(model.variables) == ["x", "t"] and list(model.constraints) == ["cake"]
    np.testing.assert_allclose(fairlp.leximin(copy).levels, np.log(6), rtol=1e-8)


def test_a_least_of_several_takes_two_and_stands_in_levels_only():
    model, x = cake()
    with pytest.raises(ModelError, match="two or more"):
        minimum(x)
    model.maximize(minimum(x, 1).sum())
    with pytest.raises(ModelError, match=r"levels of model\.leximin"):
        model.solve()
    half = model.parameter("half", x.indices, [0.5, 2.0])
    model.maximize((minimum(half, 1) * x).sum())
    assert model.solve().objective == 10.0
