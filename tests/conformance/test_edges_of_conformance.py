"""Answers that contradict themselves: what is absent cannot be read."""

from __future__ import annotations

from types import SimpleNamespace

from fairlp.conformance import _consistent
from fairlp.errors import NoSolutionError
from fairlp.models.programs.solution import Point


class Absent:
    """A solution without a point, of which some things can be read all the same."""

    x = None
    status = SimpleNamespace(primal=Point.NONE)

    def __init__(self, **readable):
        self.readable = readable

    def __getattr__(self, name):
        if name in self.readable:
            return self.readable[name]
        raise NoSolutionError(name)


def test_what_is_absent_cannot_be_read_as_zeros():
    assert _consistent(Absent())[0] == "passed"
    assert _consistent(Absent(objective=0.0)) == ("failed", "objective of an absent solution can be read")
    assert _consistent(Absent(values={})) == ("failed", "values of an absent solution can be read")
