"""What benchmarks/races.py races: all formulations of a problem have the same levels, and parts of it lower ones."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import warnings

import numpy as np
import pytest

import fairlp
from fairlp.tolerances import AGREEMENT
from paths import ROOT
from profiles import PROFILE, many
from scripts import BENCHMARKS, benchmark

pytest.importorskip("cvxpy")


@pytest.fixture(scope="module")
def peers():
    with benchmark("peers") as module:
        yield module


@pytest.mark.parametrize("like_gavel", [True, False])
@pytest.mark.parametrize("seed", range(many(5)))
def test_water_filling_and_leximin_give_the_same_levels(peers, seed, like_gavel):
    jobs = peers.drawn_jobs(9, seed, like_gavel)
    model, levels = peers.jobs_model(jobs)
    answer = fairlp.leximin(model, levels)
    assert answer.certify(exact=True).holds
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        their_levels = peers.WaterFilling(jobs).levels()
    assert their_levels.min() == pytest.approx(answer.levels.min(), rel=peers.SLACK - 1)
    assert peers.apart(their_levels, answer.levels.to_numpy()) <= 10 * (peers.SLACK - 1)


@pytest.mark.parametrize("seed", range(many(5)))
def test_without_its_row_of_time_gavels_policy_is_cdrf_at_given_rates(peers, seed):
    """Its level is ours times all GPUs: what a job could do alone is an equal split's throughput on all of them."""
    small_jobs = peers.drawn_jobs(9, seed)
    jobs = peers.Jobs(
        small_jobs.throughputs, small_jobs.scale, small_jobs.weights, np.array([0.25, 0.5, 0.125])
    )  # time is never short
    instance = fairlp.Instance.from_arrays(
        jobs.scale[:, None], jobs.workers[:, None], rates=jobs.workers * jobs.throughputs / jobs.scale[:, None],
        weights=jobs.weights,
    )  # fmt: skip
    cdrf = fairlp.allocate(instance, "cdrf").levels.to_numpy()
    assert peers.by_leximin(jobs) == pytest.approx(cdrf * jobs.workers.sum(), rel=AGREEMENT)


def test_jobs_that_have_all_their_time_are_no_higher(peers):
    jobs = peers.Jobs(np.ones((3, 2)), np.ones(3), np.array([1.0, 1.0, 4.0]), np.array([1.0, 1.0]))
    assert peers.by_leximin(jobs) == pytest.approx(
        [0.5, 0.5, 0.25], rel=AGREEMENT
    )  # throughputs 1/2, 1/2, 1


@pytest.mark.parametrize("seed", range(many(5)))
def test_cvxpy_and_instance_are_one_problem(peers, seed):
    instance = peers.cluster(6, 5, seed, 0.4)
    answer = fairlp.allocate(instance, "c-drfh")
    assert peers.apart(peers.ours_in_cvxpy(instance), answer.levels.to_numpy()) <= AGREEMENT
    assert answer.certify(exact=True).holds


@pytest.mark.parametrize("count", [1, 6])
@pytest.mark.parametrize("seed", range(many(5)))
def test_parts_are_parts_of_the_whole_and_one_part_is_all(peers, seed, count):
    instance = peers.cluster(12, 6, seed, 0.7, count)
    right = fairlp.allocate(instance, "c-drfh").levels.to_numpy()
    assert peers.apart(peers.pop_levels(instance, 1, "auto", seed)[0], right) <= AGREEMENT
    parts = peers.pop_instances(instance, 3, seed)
    levels, seconds = peers.pop_levels(instance, 3, "auto", seed)
    served = np.concatenate([users for users, _ in parts])
    assert len(seconds) == 3 and np.array_equal(np.sort(served), np.flatnonzero(levels))
    assert len(set(served)) == len(served) and (
        count == 1 or len(served) == 12
    )  # else somebody's servers are elsewhere
    assert sum(subcluster.pool for _, subcluster in parts) == pytest.approx(
        instance.pool, rel=AGREEMENT
    )
    assert levels.min() <= right.min() * (1 + AGREEMENT)


@pytest.mark.slow
def test_the_script_prints_its_tables(monkeypatch, capsys):
    monkeypatch.setattr(
        sys,
        "argv",
        ["races.py", *["gavel", "pop", "--jobs", "4", "--pop", "12", "--parts", "2"]],
    )
    with benchmark("races") as script:
        script.main()
    output = capsys.readouterr().out
    assert "water filling" in output and output.count("POP-2") == 6


@pytest.mark.skipif(PROFILE != "nightly", reason="runs at night")
@pytest.mark.skipif(importlib.util.find_spec("cvxpy_leximin") is None, reason="needs cvxpy_leximin")
def test_cvxpy_leximin_gives_the_same_levels():
    """In a process of its own: it changes ``cvxpy.Problem``. The script ends with an error where levels differ."""
    command = [sys.executable, BENCHMARKS / "races.py", "cvxpy_leximin", "--users", "3", "4"]
    output = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert (
        output.count("saturation, 1e-6") == 2
        and output.count("ordered outcomes") == 2
        and "Error" not in output
    )
