"""The benchmarks of the companions run to their end, at their smallest sizes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from scripts import BENCHMARKS

SMALLEST = [
    "clusters/period.py --dumps 2 --nodes 5 --pods 20 --owners 4",
    "clusters/snapshot.py --nodes 5 --pods 20 --owners 4",
]


@pytest.mark.slow
@pytest.mark.parametrize("command", SMALLEST)
def test_a_benchmark_runs_to_its_end(command):
    script, *options = command.split()
    subprocess.run([sys.executable, BENCHMARKS / script, *options], check=True, timeout=120)
