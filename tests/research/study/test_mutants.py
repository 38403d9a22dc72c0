"""Studies that were changed in one place: an instance, or words."""

from __future__ import annotations

import pytest

from fairlp.errors import FairlpError
from fairlp_research.study import Study
from mutants import mutant, mutant_text

GRIDS = {
    "uniform-integers": {
        "users": [2, 3],
        "resources": [2],
        "demands": [[1, 10]],
        "weights": [[1, 3]],
    },
    "log-normal": {
        "users": [3],
        "servers": [2],
        "size": [5.0],
        "eligible": [0.5],
        "demand_sigma": [1.0],
        "server_sigma": [0.5],
    },
    "google-cluster": {"users": [3], "one_by_one": [False]},
}


def document(generator):
    study = Study(
        name="s",
        generator=generator,
        grid=GRIDS[generator],
        mechanisms={"a": {"mechanism": "drfh"}, "b": {"mechanism": "tsf", "method": "lp"}},
        statistics=["summary"],
        runs=2,
    )
    return study.to_dict()


@pytest.mark.parametrize("generator", GRIDS)
def test_a_changed_study_makes_instances_or_says_why_not(generator):
    instances = 0
    for seed in range(250):
        try:
            study = Study.from_dict(mutant(document(generator), seed))
            for point in range(len(study.points)):
                instances += len(study.instance(point).users) > 0
        except FairlpError as error:
            assert str(error)
    assert instances > 0


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_a_changed_file_is_a_study_or_refused_in_words(tmp_path, suffix):
    file = tmp_path / f"study.{suffix}"
    for seed in range(200):
        text = mutant_text(document("uniform-integers"), seed)
        file.write_text(text, encoding="utf-8")
        try:
            study = Study.read(file)
            study.instance()
            study.write(tmp_path / "again.yaml")
            assert Study.read(tmp_path / "again.yaml").to_dict() == study.to_dict()
        except FairlpError as error:
            assert str(error)
