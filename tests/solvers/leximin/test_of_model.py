"""``fairlp.leximin`` on any model: against one LP a level and enumeration, its certificates, and what it refuses."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

import fairlp
from any_leximin import by_enumeration, by_one_lp_a_level, random_model
from fairlp import Index, Model
from fairlp.errors import ModelError, NoSolutionError, UnsupportedError
from fairlp.models.programs.proof import Proof
from fairlp.solvers.leximin.exact import ServersInRationals
from fairlp.solvers.leximin.of_levels import Stages
from fairlp.tolerances import AGREEMENT
from own_back_ends import Dual, Whole
from profiles import many

#: What the oracle's floats are off by.
ORACLE = 1e-6


def solved(model, levels, weights, expected):
    """The leximin; None where there is none, which it must say."""
    if expected is None:
        with pytest.raises(NoSolutionError):
            fairlp.leximin(model, levels, weights=weights)
        return None
    return fairlp.leximin(model, levels, weights=weights)


@pytest.mark.parametrize("block", range(10))
def test_linear_models_against_one_lp_a_level(block):
    for seed in range(many(30) * block, many(30) * (block + 1)):
        model, levels, weights = random_model(seed)
        expected = by_one_lp_a_level(model, weights)
        answer = solved(model, levels, weights, expected)
        if answer is None:
            continue
        np.testing.assert_allclose(
            answer.levels, expected, rtol=ORACLE, atol=ORACLE, err_msg=f"seed {seed}"
        )
        reached = (
            model.parameters["L"].values @ answer["x"].to_numpy() + model.parameters["l"].values
        )
        assert (reached / weights >= answer.levels - AGREEMENT * (1 + abs(answer.levels))).all(), (
            f"seed {seed}"
        )
        assert answer.gap < AGREEMENT and not answer.unproved
        if seed % 5 == 0:
            assert answer.certify(), f"seed {seed}: {answer.certify()}"
            assert answer.certify(exact=True), f"seed {seed}: {answer.certify(exact=True)}"


@pytest.mark.parametrize("block", range(4))
def test_integer_models_against_enumeration(block):
    for seed in range(many(15) * block, many(15) * (block + 1)):
        model, levels, weights = random_model(seed, integer=True)
        expected = by_enumeration(model, weights)
        answer = solved(model, levels, weights, expected)
        if answer is None:
            continue
        np.testing.assert_allclose(
            np.sort(answer.levels), expected, rtol=ORACLE, atol=ORACLE, err_msg=f"seed {seed}"
        )
        assert "branch and bound" in answer.unproved and not answer.certify()
        assert answer.rounds["frozen"].sum() == len(answer.levels)
        with pytest.raises(UnsupportedError, match="no proof in rationals"):
            answer.certify(exact=True)


def test_weights_of_whole_levels_divide_them():
    j = Index("j", ["a", "b"])
    model = Model("whole hours", indices=(j,))
    x = model.variable("x", j, integer=True)
    model.constraint("hours", x.sum(j) <= 9)
    assert fairlp.leximin(model, x, weights=[1, 2])["x"].tolist() == pytest.approx([3, 6])
    assert fairlp.leximin(model, x, weights=[2, 1]).levels.tolist() == pytest.approx([3, 3])


@pytest.mark.parametrize("solver", ["scipy", "highs-ipm", "interior-point", "glpk", "scip"])
def test_other_back_ends(solver):
    if not fairlp.solvers().available[solver]:
        pytest.skip(f"{solver} is not installed")
    for seed in (3, 4, 6, 8, 11):
        model, levels, weights = random_model(seed)
        if by_one_lp_a_level(model, weights) is None:
            continue
        answer = fairlp.leximin(model, levels, weights=weights, solver=solver)
        np.testing.assert_allclose(
            answer.levels, by_one_lp_a_level(model, weights), rtol=1e-5, atol=1e-5
        )
        assert (answer.gap is None) == bool(answer.unproved)


@pytest.mark.parametrize("mechanism", ["drfh", "tsf", "c-drfh"])
def test_a_mechanism_as_a_model_has_the_levels_of_the_mechanism(mechanism):
    instance = fairlp.Instance.from_arrays(
        [[1, 0.2], [0.2, 1], [1, 0]],
        [[2, 12], [12, 2]],
        weights=[1, 2, 1],
        eligible=[[1, 0], [1, 1], [0, 1]],
    )
    expected = fairlp.allocate(instance, mechanism, method="lp", merge=False)
    answer = fairlp.leximin(fairlp.formulate(instance, mechanism))
    np.testing.assert_allclose(answer.levels, expected.levels, rtol=AGREEMENT)
    assert answer.levels.index.tolist() == list(instance.users)
    assert set(answer.prices) >= {"capacity"} and answer.prices["capacity"].shape == (2, 2)
    assert answer.certify() and answer.certify(exact=True)


def jobs():
    j, m = Index("j", ["a", "b", "c"]), Index("m", ["fast", "slow"])
    model = Model("jobs", indices=(j, m))
    x = model.variable("x", j, m, where=[[True, False], [True, True], [False, True]])
    model.constraint("hours", x.sum(j) <= model.parameter("h", (m,), [8, 2]))
    return model, x, j, m


def test_an_added_constraint_counts():
    model, x, _, m = jobs()
    before = fairlp.leximin(model, x.sum(m))
    assert before.levels.to_dict() == pytest.approx({"a": 4.0, "b": 4.0, "c": 2.0})
    model.constraint("half", x <= 3)
    after = fairlp.leximin(model, x.sum(m), weights={"a": 1, "c": 1, "b": 2})
    assert after.levels.to_dict() == pytest.approx(
        {"a": 3.0, "b": 1.75, "c": 1.5} | _exactly(after)
    )
    assert repr(after) == "<Leximin of 'jobs' by paths: 3 levels>"
    assert isinstance(after["x"], pd.DataFrame) and after["x"].shape == (3, 2)


def _exactly(answer):
    return {
        label: float(level)
        for label, level in zip("abc", answer.certify(exact=True).levels, strict=True)
    }


def test_a_wrong_answer_is_not_certified():
    model, x, _, m = jobs()
    answer = fairlp.leximin(model, x.sum(m))
    for change in (1e-6, -1e-6, 1.0, -1.0):
        for label in answer.levels.index:
            levels = answer.levels.copy()
            levels[label] += change
            wrong_answer = replace(answer, levels=levels)
            assert not wrong_answer.certify(exact=True) and not wrong_answer.certify(), (
                change,
                label,
            )


@pytest.mark.parametrize(
    "upper", [(1e-6, 1e6), (1e-3, 1e7), (1e-12, 1e6), (-5.0, 1e6), (1e-6, -3.0)]
)
@pytest.mark.parametrize("solver", ["highs", "scipy"])
def test_levels_of_any_size_are_right_relative_to_themselves(upper, solver):
    n = Index("n", ["a", "b"])
    model = Model("sizes", indices=(n,))
    x = model.variable("x", n, lower=None, upper=upper)
    model.constraint("sum", x.sum(n) <= 2e7)
    answer = fairlp.leximin(model, x + 0, solver=solver)
    np.testing.assert_allclose(answer.levels, upper, rtol=AGREEMENT)
    assert answer.certify() and answer.certify(exact=True)
    for k, deviation in ((0, 1e-6), (1, 1e-6), (0, -1e-6), (1, -1e-6)):
        levels = answer.levels.copy()
        levels.iloc[k] *= 1 + deviation
        assert not replace(answer, levels=levels).certify() and not replace(
            answer, levels=levels
        ).certify(exact=True)


def test_the_certificate_is_of_the_point_that_is_shown():
    model, x, _, m = jobs()
    answer = fairlp.leximin(model, x.sum(m))
    for point in (answer.x / 2, answer.x * 2, answer.x * np.nan, answer.x[:-1]):
        for exact in (False, True):
            assert not replace(answer, x=point).certify(exact=exact)


def test_a_model_says_what_its_levels_are_whatever_they_are_called():
    for rows in (False, True):
        model, x, _, m = jobs()
        if rows:
            worst = model.variable("worst")
            solution = model.leximin(model.constraint("served", x.sum(m) >= worst), worst)
        else:
            model.parameter("t", (), 1.0)
            solution = model.leximin(x.sum(m))
        assert (
            solution.name == ("served" if rows else "levels")
            and model.compile().levels == solution.name
        )
        assert ("worst" if rows else "t_") in model.variables and str(model.objective) == (
            "worst" if rows else "t_"
        )
        for program in (model, model.copy(), model.compile()):
            assert fairlp.leximin(program).levels.to_dict() == pytest.approx(
                {"a": 4, "b": 4, "c": 2}
            )
        assert model.solve().objective == pytest.approx(2)
    model.maximize(worst)
    assert not model.compile().levels
    model.leximin(model["served"], worst)
    model.remove("served")
    with pytest.raises(ModelError, match="does not say what its levels are"):
        fairlp.leximin(model)
    for arguments in (
        (x.sum(), None),
        (x["a", "fast"] * 0 + 3, None),
        (solution, worst),
        (model.constraint("r", x <= 9), None),
    ):
        with pytest.raises(
            ModelError, match=r"have an index|rows of its own|more than once|linear"
        ):
            model.leximin(*arguments)
    model.leximin(x.sum(m), where=[True, True, False])
    assert fairlp.leximin(model).levels.index.tolist() == ["a", "b"]


def test_levels_that_rounds_leave_doubtful_are_said_to_be():
    i = Index("i", ["small", "large"])
    model = Model("doubtful", indices=(i,))
    x, y = model.variable("x", i, lower=None, upper=[1e-6, -3.0]), model.variable("y", lower=None)
    model.constraint("sum", x.sum(i) + y <= 2e7)
    answer = fairlp.leximin(model, x + 0)
    assert "off by" in answer.unproved and answer.certify(exact=True)


def test_rows_of_a_file_that_another_tool_wrote(tmp_path):
    pytest.importorskip("pyomo.environ")
    instance = fairlp.examples.load("wang-figure-1")
    model = fairlp.formulate(instance, "drfh")
    path = tmp_path / "theirs.mps"
    model.to_pyomo().write(str(path), io_options={"symbolic_solver_labels": True})
    program = fairlp.read_program(path)
    names = [name for block in program.rows for (name,) in block.labels() if "fairness" in name]
    answer = fairlp.leximin(program, names)
    assert answer.levels.index.tolist() == names
    np.testing.assert_allclose(answer.levels, fairlp.leximin(model).levels, rtol=AGREEMENT)
    assert answer.certify(exact=True)
    with pytest.raises(ModelError, match="no row 'fairnes' to be a level"):
        fairlp.leximin(program, ["fairnes"])
    with pytest.raises(ModelError, match="named once each"):
        fairlp.leximin(program, [names[0], names[0]])


def test_an_upper_bound_of_t_holds_for_levels_that_cancel():
    """Levels are raised by what they are made of, here some 256, and so is what bounds t."""
    i = Index("i", ["a", "b"])
    model = Model("cancels", indices=(i,))
    x, t = model.variable("x", i, upper=[100, 104]), model.variable("t", upper=5)
    model.leximin(model.constraint("above", x - 100 >= t), t)
    answer = fairlp.leximin(model)
    assert answer.levels.to_dict() == pytest.approx({"a": 0.0, "b": 4.0}, abs=AGREEMENT)


def test_a_small_level_that_rises_without_a_price_is_not_taken_for_one_that_is_stuck():
    """SCIP gives no duals, so that programs decide who rises: gains are of any size, here 1e-6 beside 1e6."""
    i = Index("i", ["small", "large", "stuck"])
    model = Model("gains", indices=(i,))
    x = model.variable("x", i, upper=[2e-6, 2e6, 1e-6])
    model.constraint("sum", x.sum(i) <= 3e6)
    answer = fairlp.leximin(model, x + 0, solver="scip")
    np.testing.assert_allclose(answer.levels, [2e-6, 2e6, 1e-6], rtol=1e-5)


N = Index("n", ["ann", "bob"], "user")


def shared(solver="highs", **options):
    model = Model("cake", indices=(N,))
    x = model.variable("x", N, **options)
    model.constraint("cake", x.sum() <= 3)
    model.constraint("bob", x["bob"] <= 1)
    return fairlp.leximin(model, x + 0, solver=solver)


def test_a_proof_in_rationals_that_fails_says_why(monkeypatch):
    assert shared().certify(exact=True)
    monkeypatch.setattr(
        ServersInRationals,
        "run",
        lambda self: Proof(False, "round 2: a basis leads nowhere"),
    )
    certificate = shared().certify(exact=True)
    assert not certificate and "round 2: a basis leads nowhere" in str(certificate)


def test_gaps_are_relative_and_none_where_a_stage_is_proved():
    stages = Stages(sums=[2.0, 4.0, 0.0, 0.0, -2.0], bounds=[2.0, 5.0, 0.0, 1.0, -1.0])
    assert stages.gaps == [0, 0.25, 0, np.inf, 0.5]


def stopped_in(stage):
    """A back end whose time is over in one stage, before it has a point."""

    class Stopped(Whole):
        name = f"stopped-in-{stage}"
        runs = 0

        def __init__(self):
            super().__init__(0.0, licence=None)

        def run(self, program, options):
            Stopped.runs += 1
            if Stopped.runs == stage:
                return fairlp.Raw(fairlp.Termination.TIME_LIMIT, "the time is over")
            return super().run(program, options)

    return Stopped()


def test_a_limit_before_the_first_point_gives_no_answer():
    with pytest.raises(NoSolutionError, match="the time is over"):
        shared(solver=stopped_in(1), integer=True)


def test_a_limit_in_a_later_stage_leaves_the_point_of_the_stage_before_it():
    answer = shared(solver=stopped_in(2), integer=True)
    assert answer.levels["bob"] == 1 and answer.levels["ann"] >= 1
    assert answer.stages["bound"].tolist() == [1, np.inf]
    assert "the time limit was reached in stage 2 of 2" in answer.unproved


class Counted(Dual):
    """SciPy's ``linprog``, which counts its programs."""

    programs = 0

    def run(self, program, options):
        Counted.programs += 1
        return super().run(program, options)


