"""Generators and statistics of the tests of studies, in a module, so that other processes find them."""

from __future__ import annotations

import os
import time

import numpy as np

from fairlp import Instance
from fairlp_research import study
from fairlp_research.study.generators import uniform_integers


def noted(rng, *, users, fail_at=None):
    """A pool of two resources; says in the file FAIRLP_TEST_LOG that it was called, and takes its time."""
    instance = uniform_integers(rng, users=users, resources=2, reserves=(100, 200))
    if log := os.environ.get("FAIRLP_TEST_LOG"):
        with open(log, "ab") as file:
            file.write(b"%d\n" % users)
    time.sleep(float(os.environ.get("FAIRLP_TEST_SECONDS", 0)))
    if fail_at is not None and instance.demands[0, 0] >= fail_at:
        raise ZeroDivisionError("a large demand")
    return instance


def awkward(instance, allocations):
    """Floats that text formats get wrong, and columns that not every run has."""
    first = float(instance.demands[0, 0])
    output = {
        "third": 1 / (3 * first),
        "nan": float("nan"),
        "infinite": -np.inf,
        "zero": -0.0,
        "small": 5e-324,
    }
    if first > 5:
        output["sometimes"] = np.int32(first)
    return output | {"large": bool(first > 5), "mixed": first if first > 5 else 1}


def make(**changes):
    """A small study of two points."""
    parts = {
        "name": "small",
        "generator": noted,
        "grid": {"users": [3, 5]},
        "mechanisms": {"exact": "drf", "other": {"mechanism": "asset"}},
        "statistics": ["summary", awkward, {"name": "deviation", "of": "other", "from": "exact"}],
        "runs": 6,
    }
    return study.Study(**(parts | changes))


def one_user(rng):
    return Instance.from_arrays([[1.0]], [[2.0]])


def say_and_sleep(seconds):
    """A call that says in the output of its process that it has begun, and takes its time."""
    os.write(1, b"begun\n")  # whole: print may write the end of the line by itself
    time.sleep(seconds)
