"""How many files a call goes through, and which features stand out of the way of those who use none."""

from __future__ import annotations

import pytest

import fairlp
from scripts import benchmark

#: Files that a call may go through at most.
MOST_FILES = {"YAML to MPS": 27, "allocate by an LP": 40}
#: Features of which a model of one linear objective has none: several objectives, concave levels,
#: lists of labels, absolute values and other edits, names of other tools, names of other packages,
#: and views for readers.
OUT_OF_THE_WAY = {
    "hints.py",
    "mechanisms/max_min/history.py",
    "models/notation/combinations.py",
    "models/notation/concave_levels.py",
    "models/notation/in_order.py",
    "models/notation/values.py",
    "models/programs/views.py",
    "registry.py",
}


@pytest.fixture(scope="module")
def files_of_walks():
    with benchmark("walk") as script:
        assert all((script.HOME / file).exists() for file in OUT_OF_THE_WAY)
        return {name: files for name, files, _ in script.walks()}


def test_a_call_goes_through_few_files(files_of_walks):
    counts = {name: len(files) for name, files in files_of_walks.items()}
    assert counts.keys() == MOST_FILES.keys()
    assert {name for name, count in counts.items() if count > MOST_FILES[name]} == set(), counts


def test_features_stand_out_of_the_way_of_those_who_use_none(files_of_walks):
    for name, files in files_of_walks.items():
        assert not OUT_OF_THE_WAY.intersection(files), name


def test_a_walk_sees_the_file_of_a_feature_that_is_used():
    with benchmark("walk") as script:
        model = fairlp.Model("m")
        x = model.variable("x", upper=3)
        files, _ = script.walk(lambda: model.maximize([x, -x]))
        assert "models/notation/in_order.py" in files
