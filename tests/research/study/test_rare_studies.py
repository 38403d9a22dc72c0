"""Studies of one thing, functions that cannot be told, and files of another kind."""

from __future__ import annotations

import numpy as np
import pytest

import study_functions
from fairlp.errors import FileFormatError, StudyError, UnknownNameError
from fairlp.mechanisms.table import find
from fairlp.research.study.functions import check_arguments
from study_functions import make


def test_one_mechanism_and_one_statistic_need_no_list():
    plain = make(mechanisms="drf", statistics=["jain"])
    assert make(mechanisms=find("drf"), statistics="jain").to_dict() == plain.to_dict()
    assert list(plain.mechanisms) == ["drf"]


def test_a_label_is_text():
    with pytest.raises(StudyError, match=r"the label of statistics\[0\] is 3; expected text"):
        make(mechanisms="drf", statistics=[{"name": "jain", "label": 3}])


def test_files_of_studies_have_three_endings_and_a_folder(tmp_path):
    one = make(mechanisms="drf", statistics="jain")
    with pytest.raises(FileFormatError, match=r"expected \.json, \.yaml or \.yml"):
        one.write(tmp_path / "study.toml")
    with pytest.raises(FileFormatError, match="there is no folder"):
        one.write(tmp_path / "no" / "study.yaml")
    (tmp_path / "taken.parquet").mkdir()
    with pytest.raises(FileFormatError, match="it is a folder; expected a file"):
        one.run(tmp_path / "taken.parquet", progress=False)


def test_a_point_that_is_not_there():
    one = make(mechanisms="drf", statistics="jain")
    for point in (-1, 10_000):
        with pytest.raises(StudyError, match=f"there is no point {point}; study"):
            one.allocations(point=point, run=0)


def test_a_function_whose_arguments_cannot_be_known_is_tried():
    assert check_arguments(dict, 1, {"anything": 1}, "dict") is None
    with pytest.raises(UnknownNameError, match="own has no parameter 'no_such'"):
        check_arguments(lambda instance: {}, 1, {"no_such": 1}, "own")


TWO, THREE = np.float64(2.0), np.float64(3.0)


def test_a_default_that_is_no_plain_value_is_known_by_its_kind():
    def spread(instance, allocations, like=study_functions, scale=TWO):
        return {"users": len(instance.users) * float(scale)}

    def twice(instance, allocations, like=study_functions, scale=THREE):
        return {"users": len(instance.users) * float(scale)}

    one, other = (make(mechanisms="drf", statistics=[how]).run(progress=False).frame for how in (spread, twice))
    assert (one.filter(like="users").iloc[:, -1] * 1.5 == other.filter(like="users").iloc[:, -1]).all()
