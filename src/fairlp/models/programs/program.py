"""``Program``: a compiled model as frozen arrays, with a name for every row and column."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
import pandas as pd

from ...errors import FileFormatError, ModelError, UnknownNameError, nearest
from ...keywords import lists
from ...tolerances import WHOLE
from .options import SolveOptions, WriteOptions
from .views import NamedView, html_of_values
from .writers import format_of, write

if TYPE_CHECKING:
    from scipy.sparse import csc_array, csr_array

    from .backends import AnySolver
    from .solution import Solution

# ``BlockView``: the values of a solution by name.


class BlockView(NamedView[Any]):
    """Values by block name, as labelled pandas objects, made when asked for."""

    def __init__(self, blocks: tuple[Block, ...], values: np.ndarray, title: str) -> None:
        super().__init__({block.name: block for block in blocks}, title)
        self._values = values

    def __getitem__(self, name: str) -> Any:
        self._require(name)
        return self._entries[name].unpack(self._values)

    def __repr__(self) -> str:
        return "\n".join(f"{name}:\n{self[name]}" for name in self)

    def _repr_html_(self) -> str:
        return html_of_values(self)


def free_name(name: str, used_names: Container[str]) -> str:
    """Return a name that is not taken: the given one, or with ``_`` behind it."""
    while name in used_names:
        name += "_"
    return name


Sense = Literal["min", "max"]
CONTINUOUS = 0
INTEGER = 1


@dataclass(frozen=True)
class Block:
    """A named family of rows or columns over labelled indices: a slice of the Program.

    Attributes
    ----------
    name : str
        Name of the variable or constraint.
    axes : tuple of (str, pandas.Index)
        Symbol and labels of each index, outermost first; empty for a single row or column.
    start, stop : int
        The block is rows (or columns) ``start:stop`` of the Program.
    positions : ndarray or None
        Flat positions, in C order over ``axes``, of the elements that exist; None when all do.
    """

    name: str
    axes: tuple[tuple[str, pd.Index[Any]], ...]
    start: int
    stop: int
    positions: np.ndarray | None = None

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of labels of each index."""
        return tuple(len(labels) for _, labels in self.axes)

    @property
    def slice(self) -> slice:
        """Where the block lies in the Program."""
        return slice(self.start, self.stop)

    @property
    def flat(self) -> np.ndarray:
        """Flat positions of the elements, in C order over the axes."""
        return np.arange(len(self)) if self.positions is None else self.positions

    def labels(self) -> Iterator[tuple[Any, ...]]:
        """Yield the labels of each element, in order."""
        if not self.axes:
            yield ()
            return
        yield from zip(*self.columns().values(), strict=True)

    def columns(self) -> dict[str, np.ndarray]:
        """Return the labels of each element, in order, as one array for each index."""
        places = np.unravel_index(self.flat, self.shape) if self.axes else ()
        return {
            symbol: np.asarray(labels, dtype=object)[places_of_axis]
            for (symbol, labels), places_of_axis in zip(self.axes, places, strict=True)
        }

    def names(self) -> list[str]:
        """Return the name of each element as people write it: ``capacity[server3,cpu]``."""
        if not self.axes:
            return [self.name]
        # Each label becomes text once, however many elements have it.
        following = len(self.axes) - 1
        starts = [f"{self.name}[", *[","] * following]
        ends = [*[""] * following, "]"]
        places = np.unravel_index(self.flat, self.shape)
        texts = [
            np.array(
                [f"{start}{label}{end}" for label in labels.to_flat_index().astype(str)], object
            )
            for start, (_, labels), end in zip(starts, self.axes, ends, strict=True)
        ]
        names: Any = texts[0][places[0]]
        for axis in range(1, len(self.axes)):
            names = names + texts[axis][places[axis]]
        return list(names)

    def name_of(self, place: int) -> str:
        """Return the name of one element of the block."""
        position = np.array([place if self.positions is None else self.positions[place]])
        return Block(self.name, self.axes, 0, 1, position).names()[0]

    def unpack(self, values: np.ndarray, missing: float = np.nan) -> Any:
        """Return the block's part of a flat vector as a labelled object.

        A float without indices, a Series over one, a DataFrame over two, a Series with a MultiIndex
        over more. Elements that the mask leaves out are ``missing``.
        """
        elements = np.asarray(values)[self.slice]
        if not self.axes:
            return elements[0].item()
        if self.positions is not None:
            dense = np.full(int(np.prod(self.shape)), missing)
            dense[self.positions] = elements
            elements = dense
        names = [symbol for symbol, _ in self.axes]
        indexes = [labels.rename(symbol) for symbol, labels in self.axes]
        if len(self.axes) == 1:
            return pd.Series(elements.copy(), index=indexes[0], name=self.name)
        if len(self.axes) == 2:
            return pd.DataFrame(
                elements.reshape(self.shape).copy(), index=indexes[0], columns=indexes[1]
            )
        return pd.Series(
            elements.copy(), index=pd.MultiIndex.from_product(indexes, names=names), name=self.name
        )

    def taken(self, other: Block, values: np.ndarray, missing: Any) -> np.ndarray:
        """Return another block's values, by label, in this block's order; else ``missing``."""
        result = np.full(len(self), missing, dtype=values.dtype)
        if len(self.axes) != len(other.axes):
            return result
        axes = zip(
            np.unravel_index(self.flat, self.shape) if self.axes else (),
            self.axes,
            other.axes,
            strict=True,
        )
        places = [
            other_labels.get_indexer(labels)[axis_places]
            for axis_places, (_, labels), (_, other_labels) in axes
        ]
        has_value = np.all([axis_places >= 0 for axis_places in places], axis=0) & np.ones(
            len(self), dtype=bool
        )
        place = np.zeros(len(self), dtype=np.intp)
        for axis_places, length in zip(places, other.shape, strict=True):
            place = place * length + axis_places
        if other.positions is not None:
            flat = place
            place = np.searchsorted(other.positions, place)
            has_value &= np.append(other.positions, -1)[np.where(has_value, place, -1)] == flat
        result[has_value] = values[other.start + place[has_value]]
        return result


