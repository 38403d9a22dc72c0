"""Proofs: the results of ``certify()``, and proofs in rationals that others can check in files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from ...errors import FileFormatError
from ...tolerances import AGREEMENT
from .program import Program
from .writers import write

#: Statuses of columns and rows.
Basis = tuple[list[int], list[int]]


@dataclass(frozen=True)
class ProofRound:
    """One program proved optimal: basis, point, row duals, and the blocked users with floors.

    Attributes
    ----------
    basis : pair of lists of int
        Statuses of columns and rows, in HiGHS's numbers.
    x, row_duals : sequence of Fraction
        Point, and ∂objective/∂right-hand side in the program's sense.
    blocked : sequence of (int, Fraction)
        Rows with a dual, and the lower bound that each has from the next round on, without t.
    """

    basis: Basis
    x: Sequence[Fraction]
    row_duals: Sequence[Fraction]
    blocked: Sequence[tuple[int, Fraction]] = ()


@dataclass(frozen=True)
class ProvedLevel:
    """A user's level, and the row of the program for it (None for a user who can have nothing).

    ``claimed`` is the level of the allocation that is proved, a float; None where there is no
    allocation.
    """

    name: str
    row: int | None
    level: Fraction | None
    claimed: float | None = None


@dataclass(frozen=True)
class ExactProof:
    """A proof that others can check: the rounds of a leximin, or one program's optimum.

    The latter has one round and no levels.

    Attributes
    ----------
    program : Program
        Of the first round.
    rounds : tuple of ProofRound
    t : int or None
        The column that the rounds maximise.
    levels : tuple of ProvedLevel
    notes : tuple of str
        What a reader should know of how the program was made.
    entries : mapping
        (row, column) → exact entry of the matrix, where it is not the program's float.
    """

    program: Program
    rounds: tuple[ProofRound, ...]
    t: int | None = None
    levels: tuple[ProvedLevel, ...] = ()
    notes: tuple[str, ...] = ()
    entries: Mapping[tuple[int, int], Fraction] = field(default_factory=dict)


#: Why there is no proof in a file, of a verdict that gives no other reason.
NO_PROOF = (
    "only verdicts in rationals that rest on linear programs can be written: certify(exact=True) "
    "of an allocation by a max-min mechanism without queues, of a leximin, or of a linear "
    "program's solution. Fixed points (PS-DSF), logarithms (no justified complaints, CEEI) and "
    "whole tasks are proved by other means than duals"
)


@dataclass(frozen=True)
class Proof:
    """What ``certify()`` returns: whether something holds, proved, and what says so or what fails.

    Attributes
    ----------
    holds : bool
        Whether it is proved.
    message : str
        "optimal, proved …", or what fails.
    gap : float
        Largest difference from what is proved right, relative: of a user's level, or the duality
        gap of a program; NaN where nothing was measured.
    levels : tuple of (Fraction or None)
        Exact levels by user, where they were computed; None for a user who can run nothing.
    exact : ExactProof or str
        What :meth:`write` writes, or why there is nothing to write.
    """

    holds: bool
    message: str
    gap: float = float("nan")
    levels: tuple[Fraction | None, ...] = field(default=(), repr=False)
    exact: ExactProof | str = field(default=NO_PROOF, repr=False, compare=False, kw_only=True)

    def compared(
        self,
        claim: str,
        names: Sequence[str],
        levels: np.ndarray,
        right_levels: np.ndarray,
        errors: np.ndarray,
        told: float = 0.0,
    ) -> Proof:
        """Return the proof that some levels are the right ones, which self proves.

        Levels are refused only where one is less than what is right; others are not proved.

        Parameters
        ----------
        claim : str
            What is claimed: "optimal".
        names : sequence of str
            Of those who have the levels.
        levels, right_levels, errors : ndarray
            The levels, those that are right, and how far they are apart, relatively.
        told : float
            How far those that are right may be off themselves, relatively.

        Returns
        -------
        Proof
        """
        worst = int(errors.argmax())
        largest_error = float(errors[worst])
        if largest_error <= AGREEMENT:
            return replace(
                self,
                message=f"{claim}, proved ({self.message}); levels agree to {largest_error:.1e}",
                gap=largest_error,
            )
        shortfalls = np.where(right_levels > levels, errors, 0.0)
        is_shown = shortfalls.max() > max(AGREEMENT, told)
        verdict = f"not {claim}" if is_shown else "not proved"
        comparison = f"{names[worst]} has the level {levels[worst]:.12g}, and {right_levels[worst]:.12g} is right"
        return Proof(False, f"{verdict}: {comparison} ({self.message})", largest_error, self.levels)

    def write(self, path: str | Path) -> Path:
        """Write the proof to a file that others can check, and return its path.

        Parameters
        ----------
        path : path-like
            ``.json``: for ``python -m fairlp_check``, which shares no code with fairlp
            (docs/proofs.md).

        Returns
        -------
        Path

        Raises
        ------
        FileFormatError
            For another suffix.
        NoSolutionError
            Nothing is proved; the message says what is missing.
        UnsupportedError
            A proof of another kind; the message says which can be written.
        """
        suffix = Path(path).suffix.lower()
        if suffix != ".json":
            raise FileFormatError(f"a proof is written as .json, not as {Path(path).name!r}")
        return Path(write(self, path, suffix))

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        return self.message

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p><b>{'proved' if self.holds else 'not proved'}</b>: {escape(self.message)}</p>"
