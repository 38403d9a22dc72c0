"""The table of properties."""

from __future__ import annotations

import pytest

import fairlp
from fairlp import examples
from fairlp.auditing.promises import COLUMNS
from fairlp.auditing.properties import DYNAMIC, PROPERTIES
from fairlp.errors import (
    UnknownNameError,
)


def test_the_table_of_properties_lists_all_of_them():
    table = fairlp.properties()
    assert list(table.index) == [*PROPERTIES, *DYNAMIC] and set(COLUMNS) <= set(table.index)
    assert table.reruns[
        ["strategy-proof", "strategy-proof at every step", "late arrival never pays"]
    ].all()


def test_what_is_asked_of_every_step_is_not_asked_of_one_allocation():
    with pytest.raises(
        UnknownNameError, match=r"'irrevocable' is asked of every step, and this is one allocation"
    ):
        fairlp.audit(examples.ghodsi(), fairlp.allocate(examples.ghodsi(), "drf"), "irrevocable")
