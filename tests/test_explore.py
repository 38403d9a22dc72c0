"""Tests that take a seed are called with others, and what fails is written as a test that shows it again."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import fairlp
from paths import ROOT
from scripts import benchmark


def fails_for_odd_seeds(seed):
    instance = fairlp.examples.ghodsi()
    assert seed % 2 == 0, instance


def test_a_find_is_written_as_a_test_beside_its_instance(tmp_path, capsys):
    with benchmark("explore") as script:
        oracle = script.Oracle("test_merging", "tests/test_explore.py", fails_for_odd_seeds, [{}])
        n_finds = script.explore([oracle], 0.1, 7, tmp_path)
    assert n_finds == oracle.finds == script.MOST_FINDS and oracle.calls > n_finds
    seeds = re.findall(r"'seed': (\d+)", capsys.readouterr().out)
    assert len(seeds) == n_finds and all(int(seed) % 2 for seed in seeds)
    for number, seed in enumerate(seeds, start=1):
        text = (tmp_path / f"test_merging_{number}.py").read_text(encoding="utf-8")
        compile(text, "find", "exec")
        assert f"def test_merging_{number}():" in text and f"check(seed={seed})" in text
        instance = fairlp.read(tmp_path / f"merging_{number}_0.yaml")
        assert instance.equals(fairlp.examples.ghodsi())


@pytest.mark.slow
def test_a_file_is_explored_from_the_command_line():
    command = [sys.executable, "benchmarks/explore.py", "--minutes", "0.05", "--seed", "3"]
    command += ["--only", "tests/models/instances/test_merging.py"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "seed 3: 2 tests take a seed" in run.stdout and "0 finds" in run.stdout
