"""The leximin on paths that share links, against rationals, SciPy and rounds of programs; and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings

import fairlp
from fairlp import Index, Model
from fairlp.solvers.leximin import on_paths
from fairlp.solvers.leximin.networks import Network, PathProof, Round
from fairlp.solvers.leximin.on_paths import System
from path_networks import Wide, b4, random_network, small_networks
from profiles import many

#: What SciPy's rounds are off by.
ORACLE = 1e-6


def on_its_way(network, **options):
    """The leximin of a network, and that it went by paths."""
    answer = fairlp.leximin(network.model(**options))
    assert answer.solver == "paths"
    assert not answer.unproved and answer.gap <= 1e-9
    return answer


@settings(max_examples=many(600))
@given(small_networks())
def test_small_networks_have_the_levels_of_the_definition_in_rationals(network):
    answer = on_its_way(network)
    right = np.array([float(level) for level in network.exact_levels()])
    np.testing.assert_allclose(answer.levels, right, rtol=1e-9, atol=1e-12)


@settings(max_examples=many(300))
@given(small_networks())
def test_numbers_decide_who_enters_after_many_steps_of_length_0(network):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(on_paths, "MOST_STANDING_STEPS", -1)
        answer = on_its_way(network)
    right = np.array([float(level) for level in network.exact_levels()])
    np.testing.assert_allclose(answer.levels, right, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("limit", [None, 0.3, 1.0])
@pytest.mark.parametrize("seed", [*range(many(20)), 564059062, 715499387, 729035790])
def test_random_networks_have_the_levels_of_rounds_of_programs(seed, limit):
    network = random_network(seed, limit=limit)
    answer = on_its_way(network, scale=1.0 + seed)
    np.testing.assert_allclose(answer.levels, network.levels_by_linprog(), rtol=ORACLE)
    by_programs = fairlp.leximin(network.model(), threads=1)
    assert by_programs.solver == "highs"
    np.testing.assert_allclose(answer.levels, by_programs.levels, rtol=1e-9)
    flow = answer["flow"].to_numpy()
    assert (flow >= 0).all()
    assert (network.uses.T @ flow <= np.array(network.capacities) * (1 + 1e-9)).all()
    proof = answer.certify()
    assert proof and "by prices of" in str(proof)


def test_the_first_prices_are_those_of_the_first_program():
    network = random_network(3)
    ours, theirs = (fairlp.leximin(network.model(), **options) for options in ({}, {"threads": 1}))
    np.testing.assert_allclose(ours.prices["link"], theirs.prices["link"], rtol=1e-7, atol=1e-9)
    first = ours.problem.program
    duals = ours.priced.row_duals
    reduced = first.c - first.A.T @ duals
    assert abs(duals @ np.where(duals > 0, first.row_upper, 0) - ours.levels.min()) < 1e-9
    assert reduced.max() < 1e-9 and abs(reduced[ours.problem.t]) < 1e-9


@pytest.mark.parametrize("seed", range(many(30)))
def test_the_levels_are_proved_in_rationals(seed):
    network = random_network(seed, demands=9, links=6, limit=(None, 1.0)[seed % 2])
    assert on_its_way(network).certify(exact=True)


@pytest.mark.parametrize("seed", [*range(many(60)), 11481049])
def test_who_gave_a_little_to_another_proves_nothing(seed):
    """The point is feasible: half of what a demand has goes, so that nobody gains and one has less."""
    network = random_network(seed, demands=12, links=8)
    answer = on_its_way(network)
    rng = np.random.default_rng(seed)
    loser = int(rng.integers(12))
    x = answer.x.copy()
    x[:-1][network.owners == loser] *= 1 - 10.0 ** -rng.integers(1, 7)
    levels = answer.levels.copy()
    levels.iloc[loser] = x[:-1][network.owners == loser].sum() / network.volumes[loser]
    network_of_proof = answer.path_proof.network
    rounds = answer.path_proof.rounds
    turned = [replace(end, prices=-end.prices) for end in rounds]
    noise = [replace(end, prices=rng.uniform(0, 1, len(end.prices))) for end in rounds]
    for proof_rounds in (rounds, rounds[1:], rounds[::-1], turned, noise, []):
        lie = replace(
            answer, levels=levels, x=x, path_proof=PathProof(network_of_proof, proof_rounds)
        )
        proof = lie.certify()
        assert not proof
        assert str(proof).startswith(("not the leximin", "not proved"))


@pytest.mark.parametrize("seed", range(many(60)))
def test_prices_prove_no_level_that_is_too_high(seed):
    """The bounds are no larger than what SciPy's rounds reach, whatever the prices are."""
    network = random_network(seed, demands=12, links=8, limit=(None, 0.5)[seed % 2])
    answer = on_its_way(network)
    proof = answer.path_proof
    right = network.levels_by_linprog()
    bounds, error = proof.bounds()
    np.testing.assert_allclose(bounds, right, rtol=ORACLE)
    assert error < 1e-10
    negative = [
        replace(end, prices=np.where(np.arange(len(end.prices)) == 0, -end.prices, end.prices))
        for end in proof.rounds
        if end.links.size
    ]
    assert np.isnan(PathProof(proof.network, negative[:1]).bounds()[0]).all()
    assert np.isnan(PathProof(proof.network, proof.rounds[:-1]).bounds()[0]).any()


