"""Functions of studies: found and named, with checked arguments."""

from __future__ import annotations

import pytest

from fairlp.errors import UnknownNameError
from fairlp_research.study import functions
from fairlp_research.study.functions import check_arguments, key_of


def test_the_order_of_parameters_does_not_matter_to_a_key():
    assert key_of({"users": 1, "resources": 2}) == key_of({"resources": 2, "users": 1})
    assert key_of({"users": 1}) != key_of({"users": 1.0})


@pytest.mark.parametrize(("module", "name"), [("no_such_module", "jain"), ("json", "no_such_name")])
def test_a_function_that_its_module_does_not_have_has_no_name(module, name):
    def function():
        pass

    function.__module__, function.__qualname__ = module, name
    assert functions.name_of(function, {}) is None
    assert functions.name_of(function, {"mine": function}) == "mine"


def test_a_function_whose_signature_is_unknown_is_accepted():
    assert check_arguments(dict, 1, {"anything": 1}, "dict") is None
    with pytest.raises(UnknownNameError, match="own has no parameter 'no_such'"):
        check_arguments(lambda instance: {}, 1, {"no_such": 1}, "own")
