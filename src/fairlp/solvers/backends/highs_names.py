"""Names of columns and rows that HiGHS is given at the first call that may show them.

To hand over the names of a large model takes more time and memory than the model itself, and most
users of a ``highspy.Highs`` object only solve it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...models.programs.program import Program

__all__ = ["with_late_names"]

#: A function that raises where HiGHS says that a call, in words, failed.
Checked = Callable[[Any, str], None]
_CALLS_WITHOUT_NAMES = """
allConstrDuals allConstrValues allVariableDuals allVariableValues basisStatusToString
basisValidityToString changeCoeff changeColBounds changeColCost changeColIntegrality
changeColsBounds changeColsCost changeColsIntegrality changeObjectiveOffset
changeObjectiveSense changeRowBounds changeRowsBounds constrDual constrDuals constrValue
constrValues getBasicVariables getBasis getCol getColEntries getColIntegrality getCols
getColsEntries getDualObjectiveValue getDualRay getDualRayExist getInfinity getInfo getInfoType
getInfoValue getModelPresolveStatus getModelStatus getNumCol getNumNz getNumRow
getObjectiveOffset getObjectiveSense getObjectiveValue getOptionType getOptionValue
getPrimalRay getPrimalRayExist getRanging getRow getRowEntries getRows getRowsEntries
getRunTime getSavedMipSolutions getSolution githash inf modelStatusToString numConstrs
numVariables setMaximize setMinimize setOptionValue silent solutionStatusToString
variableDual variableDuals variableValue variableValues version versionMajor versionMinor
versionPatch HandleKeyboardInterrupt HandleUserInterrupt
"""
#: What an object neither shows nor moves names by. Anything else brings the names first, also what a
#: later version of highspy adds.
_WITHOUT_NAMES = frozenset(_CALLS_WITHOUT_NAMES.split())
#: What shows no names either, and leaves an answer, a basis or a point, which only calls of
#: ``passColName`` keep.
_SOLVING = frozenset({"optimize", "run", "setBasis", "setSolution", "solve"})
#: Parts of the names of options that let ``run`` read or write names.
_OPTIONS_WITH_NAMES = ("file", "log_dev_level", "highs_debug_level")


def with_late_names(highs: Any, program: Program, checked: Checked) -> None:
    """Let a ``highspy.Highs`` object with a program get its names when they are first needed."""
    plain: Any = type(highs)
    vars(highs)["_names"] = _Names(program, plain, checked)
    highs.__class__ = _class_of(plain)


class _Names:
    """The names that an object is still to get.

    Attributes
    ----------
    program : Program
    plain : type
        The class of the object once it has them.
    is_solved : bool
        Whether the object may have an answer to keep.
    """

    def __init__(self, program: Program, plain: type, checked: Checked) -> None:
        self.program = program
        self.plain = plain
        self.checked = checked
        self.is_solved = False

    def hand_over(self, highs: Any) -> None:
        """Give an object the names; from then on it is one like any other."""
        highs.__class__ = self.plain
        del vars(highs)["_names"]
        if self.is_solved:
            for column, name in enumerate(self.program.column_names):
                self.checked(highs.passColName(column, name), "the name of a column")
            for row, name in enumerate(self.program.row_names):
                self.checked(highs.passRowName(row, name), "the name of a row")
            return
        lp = highs.getLp()  # with all names at once: a call for each takes longer
        lp.col_names_ = self.program.column_names
        lp.row_names_ = self.program.row_names
        self.checked(highs.passModel(lp), "the model with its names")


@functools.cache
def _class_of(plain: Any) -> type:
    """Return the class of objects that still lack their names."""

    class Highs(plain):  # type: ignore[misc]
        __module__ = plain.__module__
        __doc__ = plain.__doc__

        def __getattribute__(self, attribute: str) -> Any:
            if attribute in _SOLVING:
                vars(self)["_names"].is_solved = True
            elif attribute not in _WITHOUT_NAMES and not attribute.startswith("_"):
                vars(self)["_names"].hand_over(self)
                return getattr(self, attribute)
            return super().__getattribute__(attribute)

        def setOptionValue(self, option: str, value: Any) -> Any:
            """Set an option of HiGHS."""
            names = vars(self).get("_names")  # None where the method was taken before they came
            if names and any(part in str(option) for part in _OPTIONS_WITH_NAMES):
                names.hand_over(self)
            return plain.setOptionValue(self, option, value)

    return Highs