def test_a_negative_price_of_a_link_that_need_not_be_full_proves_nothing():
    """Two demands share two links, of 6 and of 100: both have 3."""
    network = Network(
        sp.csr_array(np.ones((2, 2))), np.array([6.0, 100.0]), np.arange(2), *np.ones((2, 2))
    )
    for prices, bound in (([1.0, 0.0], 3.0), ([0.5, 0.5], 26.5), ([1.01, -0.01], np.nan)):
        end = Round(np.arange(2), np.arange(2), np.array(prices))
        np.testing.assert_allclose(PathProof(network, [end]).bounds()[0], bound)


def other_models():
    """Models that are nearly of this form, and are not."""
    p, d = Index("p", range(3)), Index("d", range(2))
    of = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])

    def model(of=of, uses=(1.0, 1.0, 1.0), least=None, **bounds):
        result = Model("nearly", indices=(p, d))
        flow = result.variable("flow", p, **bounds)
        rate = (result.parameter("of", (p, d), of) * flow).sum(p)
        use = result.parameter("use", (p,), np.array(uses))
        result.constraint("link", (use * flow).sum(p) <= 6)
        if least is not None:
            result.constraint("least", rate >= least)
        result.leximin(rate / result.parameter("v", (d,), np.array([1.0, 2.0])))
        return result

    yield "as it is", model(), (2.0, 2.0), True
    yield "a path that uses two of a link", model(uses=(2.0, 2.0, 1.0)), (1.5, 1.5), False
    yield "a path that uses nothing", model(uses=(0.0, 1.0, 1.0), upper=4.0), (6.0, 2.0), False
    yield "flows have bounds", model(upper=0.5), (1.0, 0.25), False
    yield "flows begin above 0", model(lower=3.0, upper=9.0), None, False
    yield "a level needs so much", model(least=3.0), (3.0, 1.5), False
    yield "half a flow counts", model(of=of * [[1.0, 1], [0.5, 1], [1, 1]]), (2.0, 2.0), False
    yield "a path of two demands", model(of=np.maximum(of, [[0, 1.0], [0, 0], [0, 0]])), None, False


@pytest.mark.parametrize(
    ("model", "levels", "is_network"),
    [pytest.param(*rest, id=name) for name, *rest in other_models()],
)
def test_models_of_another_form_go_another_way(model, levels, is_network):
    try:
        answer = fairlp.leximin(model)
    except fairlp.errors.NoSolutionError:
        assert levels is None
        return
    assert (answer.solver == "paths") == is_network
    again = fairlp.leximin(model, threads=1)
    np.testing.assert_allclose(answer.levels, again.levels, rtol=1e-9)
    if levels is not None:
        np.testing.assert_allclose(answer.levels, levels)


@pytest.mark.parametrize("name", ["MOST_STEPS", "MOST_CHANGES"])
def test_what_takes_too_long_is_left_to_programs(monkeypatch, name):
    network = random_network(1)
    quick = on_its_way(network)
    monkeypatch.setattr(on_paths, name, 0)
    answer = fairlp.leximin(network.model())
    assert answer.solver == "highs" and answer.certify()
    np.testing.assert_allclose(answer.levels, quick.levels, rtol=1e-9)


def test_demands_with_many_paths_are_left_to_programs():
    network = Wide([1.0] * 10, [1.0, 2.0], [[[e] for e in range(10)]] * 2)
    answer = fairlp.leximin(network.model())
    assert answer.solver == "highs"
    np.testing.assert_allclose(answer.levels, 10 / 3)


def test_real_demands_on_b4_are_proved():
    network = b4(matrix=0, load=40)
    if network is None:
        pytest.skip("no networks beside the checkout")
    answer = on_its_way(network)
    by_programs = fairlp.leximin(network.model(), threads=1)
    np.testing.assert_allclose(answer.levels, by_programs.levels, rtol=1e-9)
    assert len(answer.rounds) > 10


def test_the_inverse_follows_links_that_come_and_go():
    """Columns of random paths; the system is compared with NumPy's inverse."""
    rng = np.random.default_rng(0)
    links, paths = 150, 400
    columns = rng.normal(size=(links, paths))
    system = System(links, paths)
    inside = []
    for _ in range(400):
        variables = system.variables
        if len(inside) > 100 or (len(inside) > 3 and rng.random() < 0.4):
            link = int(rng.choice(inside))
            solution = system.solve(np.array([link]), np.ones(1))
            leaving = variables[abs(solution).argmax()]
            system.replace(int(leaving), paths + link, solution)
            inside.remove(link)
        else:
            link = int(rng.choice(np.setdiff1d(np.arange(links), inside)))
            entering = int(rng.choice(np.setdiff1d(np.arange(paths), variables)))
            row = columns[link, variables]
            solution = system.solve(np.array(inside, dtype=int), columns[inside, entering])
            system.add(link, row)
            solution = np.append(solution, columns[link, entering] - row @ solution)
            system.replace(paths + link, entering, solution)
            inside.append(link)
        n = len(inside)
        assert set(system.links) == set(inside)
        np.testing.assert_array_equal(system.row[system.links], np.arange(n))
        matrix = columns[np.ix_(system.links, system.variables)]
        np.testing.assert_allclose(system.inverse[:n, :n].T @ matrix, np.eye(n), atol=1e-6)
        assert not system.inverse[n:].any() and not system.inverse[:, n:].any()
        outside = np.setdiff1d(np.arange(links), inside)
        assert not system.solve(outside, np.ones(len(outside))).any()