def tidy(kind: str, blocks: Sequence[Block], numbers: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Return a frame with a row for each element: its block, labels, and numbers by position.

    An index with the name of another column gets an underscore.

    An index that is called as another column gets an underscore.
    """
    used_names = (kind, *numbers)
    frames = [
        pd.DataFrame(
            {
                kind: block.name,
                **{
                    free_name(symbol, used_names): labels
                    for symbol, labels in block.columns().items()
                },
                **{name: values[block.slice] + 0 for name, values in numbers.items()},
            },
            index=range(block.start, block.stop),
        )
        for block in blocks
    ]
    symbols = dict.fromkeys(
        free_name(symbol, used_names) for block in blocks for symbol, _ in block.axes
    )
    columns = [kind, *symbols, *numbers]
    frames = [frame for frame in frames if len(frame)]
    return (pd.concat(frames) if frames else pd.DataFrame()).reindex(columns=columns)


def kind_of(alpha: np.ndarray) -> str:
    """Return what concave terms are: logarithms, squares, or powers (perhaps beside these)."""
    return "log" if (alpha == 1).all() else "quadratic" if (alpha == -1).all() else "power"


@dataclass(frozen=True)
class LogTerms:
    """A weighted sum ``Σ_k weights[k] · u_k(A[k] · x + constant[k])`` of logarithms and powers.

    u_k(z) is log z where ``alpha[k]`` is 1, and z^(1−alpha)/(1−alpha) elsewhere: its slope is
    z^(−alpha). A square has alpha −1, and takes any z.
    """

    name: str
    weights: np.ndarray
    A: csr_array[Any]
    constant: np.ndarray
    alpha: np.ndarray = field(default_factory=lambda: np.ones(0))

    def __post_init__(self) -> None:
        if not self.alpha.size:  # logarithms, unless something else is said
            object.__setattr__(self, "alpha", np.ones(len(self.weights)))

    def arguments(self, x: np.ndarray) -> np.ndarray:
        """Return z at a point."""
        return np.asarray(self.A @ x + self.constant)

    def value(self, z: np.ndarray) -> float:
        """Return the sum at these arguments."""
        log = self.alpha == 1
        power = np.where(log, 1.0, 1.0 - self.alpha)
        with np.errstate(divide="ignore"):
            return float(
                self.weights @ np.where(log, np.log(np.where(log, z, 1.0)), z**power / power)
            )

    def slopes(self, z: np.ndarray) -> np.ndarray:
        """Return the derivative of each term at its argument."""
        return np.asarray(self.weights * z**-self.alpha)


@dataclass(frozen=True, eq=False)
class Program:
    """A linear (mixed-integer, or log-concave) program as arrays that cannot be changed.

    ``sense`` of ``c @ x + offset (+ logs)`` subject to ``row_lower <= A @ x <= row_upper`` and
    ``col_lower <= x <= col_upper``, ``x[j]`` integer where ``integrality[j]`` is 1.

    Attributes
    ----------
    name : str
    sense : {"min", "max"}
    c : ndarray, shape (columns,)
    offset : float
    A : scipy.sparse.csc_array, shape (rows, columns)
        Row indices are sorted, without duplicates; there are no explicit zeros.
    row_lower, row_upper : ndarray, shape (rows,)
    col_lower, col_upper : ndarray, shape (columns,)
    integrality : ndarray of uint8, shape (columns,)
    logs : LogTerms or None
        The concave part of the objective (to be maximised with weights >= 0, or minimised with
        weights <= 0).
    rows, columns : tuple of Block
        The named blocks, in order; answers are mapped back by position.
    source : str
        Where the model was published.
    levels : str
        Name of the rows that say what the levels of a leximin are; empty where the objective is
        all.
    switched : ndarray of int
        Rows that an integer switches off, with a large coefficient (a big M).
    parameters : mapping
        What the model's parameters were, by name: the symbol and labels of each index, and the
        numbers. Values of formulas at a solution are with these, whatever is set since.
    """

    name: str
    sense: Sense
    c: np.ndarray
    offset: float
    A: csc_array[Any]
    row_lower: np.ndarray
    row_upper: np.ndarray
    col_lower: np.ndarray
    col_upper: np.ndarray
    integrality: np.ndarray
    rows: tuple[Block, ...]
    columns: tuple[Block, ...]
    logs: LogTerms | None = None
    source: str = ""
    levels: str = ""
    switched: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    parameters: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rows, columns = self.A.shape
        for attribute, array, size in (
            ("c", self.c, columns),
            ("col_lower", self.col_lower, columns),
            ("col_upper", self.col_upper, columns),
            ("integrality", self.integrality, columns),
            ("row_lower", self.row_lower, rows),
            ("row_upper", self.row_upper, rows),
        ):
            if array.shape != (size,):
                raise ModelError(
                    f"program {self.name!r}: {attribute} has shape {array.shape}, expected ({size},)"
                )
            array.setflags(write=False)
        if self.is_mip:
            self._snap_bounds_of_integers()
        for array in (self.A.data, self.A.indices, self.A.indptr):
            array.setflags(write=False)

    def _snap_bounds_of_integers(self) -> None:
        """Take bounds and rows of single integers for the whole numbers that they nearly are."""
        is_whole = self.integrality > 0
        entries = _entries_alone_in_their_rows(self.A)
        columns = np.searchsorted(self.A.indptr, entries, side="right") - 1
        entries = entries[is_whole[columns]]
        rows = self.A.indices[entries]
        coefficients = self.A.data[entries]
        integers = np.flatnonzero(is_whole)
        for name, places, unit in (
            ("col_lower", integers, np.ones(len(integers))),
            ("col_upper", integers, np.ones(len(integers))),
            ("row_lower", rows, coefficients),
            ("row_upper", rows, coefficients),
        ):
            ends = getattr(self, name)
            snapped = _whole_ends(ends[places], unit)
            if not np.array_equal(snapped, ends[places]):
                ends = ends.copy()
                ends[places] = snapped
                ends.setflags(write=False)
                object.__setattr__(self, name, ends)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.A.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.A.shape[1])

    @cached_property
    def is_mip(self) -> bool:
        """Whether a variable is integer or binary."""
        return bool(self.integrality.any())

    @property
    def nbytes(self) -> int:
        """Bytes of the Program's own arrays."""
        arrays = (
            self.c,
            self.A.data,
            self.A.indices,
            self.A.indptr,
            self.row_lower,
            self.row_upper,
        )
        return sum(a.nbytes for a in (*arrays, self.col_lower, self.col_upper, self.integrality))

    def row_block(self, name: str) -> Block:
        """Return the row block of that name.

        Parameters
        ----------
        name : str
            Name of a constraint.

        Returns
        -------
        Block

        Raises
        ------
        UnknownNameError
            For a name that there is not.

        Examples
        --------
        >>> import fairlp
        >>> program = fairlp.formulate(fairlp.examples.ghodsi(), "drf").compile()
        >>> program.row_block("capacity").names()
        ['capacity[cpu]', 'capacity[memory]']
        """
        return _block(self.rows, name, f"constraint of program {self.name!r}")

    def leximin(self) -> tuple[Block, int]:
        """Return the rows … ≥ w·t of a leximin's levels, and the maximised column t.

        Returns
        -------
        tuple of (Block, int)

        Raises
        ------
        ModelError
            Where the model does not say what its levels are.

        Examples
        --------
        >>> import fairlp
        >>> program = fairlp.formulate(fairlp.examples.ghodsi(), "drf").compile()
        >>> block, t = program.leximin()
        >>> block.name, program.column_names[t]
        ('fairness', 't')
        """
        if not self.levels:
            raise ModelError(
                f"model {self.name!r} does not say what its levels are; say so with "
                "model.leximin(expression), or give "
                "them as levels="
            )
        (t,) = np.flatnonzero(self.c)
        return self.row_block(self.levels), int(t)

    def column_block(self, name: str) -> Block:
        """Return the column block of that name.

        Parameters
        ----------
        name : str
            Name of a variable.

        Returns
        -------
        Block

        Raises
        ------
        UnknownNameError
            For a name that there is not.

        Examples
        --------
        >>> import fairlp
        >>> program = fairlp.formulate(fairlp.examples.ghodsi(), "drf").compile()
        >>> program.column_block("x").slice
        slice(0, 2, None)
        """
        return _block(self.columns, name, f"variable of program {self.name!r}")

    @property
    def row_names(self) -> list[str]:
        """Name of every row, as people write it (made when asked for)."""
        return [name for block in self.rows for name in block.names()]

    @property
    def column_names(self) -> list[str]:
        """Name of every column, as people write it (made when asked for)."""
        return [name for block in self.columns for name in block.names()]

    def whole_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the bounds of the columns, those of integers as whole numbers.

        Solvers are given these: GLPK refuses others, and HiGHS 1.15.1 calls a wrong point optimal
        with some.

        Returns
        -------
        tuple of (ndarray, ndarray)

        Examples
        --------
        >>> from fairlp import Model
        >>> model = Model("halves")
        >>> x = model.variable("x", lower=0.5, upper=2.5, integer=True)
        >>> model.compile().whole_bounds()
        (array([1.]), array([2.]))
        """
        whole = self.integrality > 0
        low = np.where(whole, np.ceil(self.col_lower), self.col_lower)
        return low, np.where(whole, np.floor(self.col_upper), self.col_upper)

    def relaxed(self) -> Program:
        """Return the linear program that remains without integrality, logarithms and powers.

        Returns
        -------
        Program

        Examples
        --------
        >>> from fairlp import Model
        >>> model = Model("knapsack")
        >>> x = model.variable("x", integer=True)
        >>> row = model.constraint("weight", 2 * x <= 5)
        >>> model.maximize(x + 0)
        >>> model.solve().objective, model.compile().relaxed().solve().objective
        (2.0, 2.5)
        """
        return self.replace(integrality=np.zeros_like(self.integrality), logs=None)

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Return the gradient of the objective at a point; the costs of a linear one.

        Parameters
        ----------
        x : ndarray, shape (columns,)

        Returns
        -------
        ndarray, shape (columns,)

        Examples
        --------
        >>> import fairlp
        >>> program = fairlp.formulate(fairlp.examples.ghodsi(), "drf").compile()
        >>> program.gradient(np.array([3, 2, 0.5])).tolist()
        [0.0, 0.0, 1.0]
        """
        if self.logs is None:
            return self.c
        return np.asarray(self.c + self.logs.A.T @ self.logs.slopes(self.logs.arguments(x)))

    def objective_value(self, x: np.ndarray) -> float:
        """Return the objective at ``x``, in the sense that the user wrote.

        Parameters
        ----------
        x : ndarray
            Column values, by position.

        Returns
        -------
        float

        Examples
        --------
        >>> import fairlp
        >>> program = fairlp.formulate(fairlp.examples.ghodsi(), "drf").compile()
        >>> program.objective_value(np.array([3, 2, 0.5]))
        0.5
        """
        with np.errstate(over="ignore"):  # what is beyond floats is infinite
            value = float(self.c @ x) + self.offset
        if self.logs is not None:
            value += self.logs.value(self.logs.arguments(x))
        return value

    @lists(SolveOptions)
    def solve(self, solver: AnySolver = "highs", **options: Unpack[SolveOptions]) -> Solution:
        """Solve by a back end, by its name or as it is; as :meth:`fairlp.Model.solve`.

        Parameters
        ----------
        solver : str or Backend
            A name of :func:`fairlp.solvers`, or one's own.
        **options
            Of :class:`fairlp.Options`.

        Returns
        -------
        Solution

        Examples
        --------
        >>> import fairlp
        >>> program = fairlp.formulate(fairlp.examples.ghodsi(), "drf").compile()
        >>> round(program.solve("scipy").objective, 6)
        0.666667
        """
        from .backends import solve, spelt
        from .options import Options

        return solve(self, solver, Options.from_keywords(spelt(solver), options))

    def explain(
        self, solver: AnySolver = "highs", weights: Mapping[str, float] | None = None
    ) -> pd.DataFrame:
        """Return why the program has no optimum, as :meth:`fairlp.Model.explain` does.

        Names are the program's own.

        Parameters
        ----------
        solver : str or Backend
            A name of :func:`fairlp.solvers`, or one's own.
        weights : mapping, optional
            Name of a constraint or variable → what it costs to relax it, relatively; infinite: it
            must hold.

        Returns
        -------
        DataFrame
            Empty when there is an optimum.

        Examples
        --------
        >>> from fairlp import Model
        >>> model = Model("promises")
        >>> x = model.variable("x", upper=2.5, integer=True)
        >>> promise = model.constraint("promise", 2 * x >= 5)
        >>> model.compile().explain(weights={"x": float("inf")})
                       kind    requires  in_conflict  relax_by
        name
        promise  constraint         ≥ 5         True       1.0
        x             bound  ≥ 0, ≤ 2.5         True       0.0
        x           integer       whole         True       0.0
        """
        from .backends import explain

        return explain(self, solver, weights)

    @lists(WriteOptions)
    def write(self, path: str | Path, **options: Unpack[WriteOptions]) -> list[Path]:
        """Write the program as MPS or LP, compressed when the name ends in ``.gz``.

        Parameters
        ----------
        path : str or Path
            ``x.mps``, ``x.lp``, ``x.mps.gz`` or ``x.lp.gz``.
        **options
            ``profile="portable"`` (default), ``"full"``, ``"native"`` or ``"fixed"`` for MPS,
            ``constant="column"`` (default) or ``"term"`` for LP, ``names="labels"`` (default) or
            ``"numbers"`` for both; the page ``docs/model-files.md`` has
            them.

        Returns
        -------
        list of Path
            The files written: the model and, when labels had to be changed to fit the format,
            ``<path>.names.json``.

        Raises
        ------
        FileFormatError
            For another suffix.

        Examples
        --------
        >>> import fairlp
        >>> program = fairlp.formulate(fairlp.examples.ghodsi(), "drf").compile()
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     print([path.name for path in program.write(f"{folder}/drf.mps")])
        ['drf.mps']
        """
        suffix = format_of(path)
        if suffix not in (".mps", ".lp"):
            raise FileFormatError(
                f"cannot tell the format of {Path(path).name!r}; expected .mps, .lp, .mps.gz or "
                ".lp.gz (or .nl, from a Model)"
            )
        return list(write(self, path, suffix, options))

    def replace(self, **changes: Any) -> Program:
        """Return a copy with other arrays; blocks and names stay.

        Parameters
        ----------
        **changes
            Arrays by the names of the attributes.

        Returns
        -------
        Program

        Examples
        --------
        >>> import fairlp
        >>> program = fairlp.formulate(fairlp.examples.ghodsi(), "drf").compile()
        >>> round(program.replace(row_upper=2 * program.row_upper).solve().objective, 6)
        1.333333
        """
        return replace(self, **changes)

    def __repr__(self) -> str:
        kind = "MILP" if self.is_mip else "LP" if self.logs is None else f"{self.logs.name} program"
        return (
            f"<Program {self.name!r}: {kind}, {self.sense}, {self.n_rows} rows × {self.n_columns} "
            "columns, "
            f"{self.A.nnz} nonzeros>"
        )


def with_rows(
    program: Program, block: str | Block, matrix: Any, lower: Any, upper: Any = np.inf
) -> Program:
    """Return a program with rows lower ≤ matrix·x ≤ upper below its own.

    ``block`` is what they are called, or their block.
    """
    from scipy.sparse import csc_array, vstack

    size = matrix.shape[0]
    A = csc_array(vstack([program.A, matrix]))
    A.sort_indices()
    return program.replace(
        A=A,
        row_lower=np.append(program.row_lower, np.broadcast_to(lower, size)),
        row_upper=np.append(program.row_upper, np.broadcast_to(upper, size)),
        rows=(*program.rows, _block_behind(program.rows, program.n_rows, block, size)),
    )


def with_columns(
    program: Program,
    block: str | Block,
    cost: np.ndarray,
    lower: Any = 0.0,
    upper: Any = np.inf,
    entries: Any = None,
) -> Program:
    """Return a program without logarithms with columns behind its own.

    ``block`` is what they are called, or their block. Without entries they are in no row.
    """
    from scipy.sparse import csc_array, hstack

    size = len(cost)
    entries = csc_array((program.n_rows, size)) if entries is None else entries
    return program.replace(
        c=np.append(program.c, cost),
        A=csc_array(hstack([program.A, entries])),
        col_lower=np.append(program.col_lower, np.broadcast_to(lower, size)),
        col_upper=np.append(program.col_upper, np.broadcast_to(upper, size)),
        integrality=np.append(program.integrality, np.full(size, CONTINUOUS, dtype=np.uint8)),
        columns=(*program.columns, _block_behind(program.columns, program.n_columns, block, size)),
    )


def _block_behind(blocks: Sequence[Block], start: int, block: str | Block, size: int) -> Block:
    if isinstance(block, Block):
        return block
    name = free_name(block, {other.name for other in blocks})
    return Block(name, (("at", pd.RangeIndex(size)),), start, start + size)


def _block(blocks: Sequence[Block], name: str, noun: str) -> Block:
    for block in blocks:
        if block.name == name:
            return block
    raise UnknownNameError(
        f"no {noun} is called {name!r}; {nearest(name, [b.name for b in blocks])}"
    )


def with_data(A: Any, data: np.ndarray) -> Any:
    """Return a sparse array with other numbers in the places of another one, which it shares.

    The constructor of SciPy would look through the places again.
    """
    array = copy(A)
    array.data = data
    return array


def _entries_alone_in_their_rows(A: csc_array[Any]) -> np.ndarray:
    """Return the positions of the entries beside which their rows have none."""
    counts = np.bincount(A.indices, A.data != 0, A.shape[0])
    return np.flatnonzero((counts[A.indices] == 1) & (A.data != 0))


def _whole_ends(ends: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Return the ends of unit·(a whole number); one within ``WHOLE`` of a multiple as that.

    The end of a row is within ``WHOLE`` in its own numbers, too: 10⁷·x ≥ 5 asks for x ≥ 1.
    """
    with np.errstate(invalid="ignore"):  # infinite ends are no whole numbers
        multiples = np.round(ends / unit) * unit
        near = abs(ends - multiples) <= WHOLE * np.minimum(abs(unit), 1.0)
    return np.where(near, multiples, ends)


def finite_size(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the larger size of two bounds, of which one that is infinite has none."""
    sizes = [np.where(np.isfinite(bound), abs(bound), 0.0) for bound in (lower, upper)]
    return np.maximum(*sizes)