def two_links():
    """Ten demands on a link of 10, of which one wants little, and five alone on one of 20: three levels."""
    d = fairlp.Index("d", [f"d{k}" for k in range(15)])
    model = fairlp.Model("two links", indices=(d,))
    flow = model.variable("f", d, upper=[0.5, *[np.inf] * 14])
    first = model.parameter("first", d, np.arange(15) < 10)
    model.constraint("first_link", (first * flow).sum(d) <= 10)
    model.constraint("second_link", flow.sum(d) - (first * flow).sum(d) <= 20)
    model.leximin(1.0 * flow)
    return fairlp.leximin(model)


@pytest.mark.parametrize(("has_duals", "programs"), [(True, 0), (False, 3)])
def test_duals_prove_levels_and_without_them_one_program_those_that_are_equal(has_duals, programs):
    answer = two_links()
    assert sorted(set(answer.levels.round(9))) == pytest.approx([0.5, 9.5 / 9, 4])
    if not has_duals:
        answer = replace(answer, round_duals=None)
    Counted.programs = 0
    proof = answer.certify(solver=Counted)
    assert proof.holds, proof.message
    assert Counted.programs == programs
    lower = replace(answer, levels=answer.levels * 0.9, x=answer.x * 0.9)
    assert lower.certify().message.startswith("not the leximin")


