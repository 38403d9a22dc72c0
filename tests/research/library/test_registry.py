"""The registry of entries: parameters that are checked, and declarations that are refused."""

from __future__ import annotations

import numpy as np
import pytest

import fairlp
import fairlp_research
from fairlp_research.library.registry import REGISTRY, Benchmark, generator

library = fairlp_research.library


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("ties", {"users": 3}, "'ties' has no parameter 'users'"),
        ("zeros", {"users": 0}, "users is 0; expected a whole number of at least 1"),
        ("zeros", {"users": 2.5}, "users is 2.5; expected a whole number"),
        ("zeros", {"users": True}, "users is True; expected a whole number"),
        ("alpha-fair", {"alpha": 0}, "alpha is 0; expected a finite number above 0"),
        ("alpha-fair", {"alpha": float("inf")}, "alpha is inf; expected a finite"),
        ("alpha-fair", {"alpha": "2"}, "alpha is '2'; expected a finite"),
        (
            "njc-circle",
            {"users": 4, "width": 5},
            "width is 5; expected at most the number of users, 4",
        ),
        (
            "psdsf-time",
            {"users": 2, "servers": 3},
            "2 users; expected at least as many as servers, 3",
        ),
        (
            "alibaba-gpu",
            {},
            "does not ship: openb_node_list_all_node.csv, openb_pod_list_gpuspec33.csv",
        ),
        ("alibaba-gpu", {"data": "no-such"}, "no folder 'no-such'; expected the folder with openb"),
    ],
)
def test_wrong_parameters_are_told(name, parameters, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(fairlp.FairlpError) as error:
        library.load(name, **parameters)
    assert message in str(error.value)


def test_a_generator_that_is_declared_wrongly_is_refused():
    def make(rng, *, users) -> Benchmark:
        raise AssertionError

    with pytest.raises(ValueError, match="there already"):
        generator("ties", "degenerate", "drfh", "why", users=(1, 1, 1))(make)
    with pytest.raises(ValueError, match="'new': expected users, each small, medium, large"):
        generator("new", "degenerate", "drfh", "why", users=(1,))(make)
    with pytest.raises(ValueError, match="'new': expected users, each small, medium, large"):
        generator("new", "degenerate", "drfh", "why", servers=(1, 1, 1))(make)
    assert "new" not in REGISTRY


def test_every_mechanism_named_is_one_of_ours():
    mechanisms = {row.mechanism for row in REGISTRY.values()}
    assert mechanisms <= set(fairlp.mechanisms().index)


#: Of each small entry of seed 1: rows and entries of its program, the sum of their sizes, and sums of demands,
#: pool, task limits, pairs of users and servers, weights, and queues' weights, guarantees and caps.
PUBLISHED = """
zeros: 130 3640 2997.85 104.106 153.674 0 1200 40 1 0 0
gpus: 130 3316 2454.21 133.158 135.898 0 1200 40 1 0 0
two-of-five: 190 3640 2951.17 120.776 204.709 0 1200 40 1 0 0
few-pairs: 130 600 428.31 219.381 165.118 0 140 40 1 0 0
few-servers: 130 2740 2147.43 119.519 153.674 0 800 40 1 0 0
windows: 130 388 333.239 94.6194 153.674 0 120 40 1 0 0
racks: 130 3336 2377.35 161.678 128.094 0 824 40 1 0 0
chain: 130 952 692.769 158.894 153.674 0 228 40 1 0 0
blocks: 130 520 382.794 158.894 153.674 0 120 40 1 0 0
dominating: 130 4840 13466.9 158.894 153.674 0 1200 10039 1 0 0
weights: 130 4840 4934.55 158.894 153.674 0 1200 1506.61 1 0 0
heavy-tails: 130 4840 3442.19 2828.99 151.743 0 1200 40 1 0 0
spread: 130 4840 2767.26 10626.1 153.674 0 1200 40 1 0 0
integers: 130 4840 3800.09 313 2944 0 1200 40 1 0 0
jitter: 130 4840 4064.54 120 154.876 0 1200 40 1 0 0
twenty: 640 25240 7471.76 1208.52 1024.17 0 1200 40 1 0 0
limits: 155 5590 4217.94 158.894 153.674 10.9261 1200 40 1 0 0
limits-uniform: 154 5560 4469.6 67.0066 507.308 149.44 1200 40 1 0 0
log-normal: 130 4840 3467.94 158.894 153.674 0 1200 40 1 0 0
uniform: 130 4840 3749.6 67.0066 507.308 0 1200 40 1 0 0
google-cluster: 80 1860 1605.22 6.6355 12580.8 0 600 60 1 0 0
ties: 84 2340 1620 63 384 0 576 36 1 0 0
many-rounds: 72 924 774 48 1536 0 300 24 1 0 0
magnitudes: 138 2028 3.85954e+16 3.34818e+11 1.15517e+18 0 504 12 1 0 0
growing-errors: 120 378 289.978 117.852 19143.9 0 87 30 1 0 0
queue-tree: 105 687 86097.2 294 7620 0 108 27 30 315 5301
alpha-fair: 30 720 497.347 183.531 520 0 240 3.84672 1 0 0
njc-circle: 16 144 144 144 16 16 16 16 1 0 0
njc-selection: 304 1728 1656 144 16 16 16 16 1 0 0
psdsf-time: 28 340 282.731 20 8 0 160 11.7583 1 0 0
psdsf-theorem-2: 63 168 416.76 6 3 0 18 5.07857 1 0 0
psdsf-theorem-1: 105 264 634.822 6 3 0 18 5.07857 1 0 0
whole-pool: 15 60 2141.47 2129 6426 0 12 12 1 0 0
whole-packing: 10 40 1612 526 2792 0 12 1.03401 1 0 0
"""


@pytest.mark.parametrize("row", PUBLISHED.strip().splitlines())
def test_entries_are_those_that_earlier_versions_made(row):
    """Numbers of two versions can be compared, because a name, a size and a seed stand for the same program."""
    name, _, expected = row.partition(": ")
    entry = library.load(name, "small", seed=1)
    program, instance = entry.program(), entry.instance
    queues = instance.tree
    limits = instance.task_limits[np.isfinite(instance.task_limits)]
    sums = (
        program.n_rows,
        program.A.nnz,
        abs(program.A).sum(),
        instance.demands.sum(),
        instance.pool.sum(),
        limits.sum(),
        instance.eligible.sum(),
        instance.weights.sum(),
        queues.weights.sum(),
        queues.guarantees.sum(),
        queues.caps[queues.capped].sum(),
    )
    assert [float(number) for number in sums] == pytest.approx(
        [float(number) for number in expected.split()], rel=1e-5
    )
