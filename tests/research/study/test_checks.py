"""Fields of a study that cannot be run are errors before anything runs."""

from __future__ import annotations

import pytest

from fairlp.errors import StudyError, UnknownNameError
from fairlp_research.study import checks
from study_functions import make


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"generator": "uniform-integer"}, UnknownNameError, "did you mean 'uniform-integers'"),
        ({"generator": "no_such_module:x"}, UnknownNameError, "cannot import 'no_such_module'"),
        (
            {"generator": "study_functions:__name__"},
            UnknownNameError,
            "has no generator '__name__'",
        ),
        ({"mechanisms": ["drff"]}, UnknownNameError, "did you mean 'drf'"),
        (
            {"mechanisms": {"a": {"mechanism": "drf", "solver": "hihgs"}}},
            UnknownNameError,
            "did you mean 'highs'",
        ),
        ({"mechanisms": {"a": {"method": "lp"}}}, StudyError, "mechanisms.a is .*expected a name"),
        ({"mechanisms": []}, StudyError, "there are no mechanisms"),
        ({"statistics": ["sumary"]}, UnknownNameError, "did you mean 'summary'"),
        ({"statistics": []}, StudyError, "there are no statistics"),
        ({"statistics": [{"of": "exact"}]}, StudyError, r"statistics\[0\]"),
        ({"statistics": ["jain", "jain"]}, StudyError, "two statistics have the label 'jain'"),
        (
            {"statistics": [{"name": "jain", "fo": "exact"}]},
            UnknownNameError,
            "no parameter 'fo'; .*'of'",
        ),
        (
            {"statistics": [{"name": "jain", "of": "exat"}]},
            UnknownNameError,
            "did you mean 'exact'",
        ),
        ({"statistics": [{"name": "jain", "of": [None]}]}, UnknownNameError, "has the label None"),
        (
            {"statistics": [{"name": "deviation", "of": "exact", "from": "elsewhere"}]},
            UnknownNameError,
            "has the label 'elsewhere'",
        ),
        (
            {"statistics": [{"name": "deviation", "of": "exact"}]},
            StudyError,
            "argument: 'from'; its parameters: of, from",
        ),
        (
            {"grid": {"user": [3]}},
            UnknownNameError,
            r"point 0 \(user=3\): generator 'noted' .*did you mean 'users'",
        ),
        ({"grid": {"users": 3}}, StudyError, r"such as \[3\]"),
        ({"grid": {"users": [float("inf")]}}, StudyError, r"grid.users\[0\] is inf"),
        ({"grid": {1: [2]}}, StudyError, "has the key 1"),
        ({"runs": 0}, StudyError, "runs is 0; expected a whole number of at least 1"),
        ({"seed": -1}, StudyError, "seed is -1"),
    ],
)
def test_a_wrong_field_is_an_error_that_names_it(changes, error, message):
    with pytest.raises(error, match=message):
        make(**changes)


@pytest.mark.parametrize("value", [True, 0, 1.5, "3"])
def test_a_number_of_runs_is_whole_and_positive(value):
    with pytest.raises(StudyError, match="whole number"):
        checks.whole(value, "runs", 1)