def network(seed, **options):
    """A leximin of demands with two paths each over six links, and what the links carry: A·x ≤ b."""
    rng = np.random.default_rng(seed)
    demands, paths, links = (Index(name, range(n)) for name, n in (("d", 9), ("p", 2), ("l", 6)))
    model = Model("network", indices=(demands, paths, links))
    flow = model.variable("flow", demands, paths)
    uses = rng.random((9, 2, 6)) < 0.2
    uses[np.arange(9), :, rng.integers(0, 6, 9)] = True
    weights = rng.uniform(1, 4, 9)
    capacities = rng.uniform(1, 9, 6)
    on_path = model.parameter("uses", (demands, paths, links), uses.astype(float))
    model.constraint(
        "link",
        (on_path * flow).sum(demands, paths) <= model.parameter("b", (links,), capacities),
    )
    answer = fairlp.leximin(model, flow.sum(paths), weights=weights, **options)
    return answer, uses.reshape(18, 6).T.astype(float), capacities, weights


@pytest.mark.parametrize("seed", range(many(40)))
def test_the_duals_of_the_rounds_prove_every_level_of_a_network(seed):
    for options in ({}, {"threads": 1}):
        answer = network(seed, **options)[0]
        Counted.programs = 0
        proof = answer.certify(solver=Counted)
        assert proof.holds, proof.message
        assert Counted.programs == 0
        assert answer.certify(exact=True)


@pytest.mark.parametrize("seed", range(many(40)))
def test_no_duals_prove_a_demand_that_gave_a_little_to_another(seed):
    """The points are feasible, by SciPy: one level is lower, and one that is no lower has more."""
    answer, matrix, capacities, weights = network(seed, threads=1)
    levels = answer.levels.to_numpy()
    totals = np.kron(np.eye(9), np.ones((1, 2))) / weights[:, None]
    rng = np.random.default_rng(seed)
    random_duals = sp.csr_array(rng.normal(size=answer.round_duals.shape))
    wrong = 0
    for lowered, raised in rng.permutation(list(itertools.permutations(range(9), 2))):
        if levels[lowered] > levels[raised] or wrong == 4:
            continue
        floors = levels * np.where(np.arange(9) == lowered, 1 - 1e-5, 1 - 1e-12)
        point = linprog(
            -totals[raised],
            np.vstack([matrix, -totals]),
            np.append(capacities, -floors),
        ).x
        if totals[raised] @ point < levels[raised] * (1 + 1e-8):
            continue
        wrong += 1
        x = np.append(point, 0.0)
        lie = replace(answer, levels=answer.problem.labelled(totals @ point), x=x)
        for duals in (answer.round_duals, random_duals, None):
            proof = replace(lie, round_duals=duals).certify()
            assert not proof.holds
            assert proof.message.startswith(("not the leximin", "not proved"))
    assert wrong, "no demand can give anything to another"


def test_a_level_of_0_may_be_rounding_below_it_at_the_point():
    n = Index("n", ["zero", "some"])
    model = Model("zero", indices=(n,))
    x = model.variable("x", n, lower=-5, upper=[0, 3])
    model.constraint("sum", x.sum(n) <= 3)
    answer = fairlp.leximin(model, x + 0)
    point = np.where(answer.levels.reindex(["zero", "some"]) == 0, -1e-15, 3.0)
    assert replace(answer, x=np.append(point, 0.0)).certify()
    point[0] = -1e-9
    assert not replace(answer, x=np.append(point, 0.0)).certify()


def test_levels_whose_errors_grow_from_round_to_round_are_not_proved_in_floats():
    """A level is 1,000 times as wrong as the one before it: rounding is a part in 1,000 of the fifth."""
    k = Index("k", range(5))
    model = Model("chain", indices=(k,))
    right = 1.1 + 0.1 * np.arange(5) / 3
    x = model.variable("x", k, upper=[right[0], *[np.inf] * 4])
    for j in range(4):
        model.constraint(f"row{j}", 1000.0 * x[j] + x[j + 1] <= 1000.0 * right[j] + right[j + 1])
    answer = fairlp.leximin(model, x + 0)
    for duals in (answer.round_duals, None):
        proof = replace(answer, round_duals=duals).certify()
        assert proof.message.startswith("not proved"), proof.message
